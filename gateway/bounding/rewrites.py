"""Rewrite before bounding: window orders are made total.

Columns that nothing reads are dropped before (`drop_unused`). Rows that agree in all columns that are read may then
be taken for each other: no window order needs more.

INVARIANT: rows that still tie agree in every column there is, so it makes no difference which comes first. Orders
are rendered over canonical keys, text in binary collation.
INVARIANT: no frame reaches to the last row of a person from a row that moves: a database would look at all later
rows for each row. Such a frame is turned round, which is the same set of rows.
"""

from dataclasses import replace
from typing import Final

from gateway.plan.aggregates import ORDERED, WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.node import Node
from gateway.plan.relations import Window
from gateway.plan.rewrite import rewrite_plan
from gateway.plan.scalars import (
    Ref,
    Scalar,
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
