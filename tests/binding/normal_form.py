"""The normal form of a plan: what is left when names and projections are taken away.

Two plans are equivalent when their normal forms are equal as values: nodes, labels, and of every column
its type, domain, nullability, origins and tie. The rules are these, and no others:

- a relation is called by its place: `s1`, `s2`, … for scans and constants, `g1`, … for groupings,
  `mark1`, `window1`, `u1`, …; keys are `k1`, `k2`, …, measures `m1`, `m2`, …;
- a projection is put into what reads it, except where that would not mean the same: below the far side
  of an outer join an expression is computed before NULLs are filled in, and the sides of UNION ALL meet
  by place, so there one projection stays;
- a key of a grouping by person that is there twice is there once.

Nothing is reordered, merged, folded or dropped: filters, joins, marks, windows and groupings stay one for
one, with their conditions as they were written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from binding.replaced_columns import Change, measure_with, scalar_with, window_with

from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Field, column_id
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Ref, Scalar, StagedMember, StagedValue

Columns = dict[str, Scalar]
"""What stands for each column of the plan over the columns of its normal form."""


def normal(plan: Aggregate, constants: Mapping[str, str] | None = None) -> Aggregate:
    """The normal form; `constants` says which constant of another statement each one stands for."""
    return _Normal(constants or {}).aggregate(plan)


@dataclass
class _Normal:
    constants: Mapping[str, str]
    counts: dict[str, int] = field(default_factory=dict)

    def aggregate(self, plan: Aggregate) -> Aggregate:
        child, columns = self._node(plan.child)
        change = self._reading(child, columns)
        keys = tuple((name, scalar_with(key, change)) for name, key in plan.keys)
        measures = tuple((name, measure_with(one, change)) for name, one in plan.measures)
        return Aggregate(child, keys, measures, plan.sets)

    def _node(self, node: Node) -> tuple[Node, Columns]:  # noqa: PLR0911 - one for each kind
        match node:
            case Scan():
                return _same(node, replace(node, alias=self._name("s")))
            case Constant():
                return self._constant(node)
            case Filter(child, condition):
                below, columns = self._node(child)
                kept = scalar_with(condition, self._reading(below, columns))
                return Filter(below, kept), columns
            case Project(child, _, items):
                below, columns = self._node(child)
                change = self._reading(below, columns)
                return below, {
                    one.id: scalar_with(scalar, change)
                    for one, (_, scalar) in zip(node.fields, items, strict=True)
                }
            case Join():
                return self._join(node)
            case Mark():
                return self._mark(node)
            case PerUnit():
                return self._per_unit(node)
            case Window(child, items):
                below, columns = self._node(child)
                change = self._reading(below, columns)
                calls = tuple(
                    (self._name("window"), window_with(call, change)) for _, call in items
                )
                made = Window(below, calls)
                added = zip(node.fields[-len(items) :], made.fields[-len(items) :], strict=True)
                return made, columns | {old.id: Ref(new) for old, new in added}
            case UnionAll():
                return self._union(node)
            case _:
                raise BrokenPlan("a node without a normal form")

    def _constant(self, node: Constant) -> tuple[Node, Columns]:
        alias = self._name("s")
        ids = {one.id: column_id(alias, f"c{place + 1}") for place, one in enumerate(node.fields)}
        fields = tuple(replace(one, id=ids[one.id]) for one in node.fields)
        claims = frozenset(frozenset(ids[each] for each in one) for one in node.claims)
        name = self.constants.get(node.name, node.name)
        return _same(node, Constant(name, fields, node.label, claims))

    def _join(self, node: Join) -> tuple[Node, Columns]:
        left, mine = self._node(node.left)
        right, theirs = self._node(node.right)
        if node.outer and not all(isinstance(one, Ref) for one in theirs.values()):
            right, theirs = self._projected(node.right, right, theirs)
        columns = mine | theirs
        change = self._reading_both(left, right, columns)
        condition = None if node.condition is None else scalar_with(node.condition, change)
        return Join(left, right, condition, node.outer), columns

    def _mark(self, node: Mark) -> tuple[Node, Columns]:
        child, columns = self._node(node.child)
        inner, theirs = self._node(node.inner)
        change = self._reading_both(child, inner, theirs | columns)
        condition = None if node.condition is None else scalar_with(node.condition, change)
        made = Mark(child, inner, condition, self._name("mark"))
        return made, columns | {node.id: Ref(made.fields[-1])}

    def _per_unit(self, node: PerUnit) -> tuple[Node, Columns]:
        child, columns = self._node(node.child)
        change = self._reading(child, columns)
        keys = [scalar_with(key, change) for _, key in node.keys]
        once = list(dict.fromkeys(keys))
        measures = [measure_with(one, change) for _, one in node.measures]
        made = PerUnit(
            child,
            self._name("g"),
            tuple((f"k{place + 1}", key) for place, key in enumerate(once)),
            tuple((f"m{place + 1}", one) for place, one in enumerate(measures)),
        )
        new = [Ref(made.fields[once.index(key)]) for key in keys]
        new += [Ref(one) for one in made.fields[len(once) :]]
        return made, {old.id: one for old, one in zip(node.fields, new, strict=True)}

    def _union(self, node: UnionAll) -> tuple[Node, Columns]:
        left, _ = self._projected(node.left, *self._node(node.left))
        right, _ = self._projected(node.right, *self._node(node.right))
        names = tuple(f"c{place + 1}" for place in range(len(node.names)))
        return _same(node, UnionAll(left, right, self._name("u"), names))

    def _projected(self, node: Node, below: Node, columns: Columns) -> tuple[Node, Columns]:
        """All columns of the node, by place."""
        change = self._reading(below, columns)
        items = tuple(
            (f"c{place + 1}", scalar_with(Ref(one), change))
            for place, one in enumerate(node.fields)
        )
        return _same(node, Project(below, self._name("p"), items))

    def _reading(self, below: Node, columns: Columns) -> Change:
        return self._change({one.id: one for one in below.fields}, columns)

    def _reading_both(self, left: Node, right: Node, columns: Columns) -> Change:
        return self._change({one.id: one for one in (*left.fields, *right.fields)}, columns)

    def _change(self, there: Mapping[str, Field], columns: Columns) -> Change:
        """Puts expressions in the place of columns, with what the relation below knows of each."""

        def known(scalar: Scalar) -> Scalar | None:
            return Ref(there[scalar.field.id]) if isinstance(scalar, Ref) else None

        def change(scalar: Scalar) -> Scalar | None:
            match scalar:
                case Ref(one):
                    return scalar_with(columns[one.id], known)
                case StagedValue(constant):
                    return replace(scalar, constant=self.constants.get(constant, constant))
                case StagedMember(what, constant):
                    among = self.constants.get(constant, constant)
                    return StagedMember(scalar_with(what, change), among)
                case _:
                    return None

        return change

    def _name(self, letter: str) -> str:
        self.counts[letter] = self.counts.get(letter, 0) + 1
        return f"{letter}{self.counts[letter]}"


def _same(old: Node, new: Node) -> tuple[Node, Columns]:
    """A node whose columns stand for those of another, one by one."""
    return new, {one.id: Ref(each) for one, each in zip(old.fields, new.fields, strict=True)}
