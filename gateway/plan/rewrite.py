"""A plan made again from the leaves up, over other relations or with other expressions.

`map_node` is the one place that knows where each kind of node keeps its relations and its expressions; every
rewrite of a plan goes through it, as every rewrite of an expression goes through `gateway.plan.scalars.map_parts`.

INVARIANT: a node is made anew by its own constructor, so every check of a node holds for it again; its expressions
read the columns that are below it now, with the domains these have.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Field
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Change, Ref, Scalar, column_ids, transform

_Value = TypeVar("_Value")
_Named = tuple[tuple[str, _Value], ...]


def rewrite_plan(plan: Node, rewrite: Callable[[Node], Node]) -> Node:
    """The plan with every node replaced by what `rewrite` makes of it, from the leaves up."""
    below = tuple(rewrite_plan(one, rewrite) for one in plan.below)
    return rewrite(plan if below == plan.below else rebuild_node(plan, below))


def rebuild_node(node: Node, below: tuple[Node, ...]) -> Node:
    """The node over other relations that have its columns."""
    there = {one.id: one for child in below for one in child.fields}
    return map_node(node, below, lambda scalar: replace_columns(scalar, there))


def map_scalars(node: Node, change: Change) -> Node:
    """The node with `change` of each of its own expressions; what is below stays."""
    return map_node(node, node.below, change)


def map_node(  # noqa: PLR0911 - one answer for each kind of node
    node: Node, below: tuple[Node, ...], change: Change
) -> Node:
    """The node over these relations, with `change` of each of its own expressions."""
    match node:
        case Scan() | Constant():
            return node
        case Filter():
            return replace(node, child=below[0], condition=change(node.condition))
        case Project():
            return replace(node, child=below[0], items=_each(node.items, change))
        case Window():
            items = _each(node.items, lambda call: call.map_scalars(change))
            return replace(node, child=below[0], items=items)
        case UnionAll():
            return replace(node, left=below[0], right=below[1])
        case Join() | Mark():
            condition = None if node.condition is None else change(node.condition)
            if isinstance(node, Join):
                return replace(node, left=below[0], right=below[1], condition=condition)
            return replace(node, child=below[0], inner=below[1], condition=condition)
        case PerUnit() | Aggregate():
            keys = _each(node.keys, change)
            measures = _each(node.measures, lambda measure: measure.map_scalars(change))
            return replace(node, child=below[0], keys=keys, measures=measures)
        case _:
            raise BrokenPlan("a node that cannot be rebuilt")


def replace_columns(scalar: Scalar, there: Mapping[str, Field]) -> Scalar:
    """The expression reading these columns, found by their ids."""

    def again(one: Scalar) -> Scalar:
        return Ref(there.get(one.field.id, one.field)) if isinstance(one, Ref) else one

    return transform(scalar, again)


def _each(named: _Named[_Value], change: Callable[[_Value], _Value]) -> _Named[_Value]:
    return tuple((name, change(one)) for name, one in named)


def without_conditions(plan: Aggregate) -> Aggregate:
    """The keys of the plan over all rows of its tables and joins: no condition above these, and no measure."""
    child, read = plan.child, column_ids(*(key for _, key in plan.keys))
    while isinstance(child, Filter) or (isinstance(child, Mark) and child.id not in read):
        child = child.child
    there = {one.id: one for one in child.fields}
    keys = tuple((name, replace_columns(key, there)) for name, key in plan.keys)
    return Aggregate(child, keys, (), plan.sets)
