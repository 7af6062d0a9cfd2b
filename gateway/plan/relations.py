"""Relations of a plan: scans, filters, projections, windows, and constants with their staged rows.

These nodes read one relation or none. Staged rows are public or released before a plan runs; constants read them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gateway.catalog.tables import LONGEST_TEXT, Column, ColumnRef, Table
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import (
    Field,
    Label,
    PathKey,
    Protected,
    Public,
    ReleasedLabel,
    Tie,
    column_id,
)
from gateway.plan.narrowed_domains import conjuncts, narrow_fields
from gateway.plan.node import (
    NO_CLAIMS,
    BrokenPlan,
    Claims,
    Node,
    SameRows,
    is_unit,
    make_field,
    plan_size,
    require_boolean,
    require_columns,
    walk_nodes,
    with_own_ids,
)
from gateway.plan.scalars import Call, Literal, Ref, Scalar


@dataclass(frozen=True)
class Scan:
    """A table of the source; its domains are enforced here, rows without a unit are dropped here.

    A row of a table with a unit path has the unit at its end. Rows are dropped whose path leads to no row, or to no unit.
    """

    table: Table
    alias: str
    unit: str
    below: ClassVar[tuple[Node, ...]] = ()
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    claims: ClassVar[Claims] = NO_CLAIMS
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        protection = self.table.protection
        label: Label = Public()
        if protection is not None:
            label = Protected(
                self.unit,
                protection.rows_per_unit,
                protection.groups_per_unit,
                protection.values_per_unit,
            )
        object.__setattr__(self, "fields", tuple(map(self._field, self.table.columns)))
        object.__setattr__(self, "label", label)

    def _field(self, column: Column) -> Field:
        protected = not self.table.public
        ties = column is self.table.unit_column
        keys = frozenset(self._keys(column))
        is_edge = any(not one.own for one in keys)
        # enforcing turns NaN into NULL; and values outside of a set, but where the source has no NULL,
        # these have no group to be in
        blanks = protected and column.type.family is Family.FLOAT
        return Field(
            column_id(self.alias, column.name),
            column.type,
            column.domain,
            nullable=not ties and not is_edge and (column.nullable or blanks),
            origins=frozenset({ColumnRef(self.table.name, column.name)})
            if protected
            else frozenset(),
            tie=Tie.ALWAYS if ties else Tie.NONE,
            keys=keys,
            hides_nulls=column.hides_nulls,
        )

    def _keys(self, column: Column) -> Iterator[PathKey]:
        path = self.table.path
        if path is not None and path.edge.column.name == column.name:
            yield PathKey(path.edge.target, own=False)
        if column.is_path_key and not self.table.public:
            yield PathKey(ColumnRef(self.table.name, column.name), own=True)


@dataclass(frozen=True)
class Constant:
    """A relation whose rows are public or released before the plan runs.

    With `one_for` an engine keeps one row for each combination of values of these columns, as it compares them itself,
    and one row in all where there are none; None: it keeps all rows.
    """

    name: str
    fields: tuple[Field, ...]
    label: Public | ReleasedLabel
    claims: Claims = NO_CLAIMS
    one_for: tuple[str, ...] | None = None
    below: ClassVar[tuple[Node, ...]] = ()
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        if any(one.tie is not Tie.NONE or one.origins for one in self.fields):
            raise BrokenPlan("a constant relation tells of persons")
        if self.one_for is not None and not {one.id for one in self.fields} >= set(self.one_for):
            raise BrokenPlan("a constant relation without a column that its rows differ in")


@dataclass(frozen=True)
class Filter(SameRows):
    """The rows for which the condition is true."""

    child: Node
    condition: Scalar
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_boolean(self.condition)
        require_columns(self)
        object.__setattr__(self, "fields", narrow_fields(self.child.fields, self.condition))

    @property
    def label(self) -> Label:
        label = self.child.label
        one = isinstance(label, Protected) and self.keeps_first_rows
        return (
            replace(label, rows=1, groups=1, values=1, expected=None)
            if one and isinstance(label, Protected)
            else label
        )

    @property
    def keeps_first_rows(self) -> bool:
        """Whether it keeps one row of each unit at most: that with the number 1 among the rows of the unit.

        INVARIANT: this is a matter of the statement that runs, whatever the tables hold. The rows are numbered by the
        unit alone, and between the numbers and the filter no node adds rows. Numbers are cut to the declared rows of a
        unit: where that is 1, all rows may have the number 1, so this says nothing.
        """
        return any(
            _is_first(one) and _numbers_units(one, self.child) for one in conjuncts(self.condition)
        )

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Project(SameRows):
    """New columns from old ones. A bare reference hands on its tie; an expression never makes one."""

    child: Node
    alias: str
    items: tuple[tuple[str, Scalar], ...]
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        named = tuple(
            make_field(column_id(self.alias, name), scalar) for name, scalar in self.items
        )
        object.__setattr__(self, "fields", with_own_ids(named))

    @property
    def claims(self) -> Claims:
        back = {
            scalar.field.id: one.id
            for (_, scalar), one in zip(self.items, self.fields, strict=True)
            if isinstance(scalar, Ref)
        }
        return frozenset(
            frozenset(back[each] for each in key) for key in self.child.claims if key <= back.keys()
        )

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, scalar in self.items)


@dataclass(frozen=True)
class Window(SameRows):
    """Every row of `child` with window functions over the rows of the same person."""

    child: Node
    items: tuple[tuple[str, WindowCall], ...]
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        added = []
        for name, call in self.items:
            # a sample is of rows of each person, whatever columns are there: it is the gateway's own
            is_own = call.function == "sample_number"
            if not is_own and not any(is_unit(key) for key in call.partition):
                raise UnsupportedSql(
                    Code.ORDER_OF_PERSONS,
                    f"the window of `{call.function}` contains rows of different persons",
                    "add the unit key to PARTITION BY, or aggregate first",
                )
            added.append(Field(name, call.type, origins=call.origins))
        object.__setattr__(self, "fields", (*self.child.fields, *added))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, call in self.items for scalar in call.scalars)


def stored_tables(plan: Node) -> frozenset[str]:
    """The tables of the source that the plan reads, those on unit paths too."""
    scans = (one for one in walk_nodes(plan) if isinstance(one, Scan))
    return frozenset(name for one in scans for name in one.table.stored_tables)


def _is_first(condition: Scalar) -> bool:
    """Whether it says that a column is 1."""
    if not isinstance(condition, Call) or condition.function != "=":
        return False
    one, other = condition.parts
    return (
        isinstance(one, Ref)
        and isinstance(other, Literal)
        and other.value == 1
        and type(other.value) is int
    )


def _numbers_units(condition: Scalar, below: Node) -> bool:
    """Whether the column numbers the rows of each unit."""
    column, node = condition.parts[0], below
    while isinstance(column, Ref):
        if isinstance(node, Window):
            for name, call in node.items:
                if name == column.field.id:
                    by_unit = bool(call.partition) and all(map(is_unit, call.partition))
                    return call.function == "row_number" and by_unit and _counts_rows(node.child)
        elif isinstance(node, Project):
            made = {
                field.id: scalar for field, (_, scalar) in zip(node.fields, node.items, strict=True)
            }
            column = made[column.field.id]
        elif not isinstance(node, Filter):
            return False
        node = node.child
    return False


def _counts_rows(numbered: Node) -> bool:
    """Whether a number above 1 stays above 1 when it is cut to the declared rows of a unit."""
    label = numbered.label
    return isinstance(label, Protected) and label.rows != 1


def below_filters(node: Node) -> Node:
    """What is below the filters."""
    return below_filters(node.child) if isinstance(node, Filter) else node


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows with one value for each of `columns`, in their order; None is NULL."""

    columns: tuple[tuple[str, ColumnType], ...]
    rows: tuple[tuple[Value | None, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a staged row is shorter or longer than its columns")


def null_if_too_long(value: Value | None) -> Value | None:
    """The value as expressions over rows read it: NULL where it is a text longer than any that is read.

    Not a part of it: keys are never changed, and a licence may rest on these values.
    """
    return None if isinstance(value, str) and len(value) > LONGEST_TEXT else value
