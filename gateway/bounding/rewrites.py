"""Rewrites before bounding: window orders are made total, and unused columns dropped.

Columns that nothing reads are not computed, and not scanned. Rows that agree in all columns that are read may then
be taken for each other: no window order needs more.

INVARIANT: rows that still tie agree in every column there is, so it makes no difference which comes first. Orders
are rendered over canonical keys, text in binary collation.
INVARIANT: no frame reaches to the last row of a person from a row that moves: a database would look at all later
rows for each row. Such a frame is turned round, which is the same set of rows.
"""

from dataclasses import replace
from typing import Final

from gateway.plan.aggregates import ORDERED, PerUnit, WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.rewrite import rebuild_node, rewrite_plan
from gateway.plan.scalars import (
    Ref,
    Scalar,
    column_ids,
)

_BEGINNING: Final = "unbounded preceding"
_END: Final = "unbounded following"
_RUNNING: Final = (_BEGINNING, "current row")


def complete_window_order(plan: Node) -> Node:
    """The plan with windows whose results do not depend on ties."""

    def complete(node: Node) -> Node:
        if not isinstance(node, Window):
            return node
        items = tuple((name, _completed(one, node.child.fields)) for name, one in node.items)
        return Window(node.child, items)

    return rewrite_plan(plan, complete)


def _completed(call: WindowCall, columns: tuple[Field, ...]) -> WindowCall:
    if not call.depends_on_order:
        return call  # over all rows of the partition: their order does not matter
    there: set[Scalar] = {one for one, _ in call.order}
    rest = [Ref(one) for one in columns if one.tie is not Tie.ALWAYS and Ref(one) not in there]
    order = (*call.order, *((one, False) for one in rest))
    frame = call.frame
    if frame is None and call.function not in ORDERED:
        frame = _RUNNING  # the default would be RANGE, which sees ties
    if frame is not None and frame[1] == _END and frame[0] != _BEGINNING:
        # the other way round the frame begins where rows begin: its least and greatest are kept from row to row
        order = tuple((one, not down) for one, down in order)
        frame = (_BEGINNING, _mirrored(frame[0]))
    return replace(call, order=order, frame=frame)


def _mirrored(bound: str) -> str:
    """The same row, seen from the other end."""
    away, _, side = bound.partition(" ")
    if bound == "current row":
        return bound
    return f"{away} {'following' if side == 'preceding' else 'preceding'}"


def drop_unused(  # noqa: PLR0911 - one answer for each kind of node
    plan: Node, wanted: frozenset[str]
) -> Node:
    """The plan with the wanted columns, and those that deciding on rows needs."""
    match plan:
        case Scan():
            return _scan(plan, wanted)
        case Constant():
            return plan
        case Filter() | Join() | Mark():
            return _over(plan, wanted | column_ids(*plan.scalars))
        case Project():
            items = tuple(
                (name, one)
                for (name, one), made in zip(plan.items, plan.fields, strict=True)
                if made.id in wanted
            )
            if len({name for name, _ in plan.items}) != len(plan.items):
                items = plan.items  # their ids tell them apart, and depend on all of them
            kept = Project(plan.child, plan.alias, items)
            return _over(kept, column_ids(*kept.scalars))
        case Window():
            calls = tuple((name, one) for name, one in plan.items if name in wanted)
            if not calls:
                return drop_unused(plan.child, wanted)
            kept_calls = Window(plan.child, calls)
            return _over(kept_calls, wanted | column_ids(*kept_calls.scalars))
        case UnionAll():
            # columns go by place: both sides keep all of theirs
            below = tuple(
                drop_unused(one, frozenset(each.id for each in one.fields)) for one in plan.below
            )
            return rebuild_node(plan, below)
        case PerUnit():
            return _per_unit(plan, wanted)
        case _:
            raise BrokenPlan("a node that has other columns than rows of persons")


def _over(node: Node, wanted: frozenset[str]) -> Node:
    return rebuild_node(node, tuple(drop_unused(one, wanted) for one in node.below))


def _scan(scan: Scan, wanted: frozenset[str]) -> Scan:
    protection = scan.table.protection
    key = None if protection is None else protection.unit_key
    columns = tuple(
        column
        for column, one in zip(scan.table.columns, scan.fields, strict=True)
        if one.id in wanted or column.name == key
    )
    return Scan(replace(scan.table, columns=columns), scan.alias, scan.unit)


def _per_unit(node: PerUnit, wanted: frozenset[str]) -> Node:
    made = node.fields[len(node.keys) :]
    measures = tuple(
        measure for measure, one in zip(node.measures, made, strict=True) if one.id in wanted
    )
    names = [name for name, _ in (*node.keys, *node.measures)]
    if len(set(names)) != len(names):
        measures = node.measures
    kept = PerUnit(node.child, node.alias, node.keys, measures)
    return _over(kept, column_ids(*kept.scalars))
