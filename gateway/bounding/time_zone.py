"""The current time in a plan, and the clocks that it reads.

`current_date`, `localtimestamp` and `current_timestamp` become constants: one moment for the whole statement, on the
clock that it is given on. What is made of constants and a named clock alone becomes a constant, too.

A time with a zone is a moment. The day or the hour of it, a text without an offset that is read as one, and days that are
added to it depend on a zone. Binding writes the name of that zone into the plan (`gateway/binding/clocks.py`).

INVARIANT: a plan means the same whatever the time zones of the session, the source and the gateway are:
`require_named_clocks` finds what reads a clock and names none.
"""

from datetime import UTC, datetime
from typing import Final

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
from gateway.ranges.constant_times import constant_time


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

    def settle(one: Scalar) -> Scalar:
        made = fold(one)
        if isinstance(made, Call) and made.function in {"timezone", "trunc_in_zone"}:
            return constant_time(made) or made
        return made

    return transform(scalar, settle)


def reads_time(plan: Node) -> bool:
    """Whether the plan reads the current date or time, so that its analysis depends on when it is asked."""
    return any(
        isinstance(one, Moment)
        for node in walk_nodes(plan)
        for scalar in node.scalars
        for one in walk_scalar(scalar)
    )


# these look at moments and at nothing of them, or name the clock that they read
_OF_MOMENTS: Final = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"}
    | {"is distinct from", "is not distinct from", "timezone", "trunc_in_zone"}
    | {"coalesce", "nullif", "greatest", "least"}
)


def require_named_clocks(plan: Node) -> None:
    """Fail where a time with a zone is taken apart, or made, by a clock that nothing names."""
    for node in walk_nodes(plan):
        for scalar in node.scalars:
            if any(map(_reads_unnamed_clock, walk_scalar(scalar))):
                raise BrokenPlan("an expression reads the clock of no zone")


def _reads_unnamed_clock(scalar: Scalar) -> bool:
    zoned = [one.type.kind is Kind.TIMESTAMPTZ for one in scalar.parts]
    match scalar:
        case Call(name):
            if name in {"timezone", "trunc_in_zone"}:
                return False
            if name == "date_bin":
                # counted from an origin: a time with a zone as a moment, any other as it is
                return len({scalar.type.kind, *(one.type.kind for one in scalar.parts[1:])}) > 1
            mixed = any(zoned) and not all(zoned)
            made = scalar.type.kind is Kind.TIMESTAMPTZ and not all(zoned)
            return made or mixed or (any(zoned) and name not in _OF_MOMENTS)
        case Cast() | Shift():
            return any(zoned) or scalar.type.kind is Kind.TIMESTAMPTZ
        case _:
            return False
