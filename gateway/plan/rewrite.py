"""A plan made again from the leaves up, over other relations or with other expressions; and which source columns a
plan uses.

`map_node` is the one place that knows where each kind of node keeps its relations and its expressions; every
rewrite of a plan goes through it, as every rewrite of an expression goes through `gateway.plan.scalars.map_parts`.

INVARIANT: a node is made anew by its own constructor, so every check of a node holds for it again; its expressions
read the columns that are below it now, with the domains these have.
INVARIANT: every expression of a plan that can influence what is released is counted as a use, wherever it stands.
Counting persons and joining on the person need the table alone and are not counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from gateway.catalog.tables import ColumnRef
from gateway.plan.affine import Affinity
from gateway.plan.aggregates import Aggregate, Measure, PerUnit
from gateway.plan.fields import Field
from gateway.plan.joins import Join, Mark, UnionAll, conditions_beyond_unit
from gateway.plan.node import BrokenPlan, Node, is_unit, walk_nodes
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Change, Ref, Scalar, column_ids, scalar_origins, transform

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


class UseKind(StrEnum):
    """The words of a policy's `use`."""

    AGGREGATE = "aggregate"
    GROUP_BY = "group_by"
    FILTER = "filter"
    JOIN = "join"


@dataclass(frozen=True, order=True, slots=True)
class Use:
    """One column, used in one way."""

    column: ColumnRef
    operation: UseKind

    def __str__(self) -> str:
        return f"{self.operation} {self.column}"


def plan_uses(plan: Node) -> frozenset[Use]:
    """All uses in the plan."""
    affinity = Affinity.of(plan)
    return frozenset(
        Use(column, operation)
        for node in walk_nodes(plan)
        for operation, columns in _of(node, affinity)
        for column in columns
    )


def plan_tables(plan: Node) -> frozenset[str]:
    """The source tables a plan reads."""
    return frozenset(node.table.name for node in walk_nodes(plan) if isinstance(node, Scan))


def _of(node: Node, affinity: Affinity) -> Iterator[tuple[UseKind, frozenset[ColumnRef]]]:
    match node:
        case Filter():
            yield UseKind.FILTER, scalar_origins(node.condition)
        case Join():
            yield from _of_join(node)
        case Mark():
            for part in conditions_beyond_unit(node.condition, node.child, node.inner):
                yield UseKind.FILTER, scalar_origins(part)
        case PerUnit() | Aggregate():
            keys = (key for _, key in node.keys if not is_unit(key))
            yield UseKind.GROUP_BY, scalar_origins(*keys)
            measures = (measure for _, measure in node.measures)
            yield from _of_measures(measures, affinity, of_person=isinstance(node, PerUnit))
        case Window():
            for _, call in node.items:
                partition = (key for key in call.partition if not is_unit(key))
                yield UseKind.GROUP_BY, scalar_origins(*partition)
                looked_at = (*call.arguments, *(one for one, _ in call.order))
                yield UseKind.AGGREGATE, scalar_origins(*looked_at)
                yield UseKind.FILTER, affinity.window_conditions(call, node.child)
        case _:
            return


def _of_measures(
    measures: Iterable[Measure], affinity: Affinity, *, of_person: bool
) -> Iterator[tuple[UseKind, frozenset[ColumnRef]]]:
    for measure in measures:
        if not measure.counts_units:
            yield UseKind.AGGREGATE, scalar_origins(*measure.arguments)
            yield UseKind.FILTER, affinity.conditions(measure, of_person=of_person)
        if measure.where is not None:
            yield UseKind.FILTER, scalar_origins(measure.where)


def _of_join(node: Join) -> Iterator[tuple[UseKind, frozenset[ColumnRef]]]:
    # joining what was released is choosing among values, as IN does
    released = any(isinstance(side, Constant) for side in node.below)
    for part in conditions_beyond_unit(node.condition, node.left, node.right):
        read = column_ids(part)
        one_table = any(read.isdisjoint(one.id for one in side.fields) for side in node.below)
        yield (UseKind.FILTER if released or one_table else UseKind.JOIN), scalar_origins(part)
