"""A join that would square the rows of one person is bounded before it runs, or refused.

Two sides with rows of persons meet on the person. Where both may have many rows of one, the side that is
declared to have fewer is cut to that many, chosen by a hash of the row: the same ones however they are stored.
A row of persons that could meet several rows of a public table is refused; the source's constraints have to prove
that it cannot. A relation that was written or released keeps one row for each value that is joined by: the engine
that joins the rows finds which values are one, by the comparison that it joins with.

INVARIANT: what is known of a relation from the statement alone only refuses a join; it leaves out no bound. Whatever
such a relation holds, a row of persons meets at most one row of it.
"""

from collections.abc import Iterator
from dataclasses import replace

from gateway.bounding.licences import Licences, equal_columns, lowest
from gateway.errors import Code, Unbounded
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, UnionAll, unit_equalities
from gateway.plan.labels import Protected
from gateway.plan.node import Node
from gateway.plan.rebuilding import rebuilt
from gateway.plan.relations import Constant, Filter, Project, Window
from gateway.plan.scalars import Call, Literal, Ref
from gateway.plan.types import BIGINT, BOOLEAN


def bound_joins(plan: Node, licences: Licences) -> Node:
    """The plan with every join bounded."""
    return _bounded(plan, licences, (f"kept_{place}" for place in range(2 * plan.size)))


def _bounded(node: Node, licences: Licences, names: Iterator[str]) -> Node:
    below = tuple(_bounded(one, licences, names) for one in node.below)
    if isinstance(node, UnionAll):
        # its columns go by place, and a side that was cut has one more
        below = tuple(
            _same_columns(one, before.fields, names)
            for one, before in zip(below, node.below, strict=True)
        )
    made = node if below == node.below else rebuilt(node, below)
    if not isinstance(made, Join):
        return made
    protected = [isinstance(one.label, Protected) for one in made.below]
    if all(protected):
        return _cut(made, licences, next(names))
    if any(protected) and not licences.meets_one(made):
        return _with_one_for_each(made)
    return made


def _with_one_for_each(node: Join) -> Join:
    """The join with at most one row of the constant side for each value that the columns are equal to."""
    left_is_other = isinstance(node.right.label, Protected)
    other, mine = (node.left, node.right) if left_is_other else (node.right, node.left)
    equal = equal_columns(node.condition, other, mine)
    if not isinstance(lowest(other), Constant) or not any(one <= equal for one in other.claims):
        raise Unbounded(
            Code.FAN_OUT,
            "a row of a person could meet several other rows",
            "join on a column that a constraint of the source keeps unique",
        )
    few = _one_for(other, tuple(sorted(equal)))
    return replace(node, left=few) if left_is_other else replace(node, right=few)


def _one_for(side: Node, columns: tuple[str, ...]) -> Node:
    if isinstance(side, Constant):
        return replace(side, one_for=columns)
    return rebuilt(side, tuple(_one_for(one, columns) for one in side.below))


def _cut(node: Join, licences: Licences, name: str) -> Join:
    if any(licences.unit_has_one_row(one) for one in node.below):
        return node
    left, right = _declared(node.left), _declared(node.right)
    cut_left = left is not None and (right is None or left < right)
    most = left if cut_left else right
    pairs = unit_equalities(node.condition, node.left, node.right)
    units = [mine if cut_left else other for mine, other in pairs]
    always = [one for one in units if one.tie is Tie.ALWAYS]
    if most is None or not always:
        raise Unbounded(
            Code.FAN_OUT,
            "many rows of a person could meet many other rows of that person",
            "aggregate one side for each person first",
        )
    side = node.left if cut_left else node.right
    # `order` is completed later, as of every window
    call = WindowCall("sample_number", (), (Ref(always[0]),), (), None, BIGINT)
    numbered = Window(side, ((name, call),))
    few = Call("<=", (Ref(numbered.fields[-1]), Literal(most, BIGINT)), BOOLEAN)
    kept = Filter(numbered, few)
    return replace(node, left=kept) if cut_left else replace(node, right=kept)


def _declared(node: Node) -> int | None:
    return node.label.rows if isinstance(node.label, Protected) else None


def _same_columns(node: Node, columns: tuple[Field, ...], names: Iterator[str]) -> Node:
    there = {one.id: one for one in node.fields}
    if tuple(there) == tuple(one.id for one in columns):
        return node
    items = tuple((f"c{place}", Ref(there[one.id])) for place, one in enumerate(columns))
    return Project(node, next(names), items)
