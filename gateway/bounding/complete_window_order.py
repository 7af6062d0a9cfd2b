"""The order within a person is completed by all columns, so that no tie is left to how rows are stored.

INVARIANT: rows that still tie agree in every column there is, so it makes no difference which comes first.
Orders are rendered over canonical keys, text in binary collation.
"""

from dataclasses import replace
from typing import Final

from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.node import Node
from gateway.plan.rebuilding import rewritten
from gateway.plan.relations import Window
from gateway.plan.scalars import Ref, Scalar

ORDERED: Final = frozenset({"row_number", "sample_number", "lag", "lead"})
_RUNNING: Final = ("unbounded preceding", "current row")


def complete_window_order(plan: Node) -> Node:
    """The plan with windows whose results do not depend on ties."""

    def complete(node: Node) -> Node:
        if not isinstance(node, Window):
            return node
        items = tuple((name, _completed(one, node.child.fields)) for name, one in node.items)
        return Window(node.child, items)

    return rewritten(plan, complete)


def _completed(call: WindowCall, columns: tuple[Field, ...]) -> WindowCall:
    if call.function not in ORDERED and not call.order and call.frame is None:
        return call  # over all rows of the partition: their order does not matter
    there: set[Scalar] = {one for one, _ in call.order}
    rest = [Ref(one) for one in columns if one.tie is not Tie.ALWAYS and Ref(one) not in there]
    order = (*call.order, *((one, False) for one in rest))
    frame = call.frame
    if frame is None and call.function not in ORDERED:
        frame = _RUNNING  # the default would be RANGE, which sees ties
    return replace(call, order=order, frame=frame)
