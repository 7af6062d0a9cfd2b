"""A join that would square the rows of one person is bounded before it runs, or refused.

Two sides with rows of persons meet on the person. Where both may have many rows of one, the side that is
declared to have fewer is cut to that many, chosen by a hash of the row: the same ones however they are stored.
A row of persons that could meet several public rows is refused; the source's constraints have to prove that
it cannot.
"""

from collections.abc import Iterator
from dataclasses import replace

from gateway.bounding.proving import Proofs
from gateway.errors import Code, Unbounded
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, UnionAll, unit_equalities
from gateway.plan.labels import Protected
from gateway.plan.node import Node
from gateway.plan.rebuilding import rebuilt
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Call, Literal, Ref
from gateway.plan.types import BIGINT, BOOLEAN


def bound_joins(plan: Node, proofs: Proofs) -> Node:
    """The plan with every join bounded."""
    return _bounded(plan, proofs, (f"kept_{place}" for place in range(2 * plan.size)))


def _bounded(node: Node, proofs: Proofs, names: Iterator[str]) -> Node:
    below = tuple(_bounded(one, proofs, names) for one in node.below)
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
        return _cut(made, proofs, next(names))
    if any(protected) and not proofs.meets_one(made):
        raise Unbounded(
            Code.FAN_OUT,
            "a row of a person could meet several other rows",
            "join on a column that a constraint of the source keeps unique",
        )
    return made


def _cut(node: Join, proofs: Proofs, name: str) -> Join:
    if any(proofs.unit_has_one_row(one) for one in node.below):
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
