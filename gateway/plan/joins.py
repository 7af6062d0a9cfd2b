"""Nodes that put two relations together: joins, marks (EXISTS and IN), UNION ALL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gateway.catalog.domains import Anything
from gateway.catalog.tables import ColumnRef
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import (
    BOOLEAN,
    Field,
    Label,
    Protected,
    Tie,
    column_id,
    common_type,
    join_label,
)
from gateway.plan.narrowed_domains import conjuncts, narrow_fields
from gateway.plan.node import (
    BrokenPlan,
    Node,
    OverTwo,
    SameRows,
    plan_size,
    require_boolean,
    require_columns,
    walk_nodes,
    with_own_ids,
)
from gateway.plan.relations import Filter, Project, Scan, Window, below_filters
from gateway.plan.scalars import Call, Ref, Scalar, scalar_origins


@dataclass(frozen=True)
class Join(OverTwo):
    """An inner join, or a left join that keeps the rows of `left`.

    `several`: a row of persons may meet several rows of a public table, so nothing bounds the rows of a unit.
    """

    left: Node
    right: Node
    condition: Scalar | None
    outer: bool = False
    several: bool = False
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        if self.condition is not None:
            require_boolean(self.condition)
            require_columns(self)
        ids = [one.id for one in (*self.left.fields, *self.right.fields)]
        if len(set(ids)) != len(ids):
            raise BrokenPlan("two columns of a join have one id")
        if self.outer and not isinstance(self.left.label, Protected):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "the outer join would keep public rows without a protected row",
                "put the protected table on the preserved side, or use an inner join",
            )
        on_unit = is_on_unit(self.condition, self.left, self.right)
        label = join_label(self.left.label, self.right.label, on_unit=on_unit)
        if isinstance(label, Protected):
            sides = [one.label for one in self.below if isinstance(one.label, Protected)]
            # a unit counts in as many groups as the side that spreads it most is declared to, and so do its values
            groups, values = (max(one.groups for one in sides), max(one.values for one in sides))
            rows = None if self.several else self._rows(lambda one: one.rows)
            expected = None if rows is not None else self._rows(lambda one: one.usual_rows)
            label = replace(label, rows=rows, groups=groups, values=values, expected=expected)
        if self.several and sum(isinstance(one.label, Protected) for one in self.below) != 1:
            raise BrokenPlan("several rows of what is no table beside rows of persons")
        far = (
            tuple(_far_side(one) for one in self.right.fields) if self.outer else self.right.fields
        )
        fields = (*self.left.fields, *far)
        if self.condition is not None and not self.outer:
            fields = narrow_fields(fields, self.condition)
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "label", label)

    def _rows(self, of: Callable[[Protected], int | None]) -> int | None:
        left, right = self.left.label, self.right.label
        if isinstance(left, Protected) and isinstance(right, Protected):
            return self._rows_of_unit(of(left), of(right))
        mine, other = (left, self.right) if isinstance(left, Protected) else (right, self.left)
        if not isinstance(mine, Protected):
            return None
        return of(mine) if self._matches_once(other) else None

    def _rows_of_unit(self, left: int | None, right: int | None) -> int | None:
        """How many pairs one person has: the rows of one side where each of them meets one row of the other."""
        pairs = list(column_equalities(self.condition, self.left, self.right))
        if any(other.id in single_columns(self.right) for _, other in pairs):
            return left
        if any(one.id in single_columns(self.left) for one, _ in pairs):
            return right
        return None if left is None or right is None else left * right

    def _matches_once(self, other: "Node") -> bool:
        """Whether a row of persons meets at most one row of `other`.

        A table is taken to be unique on what it is joined by: its keys stand in the source, not in
        the policy. `assumed_unique` lists what has to be proven before that is relied on. Of other relations
        their claims are taken, and enforced where the join runs: see `gateway.bounding.bound_joins`.
        """
        mine = self.right if other is self.left else self.left
        keys = frozenset(_equated(self.condition, other, mine))
        if isinstance(other, Scan | Filter) and isinstance(below_filters(other), Scan):
            return bool(keys)
        return any(claim <= keys for claim in other.claims)

    @property
    def assumed_unique(self) -> tuple[ColumnRef, ...]:
        """Columns of a public table on which it must be unique for the bound on rows to hold."""
        for other, mine in ((self.left, self.right), (self.right, self.left)):
            found = below_filters(other)
            if isinstance(found, Scan) and found.table.public:
                names = set(_equated(self.condition, other, mine))
                return tuple(
                    ColumnRef(found.table.name, column.name)
                    for column, one in zip(found.table.columns, found.fields, strict=True)
                    if one.id in names
                )
        return ()

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return () if self.condition is None else (self.condition,)


@dataclass(frozen=True)
class Mark(SameRows):
    """Every row of `child`, with a column that says whether a row of `inner` goes with it.

    This is EXISTS and IN: it never multiplies rows, and is never NULL.
    """

    child: Node
    inner: Node
    condition: Scalar | None
    id: str
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        if self.condition is not None:
            require_boolean(self.condition)
            require_columns(self)
        inner = self.inner.label
        on_unit = is_on_unit(self.condition, self.child, self.inner)
        mine = self.child.label
        if not isinstance(mine, Protected):
            raise BrokenPlan("a mark over rows without persons")
        if isinstance(inner, Protected) and (inner.unit != mine.unit or not on_unit):
            raise UnsupportedSql(
                Code.UNIT_EQUALITY,
                "EXISTS or IN reads protected rows without comparing unit keys",
                "add an equality of both unit keys, or of the keys of a unit path, to its WHERE clause",
            )
        tells = relation_origins(self.inner)
        tells |= scalar_origins(*conditions_beyond_unit(self.condition, self.child, self.inner))
        marked = Field(self.id, BOOLEAN, nullable=False, origins=tells)
        object.__setattr__(self, "fields", (*self.child.fields, marked))

    @property
    def below(self) -> tuple[Node, ...]:
        return (self.child, self.inner)

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return () if self.condition is None else (self.condition,)


@dataclass(frozen=True)
class UnionAll(OverTwo):
    """The rows of two protected relations of one unit, one after the other."""

    left: Node
    right: Node
    alias: str
    names: tuple[str, ...]
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        left, right = self.left.label, self.right.label
        if not isinstance(left, Protected) or not isinstance(right, Protected):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "UNION ALL cannot combine protected rows with other rows",
                "aggregate the protected rows first",
            )
        if left.unit != right.unit:
            raise BrokenPlan("two units in one dataset")
        rows = _sum(left.rows, right.rows)
        expected = None if rows is not None else _sum(left.usual_rows, right.usual_rows)
        if len(self.left.fields) != len(self.right.fields):
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, "each side of UNION must have the same number of columns"
            )
        fields = tuple(
            self._merged(name, one, other)
            for name, one, other in zip(
                self.names, self.left.fields, self.right.fields, strict=True
            )
        )
        object.__setattr__(self, "fields", with_own_ids(fields))
        groups, values = left.groups + right.groups, left.values + right.values
        object.__setattr__(self, "label", Protected(left.unit, rows, groups, values, expected))

    def _merged(self, name: str, one: Field, other: Field) -> Field:
        kind = common_type(one.type, other.type)
        if kind is None:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"UNION types {one.type} and {other.type} cannot be matched"
            )
        ties = {one.tie, other.tie}
        weakest = Tie.NONE if Tie.NONE in ties else Tie.SOMETIMES
        return Field(
            column_id(self.alias, name),
            kind,
            one.domain if one.domain == other.domain else Anything(),
            one.nullable or other.nullable,
            one.origins | other.origins,
            Tie.ALWAYS if ties == {Tie.ALWAYS} else weakest,
            # a value of another type would be no key as it is stored
            keys=one.keys & other.keys if one.type == other.type else frozenset(),
        )


def relation_origins(plan: Node) -> frozenset[ColumnRef]:
    """The source columns that decide which rows a relation has."""
    tells: frozenset[ColumnRef] = frozenset()
    for node in walk_nodes(plan):
        if isinstance(node, Filter):
            tells |= scalar_origins(node.condition)
        elif isinstance(node, Join | Mark):
            left, right = node.below
            tells |= scalar_origins(*conditions_beyond_unit(node.condition, left, right))
    return tells


def conditions_beyond_unit(condition: Scalar | None, left: Node, right: Node) -> Iterator[Scalar]:
    """The parts of a condition that say more than that the person is the same."""
    if condition is None:
        return
    equal = (
        *unit_equalities(condition, left, right),
        *path_equalities(condition, left, right),
    )
    same = {frozenset({one.id, other.id}) for one, other in equal}
    both = isinstance(left.label, Protected) and isinstance(right.label, Protected)
    for part in conjuncts(condition):
        ids = frozenset(one.field.id for one in part.parts if isinstance(one, Ref))
        equality = isinstance(part, Call) and part.function == "=" and ids in same
        if not (both and equality):
            yield part


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _far_side(one: Field) -> Field:
    tie = Tie.NONE if one.tie is Tie.NONE else Tie.SOMETIMES
    return replace(one, nullable=True, tie=tie, hides_nulls=False)


def column_equalities(
    condition: Scalar | None, left: Node, right: Node
) -> Iterator[tuple[Field, Field]]:
    """Pairs of columns, one of each side, that the condition makes equal."""
    if condition is None:
        return
    mine = {one.id for one in left.fields}
    theirs = {one.id for one in right.fields}
    for part in conjuncts(condition):
        if not isinstance(part, Call) or part.function != "=":
            continue
        one, other = part.parts
        if not isinstance(one, Ref) or not isinstance(other, Ref):
            continue
        if one.field.id in mine and other.field.id in theirs:
            yield one.field, other.field
        elif one.field.id in theirs and other.field.id in mine:
            yield other.field, one.field


def unit_equalities(condition: Scalar | None, left: Node, right: Node) -> list[tuple[Field, Field]]:
    # `=` is true for values alone, so a column that is the unit or NULL is the unit here
    return [
        pair
        for pair in column_equalities(condition, left, right)
        if pair[0].tie is not Tie.NONE and pair[1].tie is not Tie.NONE
    ]


def path_equalities(condition: Scalar | None, left: Node, right: Node) -> list[tuple[Field, Field]]:
    """Equalities of two columns that hold one key of unit paths: of a child and its parent, or of two children.

    The rows that meet have paths through the same row of the parent, so their unit is the same. Two columns that both are
    the parent's own say nothing here: no scan below holds the licence that the parent is unique.
    """
    return [
        pair
        for pair in column_equalities(condition, left, right)
        if any(
            one.target == other.target and not (one.own and other.own)
            for one in pair[0].keys
            for other in pair[1].keys
        )
    ]


def meets_parent(condition: Scalar | None, child: Node, other: Node) -> bool:
    """Whether the rows of `child`, a table or some rows of one, meet rows of `other` by the first key of their unit path alone.

    INVARIANT: then each pair has the unit of the other row: that row's unit is the one of the parent's row with this key,
    and so is the one of the child's row. A pair is there only where the path is, so following it again changes nothing.
    """
    if not isinstance(below_filters(child), Scan):
        return False
    return any(
        key.target == each.target and not key.own and each.own
        for one, there in column_equalities(condition, child, other)
        for key in one.keys
        for each in there.keys
    )


def is_on_unit(condition: Scalar | None, left: Node, right: Node) -> bool:
    """Whether rows of persons that meet by this condition are rows of one person."""
    return bool(unit_equalities(condition, left, right) or path_equalities(condition, left, right))


def is_cut(node: Join | Mark) -> bool:
    """Whether some rows of a person may be left out, as declared: both sides may have several that meet several."""
    if any(not isinstance(one.label, Protected) or one.label.rows == 1 for one in node.below):
        return False
    left, right = node.below
    pairs = list(column_equalities(node.condition, left, right))
    single = single_columns(left) | single_columns(right)
    return not any(one.id in single or other.id in single for one, other in pairs)


def single_columns(node: Node) -> frozenset[str]:
    """Columns of rows of persons in which, as declared, no two rows have one value.

    It says how many rows a person is taken to have, and proves nothing: bounding cuts a person to that many.
    """
    match node:
        case Scan() if isinstance(node.label, Protected):
            tied = Tie.ALWAYS if node.table.has_one_row else None
            return frozenset(
                one.id for one in node.fields if one.tie is tied or any(key.own for key in one.keys)
            )
        case Filter() | Window() | Mark():
            return single_columns(node.child)
        case Project():
            below = single_columns(node.child)
            return frozenset(
                made.id
                for made, (_, one) in zip(node.fields, node.items, strict=True)
                if isinstance(one, Ref) and one.field.id in below
            )
        case Join():
            return _single_of_join(node)
        case _:
            return frozenset()


def _single_of_join(node: Join) -> frozenset[str]:
    left, right = single_columns(node.left), single_columns(node.right)
    pairs = list(column_equalities(node.condition, node.left, node.right))
    kept = left if any(other.id in right for _, other in pairs) else frozenset[str]()
    return kept | (right if any(one.id in left for one, _ in pairs) else frozenset())


def _equated(condition: Scalar | None, side: Node, other: Node) -> list[str]:
    return [mine.id for mine, _ in column_equalities(condition, side, other)]
