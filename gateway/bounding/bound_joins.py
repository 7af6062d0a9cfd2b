"""A join that would square the rows of one person is bounded before it runs, or refused.

Two sides with rows of persons meet on the person. Where both may have many rows of one, the side that is
declared to have fewer is cut to that many, and the other so that one person has at most `MOST_PAIRS` pairs. EXISTS
and IN are joins in this sense where their condition has to be tried pair by pair. Rows are chosen by a hash of the
row: the same ones however they are stored. A row of persons that could meet several public rows is refused; the
source's constraints have to prove that it cannot.

INVARIANT: what one person costs a join grows with the number of that person's rows, never with its square.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gateway.bounding.proving import Proofs
from gateway.errors import Code, Unbounded
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.labels import Protected
from gateway.plan.narrowing import conjuncts
from gateway.plan.node import Node
from gateway.plan.rebuilding import rebuilt
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar, walk
from gateway.plan.types import BIGINT, BOOLEAN

MOST_MET: Final = 256
"""How many rows of a person one row of that person meets."""
MOST_PAIRS: Final = 65_536
"""How many pairs of rows one person has."""


def bound_joins(plan: Node, proofs: Proofs) -> Node:
    """The plan with every join bounded."""
    return _bounded(plan, proofs, (f"kept_{place}" for place in range(4 * plan.size)))


def _bounded(node: Node, proofs: Proofs, names: Iterator[str]) -> Node:
    below = tuple(_bounded(one, proofs, names) for one in node.below)
    if isinstance(node, UnionAll):
        # its columns go by place, and a side that was cut has one more
        below = tuple(
            _same_columns(one, before.fields, names)
            for one, before in zip(below, node.below, strict=True)
        )
    made = node if below == node.below else rebuilt(node, below)
    if isinstance(made, Mark):
        return _marked(made, proofs, names)
    if not isinstance(made, Join):
        return made
    protected = [isinstance(one.label, Protected) for one in made.below]
    if all(protected):
        return _cut(made, proofs, names)
    if any(protected) and not proofs.meets_one(made):
        raise Unbounded(
            Code.FAN_OUT,
            "a row of a person could meet several other rows",
            "join on a column that a constraint of the source keeps unique",
        )
    return made


def _cut(node: Join, proofs: Proofs, names: Iterator[str]) -> Join:
    if any(proofs.unit_has_one_row(one) for one in node.below):
        return node
    left, right = _both_cut(node.left, node.right, names)
    return replace(node, left=left, right=right)


def _marked(node: Mark, proofs: Proofs, names: Iterator[str]) -> Mark:
    """Equalities of the two sides are looked up; anything else about both is tried for every pair."""
    parts = () if node.condition is None else conjuncts(node.condition)
    if all(_is_looked_up(one, node) for one in parts):
        return node
    if not isinstance(node.inner.label, Protected):
        if not proofs.meets_one(Join(node.child, node.inner, node.condition)):
            raise Unbounded(
                Code.FAN_OUT,
                "every row of a person would be compared with every row of another table",
                "compare the two tables in EXISTS by `=` alone, or on a column that is unique there",
            )
        return node
    if any(proofs.unit_has_one_row(one) for one in node.below):
        return node
    child, inner = _both_cut(node.child, node.inner, names)
    return replace(node, child=child, inner=inner)


def _is_looked_up(part: Scalar, node: Mark) -> bool:
    """Whether it is about one side alone, or an equality of a value of one side with one of the other."""
    sides = [{one.id for one in side.fields} for side in node.below]

    def is_of_one(scalar: Scalar) -> bool:
        ids = {one.field.id for one in walk(scalar) if isinstance(one, Ref)}
        return any(ids <= side for side in sides)

    equal = isinstance(part, Call) and part.function == "="
    return is_of_one(part) or (equal and all(is_of_one(one) for one in part.parts))


def _both_cut(left: Node, right: Node, names: Iterator[str]) -> tuple[Node, Node]:
    """Both sides with so few rows of each person that few of them can meet."""
    declared = [one for one in map(_declared, (left, right)) if one is not None]
    if not declared:
        raise _unbounded()
    most = min(*declared, MOST_MET)
    first, second = _declared(left), _declared(right)
    is_left = first is not None and (second is None or first < second)
    fewer = _few(left if is_left else right, most, next(names))
    other = right if is_left else left
    if most > 1:
        other = _few(other, MOST_PAIRS // most, next(names))
    return (fewer, other) if is_left else (other, fewer)


def _few(side: Node, most: int, name: str) -> Node:
    """At most so many rows of each person."""
    units = [one for one in side.fields if one.tie is Tie.ALWAYS]
    if not units:
        raise _unbounded()
    # `order` is completed later, as of every window
    call = WindowCall("sample_number", (), (Ref(units[0]),), (), None, BIGINT)
    numbered = Window(side, ((name, call),))
    few = Call("<=", (Ref(numbered.fields[-1]), Literal(most, BIGINT)), BOOLEAN)
    return Filter(numbered, few)


def _unbounded() -> Unbounded:
    return Unbounded(
        Code.FAN_OUT,
        "many rows of a person could meet many other rows of that person",
        "aggregate one side for each person first",
    )


def _declared(node: Node) -> int | None:
    return node.label.rows if isinstance(node.label, Protected) else None


def _same_columns(node: Node, columns: tuple[Field, ...], names: Iterator[str]) -> Node:
    there = {one.id: one for one in node.fields}
    if tuple(there) == tuple(one.id for one in columns):
        return node
    items = tuple((f"c{place}", Ref(there[one.id])) for place, one in enumerate(columns))
    return Project(node, next(names), items)
