"""A join that would square the rows of one person is bounded before it runs, or refused.

Two sides with rows of persons meet on the person. Where both may have many rows of one, both are cut to `MOST_MET`, so
that one person has at most `MOST_PAIRS` pairs; a side that is declared to have one row is cut to that alone. EXISTS
and IN are joins in this sense where their condition has to be tried pair by pair. Rows are chosen by a hash of the
row: the same ones however they are stored. A relation that was written or released keeps one row for each
value that is joined by: the engine that joins the rows finds which values are one, by the comparison that it joins
with.

A row of persons meets one row of a public table where the source's constraints prove it. In a join that is marked
(`fan_out.py`) it may meet several: the table keeps `MOST_MATCHES` rows for each value that is joined by. Where such rows are
pairs already, or are sampled above, a person keeps so few rows before the join that `MOST_PAIRS` pairs are the most.

INVARIANT: what one person costs a join grows with the number of that person's rows, never with its square. A row
meets as many rows of its person as are kept of these, or `MOST_MATCHES` public ones, and of pairs a person has
`MOST_PAIRS` at most.
INVARIANT: what is known of a relation from the statement alone only refuses a join; it leaves out no bound. Whatever
such a relation holds, a row of persons meets at most one row of it.
INVARIANT: which rows of a public table are kept depends on the table and on the statement alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gateway.bounding.fan_out import gather_conditions, may_be_pairs
from gateway.bounding.licences import Licences, equal_columns
from gateway.bounding.row_samples import (
    MOST_MATCHES,
    MOST_MET,
    MOST_PAIRS,
    few_of_person,
    sample_rows,
)
from gateway.errors import Code, Unbounded
from gateway.plan.fields import Field, Protected
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import Node
from gateway.plan.relations import Constant, Filter, Project, below_filters
from gateway.plan.rewrite import rebuild_node, replace_columns
from gateway.plan.scalars import Call, Ref, Scalar, column_ids

_BESIDE_PAIRS: Final = 64
"""How many rows of a person meet pairs of that person."""


def bound_joins(plan: Node, licences: Licences) -> Node:
    """The plan with every join bounded."""
    names = (f"kept_{place}" for place in range(4 * plan.size))
    return _bounded(gather_conditions(plan), licences, names, few=False)


def _bounded(node: Node, licences: Licences, names: Iterator[str], *, few: bool) -> Node:
    """`few`: the rows of each person are sorted above, so they are no more than `MOST_PAIRS`."""
    is_one = isinstance(node.label, Protected) and node.label.rows == 1
    sorted_ = (few and not is_one) or _sorts(node, licences)
    below = tuple(_bounded(one, licences, names, few=sorted_) for one in node.below)
    if isinstance(node, UnionAll):
        # its columns go by place, and a side that was cut has one more
        below = tuple(
            _same_columns(one, before.fields, names)
            for one, before in zip(below, node.below, strict=True)
        )
    made = node if below == node.below else rebuild_node(node, below)
    if isinstance(made, Mark):
        return _marked(made, licences, names)
    if not isinstance(made, Join):
        return made
    protected = [isinstance(one.label, Protected) for one in made.below]
    if all(protected):
        return _cut(made, licences, names)
    if any(protected) and not licences.meets_one(made):
        return (
            _with_some_for_each(made, names, few=few) if made.several else _with_one_for_each(made)
        )
    return made


def _sorts(node: Node, licences: Licences) -> bool:
    """Whether the rows of each person may be sampled for it."""
    match node:
        case Join() if node.several:
            return not licences.meets_one(node)
        case Join() | Mark() if all(isinstance(one.label, Protected) for one in node.below):
            looked_up = isinstance(node, Mark) and _is_looked_up(node)
            return not (looked_up or _has_few_pairs(node, licences))
        case _:
            return False


def _has_few_pairs(node: Join | Mark, licences: Licences) -> bool:
    """Whether a person has no more pairs than one of the sides has rows."""
    return any(map(licences.unit_has_one_row, node.below)) or licences.meets_one_of_unit(node)


def _is_looked_up(node: Mark) -> bool:
    parts = () if node.condition is None else conjuncts(node.condition)
    return all(is_key_lookup(one, node) for one in parts)


def _with_some_for_each(node: Join, names: Iterator[str], *, few: bool) -> Join:
    """The join with at most `MOST_MATCHES` rows of the public side for each value that the columns are equal to."""
    left_is_other = isinstance(node.right.label, Protected)
    other, mine = (node.left, node.right) if left_is_other else (node.right, node.left)
    equal = equal_columns(node.condition, other, mine)
    if not equal or node.condition is None:
        raise _several()
    for one in conjuncts(node.condition):
        there = {each.id: each for each in other.fields}
        if column_ids(one) and column_ids(one) <= there.keys():
            other = Filter(other, replace_columns(one, there))
    values = tuple(Ref(one) for one in other.fields if one.id in equal)
    some = sample_rows(other, values, MOST_MATCHES, next(names))
    if few or may_be_pairs(mine):
        mine = few_of_person(mine, MOST_PAIRS // MOST_MATCHES, next(names))
    return (
        replace(node, left=some, right=mine)
        if left_is_other
        else replace(node, left=mine, right=some)
    )


def _several() -> Unbounded:
    return Unbounded(
        Code.FAN_OUT,
        "a protected row could match several rows of the other table",
        "join on a column that has a unique constraint in the source",
    )


def _with_one_for_each(node: Join) -> Join:
    """The join with at most one row of the constant side for each value that the columns are equal to."""
    left_is_other = isinstance(node.right.label, Protected)
    other = node.left if left_is_other else node.right
    columns = _columns_of_one(node, other)
    if columns is None:
        raise _several()
    few = _one_for(other, columns)
    return replace(node, left=few) if left_is_other else replace(node, right=few)


def _columns_of_one(node: Join, other: Node) -> tuple[str, ...] | None:
    """By which columns one row is kept of a constant side; None where it is none, or would lose other rows."""
    equal = equal_columns(node.condition, other, node.right if other is node.left else node.left)
    if not isinstance(below_filters(other), Constant) or not any(
        one <= equal for one in other.claims
    ):
        return None
    return tuple(sorted(equal))


def _one_for(side: Node, columns: tuple[str, ...]) -> Node:
    if isinstance(side, Constant):
        return replace(side, one_for=columns)
    return rebuild_node(side, tuple(_one_for(one, columns) for one in side.below))


def _cut(node: Join, licences: Licences, names: Iterator[str]) -> Join:
    if _has_few_pairs(node, licences):
        return node
    left, right = _both_cut(node.left, node.right, names)
    return replace(node, left=left, right=right)


def _marked(node: Mark, licences: Licences, names: Iterator[str]) -> Mark:
    """Equalities of the two sides are looked up; anything else about both is tried for every pair."""
    if _is_looked_up(node):
        return node
    if not isinstance(node.inner.label, Protected):
        joined = Join(node.child, node.inner, node.condition)
        if licences.meets_one(joined):
            return node
        columns = _columns_of_one(joined, node.inner)
        if columns is None:
            raise Unbounded(
                Code.FAN_OUT,
                "every protected row would be compared with every row of another table",
                "use only `=` between the tables in EXISTS, or compare with a unique column",
            )
        return replace(node, inner=_one_for(node.inner, columns))
    if _has_few_pairs(node, licences):
        return node
    child, inner = _both_cut(node.child, node.inner, names)
    return replace(node, child=child, inner=inner)


def is_key_lookup(part: Scalar, node: Mark) -> bool:
    """Whether it is about one side alone, or an equality of a value of one side with one of the other."""
    sides = [{one.id for one in side.fields} for side in node.below]

    def is_of_one(scalar: Scalar) -> bool:
        return any(column_ids(scalar) <= side for side in sides)

    equal = isinstance(part, Call) and part.function == "="
    return is_of_one(part) or (equal and all(is_of_one(one) for one in part.parts))


def _both_cut(left: Node, right: Node, names: Iterator[str]) -> tuple[Node, Node]:
    """Both sides with so few rows of each person that few of them can meet.

    A declared number of rows other than one is no reason to leave rows out: what a person adds is weighted. Of pairs there
    are more than of rows, so more of them are kept.
    """
    for one, other in ((left, right), (right, left)):
        if isinstance(one.label, Protected) and one.label.rows == 1:
            few = few_of_person(one, 1, next(names))
            return (few, other) if one is left else (other, few)
    pairs = [may_be_pairs(one) for one in (left, right)]
    most = (
        MOST_MET
        if pairs[0] == pairs[1]
        else _BESIDE_PAIRS
        if pairs[1]
        else MOST_PAIRS // _BESIDE_PAIRS
    )
    return (
        few_of_person(left, most, next(names)),
        few_of_person(right, MOST_PAIRS // most, next(names)),
    )


def _same_columns(node: Node, columns: tuple[Field, ...], names: Iterator[str]) -> Node:
    there = {one.id: one for one in node.fields}
    if tuple(there) == tuple(one.id for one in columns):
        return node
    items = tuple((f"c{place}", Ref(there[one.id])) for place, one in enumerate(columns))
    return Project(node, next(names), items)
