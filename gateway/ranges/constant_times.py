"""Times that are made of constants alone, such as `now() - interval '7 days'` once the current time is known.

Takes an expression over constants and gives the constant that every engine would compute for it, or nothing.

INVARIANT: what is given is what `gateway/engines/sql` computes: months first, to the end of a shorter month, then days
and the rest; NULL outside of the calendar.
"""

from datetime import date, timedelta

from gateway.catalog.types import Family
from gateway.functions.exact_values import Known, NotComputed, shifted_time, timestamp
from gateway.functions.table import function_of
from gateway.plan.fields import DATE, TIMESTAMP
from gateway.plan.scalars import Call, Cast, Literal, Scalar, Shift


def constant_time(scalar: Scalar) -> Literal | None:
    """The constant that an expression is; None where it reads a row, or is no time that is known."""
    try:
        return Literal(_value(scalar), scalar.type)
    except (NotComputed, OverflowError, ValueError):
        return None


def _value(scalar: Scalar) -> Known:
    match scalar:
        case Literal(value):
            return value
        case Shift():
            value = shifted_time(
                _value(scalar.moved), scalar.months, scalar.days, scalar.microseconds
            )
            if value is None:
                raise NotComputed
            return value
        case Cast(what, kind) if what.type.family in {Family.DATE, Family.TIMESTAMP}:
            value = _value(what)
            if value is None or what.type not in {DATE, TIMESTAMP} or kind not in {DATE, TIMESTAMP}:
                raise NotComputed
            return timestamp(value) if kind == TIMESTAMP else timestamp(value).date()
        case Call("+" | "-", (day, days)) if scalar.type == DATE and day.type == DATE:
            first, many = _value(day), _value(days)
            if not isinstance(first, date) or not isinstance(many, int):
                raise NotComputed
            return first + timedelta(days=many if scalar.function == "+" else -many)
        case Call() if function_of(scalar).evaluate is not None:
            values = [_value(one) for one in scalar.parts]
            evaluate = function_of(scalar).evaluate
            if evaluate is None or None in values:
                raise NotComputed
            return evaluate(scalar, values)
        case _:
            raise NotComputed
