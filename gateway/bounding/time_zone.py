"""The current time in a plan, and what in it depends on the session's time zone.

`current_date` and `localtimestamp` become constants: one moment for the whole statement, in the zone it is given in.
The source computes in UTC. There a time with a zone is a moment, whatever zone it is shown in; but the day or the hour
of it, a text without an offset read as one, and days added to it depend on the zone.

INVARIANT: where the answer could differ between two zones, the plan is said to read them.
"""

from datetime import UTC, datetime

from gateway.catalog.types import Kind
from gateway.catalog.values import Value
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.rewrite import map_scalars, rewrite_plan
from gateway.plan.scalars import (
    Call,
    Cast,
    Literal,
    Moment,
    Scalar,
    Shift,
    transform,
    walk_scalar,
)


def fold_moments(plan: Node, now: datetime) -> Node:
    """The plan without moments."""

    def fold(node: Node) -> Node:
        if not any(isinstance(part, Moment) for one in node.scalars for part in walk_scalar(one)):
            return node
        return map_scalars(node, lambda one: fold_scalar(one, now))

    return rewrite_plan(plan, fold)


def fold_scalar(scalar: Scalar, now: datetime) -> Scalar:
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

    return transform(scalar, fold)


def reads_time(plan: Node) -> bool:
    """Whether the plan reads the current date or time, so that its analysis depends on when it is asked."""
    return any(
        isinstance(one, Moment)
        for node in walk_nodes(plan)
        for scalar in node.scalars
        for one in walk_scalar(scalar)
    )


# these look at moments and at nothing of them
_OF_MOMENTS = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"})


def depends_on_zone(plan: Node) -> bool:
    """Whether a day, an hour or a text of a time with a zone is made or read anywhere."""
    return any(is_zone_dependent(scalar) for node in walk_nodes(plan) for scalar in node.scalars)


def is_zone_dependent(scalar: Scalar) -> bool:
    """The same of one expression."""
    return any(_reads(one) for one in walk_scalar(scalar))


def _reads(scalar: Scalar) -> bool:
    match scalar:
        case Call():
            zoned = [_is_zoned(part) for part in scalar.parts]
            moments = scalar.function.lower() in _OF_MOMENTS and all(zoned)
            return any(zoned) and not moments
        case Cast():
            return _is_zoned(scalar) or _is_zoned(scalar.what)
        case Shift() | Literal():
            return _is_zoned(scalar)
    return False


def _is_zoned(scalar: Scalar) -> bool:
    return scalar.type.kind is Kind.TIMESTAMPTZ
