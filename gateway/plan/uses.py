"""Which source columns a plan uses, and how: what the policy decides on.

INVARIANT: every expression of a plan that can influence what is released is counted here, wherever it
stands. Counting persons and joining on the person need the table alone and are not counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gateway.catalog.tables import ColumnRef
from gateway.plan.affine import Affinity
from gateway.plan.aggregates import Measure
from gateway.plan.grouping import Aggregate, PerUnit
from gateway.plan.joins import Join, Mark, beyond_unit
from gateway.plan.node import Node, is_unit, nodes
from gateway.plan.relations import Constant, Filter, Scan, Window
from gateway.plan.scalars import column_ids, origins


class Operation(StrEnum):
    """The words of a policy's `use`."""

    AGGREGATE = "aggregate"
    GROUP_BY = "group_by"
    FILTER = "filter"
    JOIN = "join"


@dataclass(frozen=True, order=True, slots=True)
class Use:
    """One column, used in one way."""

    column: ColumnRef
    operation: Operation

    def __str__(self) -> str:
        return f"{self.operation} {self.column}"


def uses(plan: Node) -> frozenset[Use]:
    """All uses in the plan."""
    affinity = Affinity.of(plan)
    return frozenset(
        Use(column, operation)
        for node in nodes(plan)
        for operation, columns in _of(node, affinity)
        for column in columns
    )


def tables(plan: Node) -> frozenset[str]:
    """The source tables a plan reads."""
    return frozenset(node.table.name for node in nodes(plan) if isinstance(node, Scan))


def _of(node: Node, affinity: Affinity) -> Iterator[tuple[Operation, frozenset[ColumnRef]]]:
    match node:
        case Filter():
            yield Operation.FILTER, origins(node.condition)
        case Join():
            yield from _of_join(node)
        case Mark():
            for part in beyond_unit(node.condition, node.child, node.inner):
                yield Operation.FILTER, origins(part)
        case PerUnit() | Aggregate():
            keys = (key for _, key in node.keys if not is_unit(key))
            yield Operation.GROUP_BY, origins(*keys)
            yield from _of_measures((measure for _, measure in node.measures), affinity)
        case Window():
            for _, call in node.items:
                partition = (key for key in call.partition if not is_unit(key))
                yield Operation.GROUP_BY, origins(*partition)
                looked_at = (*call.arguments, *(one for one, _ in call.order))
                yield Operation.AGGREGATE, origins(*looked_at)
                yield Operation.FILTER, affinity.window_conditions(call)
        case _:
            return


def _of_measures(
    measures: Iterable[Measure], affinity: Affinity
) -> Iterator[tuple[Operation, frozenset[ColumnRef]]]:
    for measure in measures:
        if not measure.counts_units:
            yield Operation.AGGREGATE, origins(*measure.arguments)
            yield Operation.FILTER, affinity.conditions(measure)
        if measure.where is not None:
            yield Operation.FILTER, origins(measure.where)


def _of_join(node: Join) -> Iterator[tuple[Operation, frozenset[ColumnRef]]]:
    # joining what was released is choosing among values, as IN does
    released = any(isinstance(side, Constant) for side in node.below)
    for part in beyond_unit(node.condition, node.left, node.right):
        read = column_ids(part)
        one_table = any(read.isdisjoint(one.id for one in side.fields) for side in node.below)
        yield (Operation.FILTER if released or one_table else Operation.JOIN), origins(part)
