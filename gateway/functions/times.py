"""The functions of dates and times, a row for each."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import Family, Kind
from gateway.catalog.values import Value
from gateway.functions import copy_counts as copies
from gateway.functions import costs, result_sizes, time_ranges
from gateway.functions.calendar import (
    DAY,
    Civil,
    civil_date,
    days_from,
    days_of,
    iso_year,
    microseconds_of,
    moment_at,
    months_later,
    period_start,
    period_starts,
)
from gateway.functions.exact_values import Known, NotComputed, as_type, timestamp
from gateway.functions.function import (
    TO_DATE,
    WHOLE,
    Function,
    Gaps,
    Nulls,
    Operands,
    Signature,
    TimePart,
    arithmetic_range,
)
from gateway.functions.grains import GrainOf
from gateway.functions.range_arithmetic import Bounds, Range
from gateway.functions.thresholds import ColumnDigits, Monotone, Preimage, Threshold, Unsolved
from gateway.plan.fields import NUMERIC, TEXT, TIMES, TIMESTAMP
from gateway.plan.scalars import Call, Literal, Scalar

TRUNCATED: Final = frozenset(
    {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
)
OF_DATES: Final = frozenset(
    {"year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "isoyear", "epoch"}
    | {"decade", "century"}
)
EXTRACTED: Final = OF_DATES | {"hour", "minute", "second"}
AGED: Final = frozenset({"year", "month", "day"})

_BY_DAY: Final = OF_DATES - {"epoch"}
_LENGTHS: Final = MappingProxyType(
    {"week": 7 * DAY, "day": DAY, "hour": DAY // 24, "minute": DAY // 1440, "second": 1_000_000}
)
_MONTHS: Final = MappingProxyType({"month": 1, "quarter": 3, "year": 12})
_SUB_DAILY: Final = frozenset({"hour", "minute", "second"})
_WITH_FRACTIONS: Final = frozenset({"second", "epoch"})
_FARTHEST_YEAR: Final = 9_000  # far outside of what timestamps are


def call_date_trunc(part: str, of: Scalar) -> Call:
    """The beginning of the year, month, … in which a date or timestamp lies."""
    return Call("date_trunc", (Literal(part, TEXT), of), TIMESTAMP, of.nullable)


def call_extract(part: str, of: Scalar) -> Call:
    return Call("extract", (Literal(part, TEXT), of), NUMERIC, of.nullable)


def call_age(part: str, later: Scalar, earlier: Scalar) -> Call:
    """A field of the age between two moments."""
    return Call("age_in", (Literal(part, TEXT), later, earlier), NUMERIC)


def _part(call: Call) -> str:
    part = call.parts[0]
    return str(part.value) if isinstance(part, Literal) else ""


def _age(call: Call, operands: Operands) -> Bounds:
    later, earlier = (operands.in_microseconds(place).range for place in (1, 2))
    return time_ranges.age_bounds(_part(call), later, earlier)


def _grain(call: Call, _: GrainOf) -> Fraction | None:
    return Fraction(1, 1_000_000) if _part(call) in _WITH_FRACTIONS else Fraction(1)


def _field_of(call: Call, values: Sequence[Known]) -> Known:
    part, of = str(values[0]), values[1]
    if not isinstance(of, date):
        raise NotComputed
    moment = timestamp(of)
    days = days_of(moment.date())
    year, month, day = civil_date(days)
    found = {
        "year": year,
        "quarter": (month + 2) // 3,
        "month": month,
        "week": moment.isocalendar().week,
        "day": day,
        "hour": moment.hour,
        "minute": moment.minute,
        "dow": moment.isoweekday() % 7,
        "isodow": moment.isoweekday(),
        "doy": moment.timetuple().tm_yday,
        "isoyear": iso_year(days),
        "decade": year // 10,
        "century": (year + 99) // 100,
    }.get(part)
    if found is None:
        raise NotComputed
    return as_type(found, call.type)


def _beginning_of(_: Call, values: Sequence[Known]) -> datetime:
    moment = timestamp(values[1])
    since = microseconds_of(moment)
    return moment - timedelta(microseconds=since - _beginning(str(values[0]), since))


def _beginning(part: str, moment: int) -> int:
    if part in _SUB_DAILY:
        return moment - moment % _LENGTHS[part]
    return period_start(part, moment // DAY) * DAY


def _solve_extract(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    """Years rise; other parts of a time come again and again."""
    if _part(call) != "year":
        raise Unsolved
    whole = test.of_floor()
    if not -_FARTHEST_YEAR < whole.bound < _FARTHEST_YEAR:
        raise Unsolved
    first = Fraction(days_from(Civil(int(whole.bound), 1, 1)) * DAY)
    return _of_time(call, Threshold(whole.operator, first))


def _solve_truncated(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    part, moment = _part(call), floor(test.bound)
    if part not in {*_LENGTHS, *_MONTHS}:
        raise Unsolved
    begins = _beginning(part, moment)
    after = _following(part, begins)
    here = Fraction(begins if begins == test.bound else after)
    found = {
        "<": Threshold("<", here),
        "<=": Threshold("<", Fraction(after)),
        ">": Threshold(">=", Fraction(after)),
        ">=": Threshold(">=", here),
    }[test.operator]
    return _of_time(call, found)


def _following(part: str, begins: int) -> int:
    if part in _LENGTHS:
        return begins + _LENGTHS[part]
    return months_later(begins // DAY, _MONTHS[part]) * DAY


def _of_time(call: Call, found: Threshold) -> Preimage:
    """The threshold in microseconds, in the unit of the operand."""
    of = call.parts[1].type
    if of.kind is Kind.TIMESTAMPTZ or of.family not in TIMES:
        raise Unsolved
    by_day = of.family is Family.DATE
    return 1, Threshold(found.operator, found.bound / DAY) if by_day else found


def _period(call: Call) -> int | None:
    part = _part(call)
    return DAY if part in _BY_DAY else _LENGTHS[part] if part in {"hour", "minute"} else None


def _numbers(_: Call, range_: Range, most: int) -> Iterable[Value] | None:
    return whole_numbers(range_, most) if range_.step == 1 else None


def _moments(call: Call, range_: Range, most: int) -> Iterable[Value] | None:
    found = period_starts(_part(call), int(range_.low), int(range_.high), most)
    return None if found is None else map(moment_at, found)


def whole_numbers(range_: Range, most: int) -> Iterable[Value] | None:
    """All whole numbers of a range, on its step; None where there are more than `most`."""
    step = range_.step if range_.step and range_.step.denominator == 1 else Fraction(1)
    first, last = ceil(range_.low / step), floor(range_.high / step)
    if last - first >= most:
        return None
    return (int(place * step) for place in range(first, last + 1))


EXTRACT: Final = Function(
    name="extract",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=False,
    range=lambda call, operands: time_ranges.part_of(
        _part(call), operands.in_microseconds(1).range
    ),
    grain=_grain,
    evaluate=_field_of,
    monotone=Monotone(_solve_extract, lambda _: 1),
    time_part=TimePart(_period, _numbers),
    cost=costs.constant(costs.MOMENT),
    size=result_sizes.type_size,
    copies=copies.once,
)
DATE_TRUNC: Final = Function(
    name="date_trunc",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=False,
    range=lambda call, operands: time_ranges.period_start_bounds(
        _part(call), operands.in_microseconds(1).range
    ),
    evaluate=_beginning_of,
    monotone=Monotone(_solve_truncated, lambda _: 1),
    time_part=TimePart(_period, _moments, is_zoned=True),
    cost=costs.constant(costs.MOMENT),
    size=result_sizes.type_size,
    copies=copies.once,
)
AGE_IN: Final = Function(
    name="age_in",
    signature=None,
    nulls=Nulls.STRICT,
    computes=True,
    range=_age,
    grain=_grain,
    cost=costs.constant(2 * costs.MOMENT),
    size=result_sizes.type_size,
    copies=copies.once,
)
MAKE_DATE: Final = Function(
    name="make_date",
    signature=Signature((WHOLE,), TO_DATE, 3, 3),
    nulls=Nulls.STRICT,
    computes=True,
    range=arithmetic_range(lambda _, given, __: time_ranges.date_bounds(given[0])),
    cost=costs.constant(costs.MOMENT),
    size=result_sizes.type_size,
    copies=copies.times(9, 9, 5),
)

DATES: Final = (EXTRACT, DATE_TRUNC, AGE_IN, MAKE_DATE)
