"""`current_date` and `localtimestamp` become constants: one moment for the whole statement, in the zone it is given in."""

from datetime import UTC, datetime

from gateway.bounding.replacing import in_node, inside_out
from gateway.catalog.types import Kind
from gateway.catalog.values import Value
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.rebuilding import rewritten
from gateway.plan.scalars import Literal, Moment, Scalar


def fold_moments(plan: Node, now: datetime) -> Node:
    """The plan without moments."""
    return rewritten(plan, lambda node: in_node(node, lambda one: folded(one, now)))


def folded(scalar: Scalar, now: datetime) -> Scalar:
    """The expression without moments."""
    values: dict[Kind, Value] = {
        Kind.DATE: now.date(),
        Kind.TIMESTAMP: now.replace(tzinfo=None),
        Kind.TIMESTAMPTZ: now.astimezone(UTC),
    }

    def fold(one: Scalar) -> Scalar:
        if not isinstance(one, Moment):
            return one
        value = values.get(one.type.kind)
        if value is None:
            raise BrokenPlan("a moment of a type that has no time")
        return Literal(value, one.type)

    return inside_out(scalar, fold)
