"""Arithmetic with intervals that are not written out: differences of times, and a number of days times an interval.

An interval is no value of a plan. The difference of two times is read where it becomes a number: in
`extract(epoch FROM ended - began)`, or compared with an interval that is written out. `x + n * interval '1 day'` is a day
so many days later, where x is the beginning of a day.
"""

from fractions import Fraction
from typing import Final

from sqlglot import exp

from gateway.binding import clocks, constants
from gateway.binding.operands import Binding, compare
from gateway.catalog.types import ColumnType
from gateway.catalog.zones import UTC_NAME
from gateway.errors import Code, Refusal, SyntaxRefused, UnsupportedSql
from gateway.functions.times import call_date_trunc, call_extract
from gateway.plan.fields import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    NUMERIC,
    TEXT,
    TIMES,
    TIMESTAMP,
    TIMESTAMPTZ,
    is_number,
)
from gateway.plan.scalars import Call, Cast, Literal, Scalar, Shift
from gateway.ranges.expressions import grain_of

_DAY: Final = 86_400
_MONTH: Final = 30 * _DAY  # as PostgreSQL compares intervals
_PARTS: Final = {"epoch": 1, "day": _DAY}


def bind_part_of_difference(part: str, node: exp.Expression, binding: Binding) -> Scalar | None:
    """A part of a difference of two times; None where the expression is none."""
    seconds = _seconds_between(node, binding)
    if seconds is None:
        return None
    if part not in _PARTS:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`extract` does not support the field `{part[:20]}` of a difference of times",
            "divide extract(epoch FROM later - earlier) by the seconds of the unit",
        )
    if part == "epoch":
        return seconds
    whole = Cast(Call("trunc", (seconds,), NUMERIC), BIGINT)
    return Cast(Call("/", (whole, Literal(_DAY, INTEGER)), BIGINT), NUMERIC)


def bind_compared_difference(
    left: exp.Expression, right: exp.Expression, binding: Binding
) -> tuple[Scalar, Scalar] | None:
    """The seconds of a difference of two times and of an interval, in the order in which they are written."""
    for one, other, turned in ((left, right, False), (right, left, True)):
        span = constants.span(other)
        seconds = None if span is None else _seconds_between(one, binding)
        if span is None or seconds is None:
            continue
        length = Fraction(span.microseconds, 1_000_000) + span.days * _DAY + span.months * _MONTH
        limit = Literal(length, NUMERIC)
        return (limit, seconds) if turned else (seconds, limit)
    return None


def bind_between_intervals(node: exp.Between, binding: Binding) -> Scalar | None:
    """A difference of two times between two intervals; None of anything else."""
    ends = zip((">=", "<="), (node.args["low"], node.args["high"]), strict=True)
    parts: list[Scalar] = []
    for sign, end in ends:
        pair = bind_compared_difference(node.this, end, binding)
        if pair is None:
            return None
        parts.append(compare(sign, *pair))
    return Call("and", tuple(parts), BOOLEAN, any(one.nullable for one in parts))


def operator_refusal(operator: str, left: ColumnType, right: ColumnType) -> Refusal:
    """The refusal of operands that an operator does not accept."""
    if operator == "-" and {left, right} <= {DATE, TIMESTAMP, TIMESTAMPTZ}:
        return UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "a difference of times is not supported as a value of its own",
            "write EXTRACT(EPOCH FROM later - earlier), a number of seconds, or aggregate the difference: AVG(later - earlier)",
        )
    return SyntaxRefused(
        Code.TYPE_MISMATCH, f"the operator `{operator}` does not accept {left} and {right}"
    )


def _seconds_between(node: exp.Expression, binding: Binding) -> Scalar | None:
    node = _bare(node)
    if not isinstance(node, exp.Sub) or constants.span(node.expression) is not None:
        return None
    if any(constants.is_untyped(one) for one in (node.this, node.expression)):
        return None
    later, earlier = binding.together((node.this, node.expression))
    both = {later.type, earlier.type}
    if not both <= {DATE, TIMESTAMP, TIMESTAMPTZ} or both == {DATE}:
        return None
    ends = (call_extract("epoch", _in_utc(one, binding)) for one in (later, earlier))
    return Call("-", tuple(ends), NUMERIC)


def _in_utc(time: Scalar, binding: Binding) -> Scalar:
    """A moment on the clock of UTC: how far two of them are apart, no other clock says."""
    if time.type != TIMESTAMPTZ:
        return time
    return clocks.at_time_zone(time, UTC_NAME, binding.zone)


def bind_multiple(
    time: exp.Expression, product: exp.Expression, binding: Binding, *, forward: bool
) -> Scalar | None:
    """A day moved by a number of days; None where the second operand is no number times an interval."""
    product = _bare(product)
    if not isinstance(product, exp.Mul):
        return None
    for many, one in ((product.this, product.expression), (product.expression, product.this)):
        span = constants.span(one)
        if span is not None:
            return _moved(
                binding.bind(time), binding.bind(many), span if forward else -span, binding
            )
    return None


def _moved(time: Scalar, many: Scalar, span: constants.Span, binding: Binding) -> Scalar:
    if time.type.family not in TIMES or not is_number(many.type):
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"{many.type} times an interval cannot be added to {time.type}"
        )
    local = clocks.local_time(time, binding.zone)
    begins = local.type == DATE or clocks.is_day_start(local)
    if span.months or span.microseconds or grain_of(many) != 1 or not begins:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "a number times an interval is only supported as whole days that are added to the beginning of a day",
            "write date_trunc('day', …) + n * interval '1 day'",
        )
    week = _week_start(local, many, span.days)
    if week is not None:
        return clocks.moment(week, binding.zone) if time.type == TIMESTAMPTZ else week
    whole = many if many.type == INTEGER else Cast(many, INTEGER)
    days = whole if span.days == 1 else Call("*", (whole, Literal(span.days, INTEGER)), INTEGER)
    day = local if local.type == DATE else Cast(local, DATE)
    moved = Cast(Call("+", (day, days), DATE), TIMESTAMP)
    return clocks.moment(moved, binding.zone) if time.type == TIMESTAMPTZ else moved


def _week_start(local: Scalar, many: Scalar, days: int) -> Scalar | None:
    """The day that so many days are taken from which its week has, as the beginning of a week that is moved.

    Tools write weeks that begin on Sundays in both forms; here they are one question.
    """
    if isinstance(many, Call) and many.function == "negate":
        many, days = many.parts[0], -days
    if days != -1 or not isinstance(many, Call) or many.function != "extract":
        return None
    part, of = many.parts
    is_day = isinstance(local, Call) and local.parts[0] == Literal("day", TEXT)
    inner = local.parts[1] if is_day and isinstance(local, Call) else local
    if inner != of or not isinstance(part, Literal) or part.value not in {"dow", "isodow"}:
        return None
    inner = Cast(inner, TIMESTAMP) if inner.type == DATE else inner
    moved = Shift(inner, 0, 1, 0, TIMESTAMP) if part.value == "dow" else inner
    return Shift(call_date_trunc("week", moved), 0, -1, 0, TIMESTAMP)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
