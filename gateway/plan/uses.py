"""Which source columns a plan uses, and in which way: what the policy has to permit.

INVARIANT: every expression of a plan that can influence what is released is counted as a use, wherever it stands.
Counting persons and joining on the person need the table alone and are not counted.
INVARIANT: a window function depends on all columns that are still there when its order is completed. So its uses are
taken from the plan without unused columns, as the database gets it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gateway.catalog.tables import ColumnRef
from gateway.plan.affine import Affinity
from gateway.plan.aggregates import Aggregate, Measure, PerUnit
from gateway.plan.fields import Tie
from gateway.plan.joins import Join, Mark, conditions_beyond_unit, is_cut
from gateway.plan.node import Node, is_unit, walk_nodes
from gateway.plan.relations import Constant, Filter, Scan, Window
from gateway.plan.scalars import Ref, column_ids, scalar_origins
from gateway.plan.unused_columns import drop_unused


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


def plan_uses(plan: Aggregate) -> frozenset[Use]:
    """All uses in the plan."""
    affinity = Affinity.of(plan, for_rights=True)
    found = {
        Use(column, operation)
        for node in walk_nodes(plan)
        for operation, columns in _of(node, affinity)
        for column in columns
    }
    read = drop_unused(plan.child, column_ids(*plan.scalars))
    affinity = Affinity.of(read, for_rights=True)
    ordering = [
        affinity.order_conditions(call, node.child)
        for node in walk_nodes(read)
        if isinstance(node, Window)
        for _, call in node.items
    ]
    found |= {Use(column, UseKind.FILTER) for one in ordering for column in one.conditions}
    found |= {Use(column, UseKind.FILTER) for column in _sampled(read, affinity)}
    used = {one.column for one in found}
    found |= {Use(column, UseKind.AGGREGATE) for one in ordering for column in one.columns - used}
    return frozenset(found)


def _sampled(read: Node, affinity: Affinity) -> Iterator[ColumnRef]:
    """The columns that decide which rows of a join are kept, where a side may have more rows of a person than declared.

    They are chosen by a hash of the row, and equal rows have one hash. So it matters whether values are equal.
    """
    for node in walk_nodes(read):
        if isinstance(node, Join | Mark) and is_cut(node):
            for one in (field for side in node.below for field in side.fields):
                # which key of its unit path a row has is no more than joining on the person needs
                if one.tie is Tie.NONE and not one.keys:
                    yield from affinity.columns(Ref(one))
                    yield from scalar_origins(Ref(one)) if affinity.is_mixed(Ref(one)) else ()


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
