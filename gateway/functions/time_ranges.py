"""Ranges of what is made of dates and timestamps: parts, ages, beginnings of periods, moved moments."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final

from gateway.functions.calendar import (
    DAY,
    Civil,
    civil_date,
    days_from,
    iso_year,
    months_between,
    months_later,
    period_start,
)
from gateway.functions.range_arithmetic import OPEN, Bounds, Range, bounds, common_divisor

NOW: Final = bounds(days_from(Civil(1970, 1, 1)), days_from(Civil(2999, 12, 31)), 1)
"""When a question can be asked, in days."""

_MOST_DAYS: Final = 10**9
_FIXED: Final = MappingProxyType(
    {
        "quarter": bounds(1, 4, 1),
        "month": bounds(1, 12, 1),
        "week": bounds(1, 53, 1),
        "day": bounds(1, 31, 1),
        "hour": bounds(0, 23, 1),
        "minute": bounds(0, 59, 1),
        "dow": bounds(0, 6, 1),
        "isodow": bounds(1, 7, 1),
        "doy": bounds(1, 366, 1),
        "second": bounds(0, Fraction(59_999_999, 1_000_000), Fraction(1, 1_000_000)),
    }
)
_YEARS: Final[MappingProxyType[str, Callable[[int], int]]] = MappingProxyType(
    {
        "year": lambda days: _named(civil_date(days).year),
        "isoyear": lambda days: _named(iso_year(days)),
        "decade": lambda days: civil_date(days).year // 10,
        "century": lambda days: _century(civil_date(days).year),
    }
)
_LENGTHS: Final = MappingProxyType(
    {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
)


def in_days(moments: Range) -> Bounds:
    return bounds(moments.low // DAY, moments.high // DAY, 1)


def part_of(part: str, of: Range | None) -> Bounds:
    """`extract`; `of` in microseconds."""
    fixed = _FIXED.get(part, OPEN)
    if of is None or _far(of):
        return fixed
    first, last = floor(of.low // DAY), floor(of.high // DAY)
    if part == "epoch":
        step = None if of.step is None else of.step / 1_000_000
        return bounds(of.low / 1_000_000, of.high / 1_000_000, step)
    if (year := _YEARS.get(part)) is not None:
        return bounds(year(first), year(last), 1)
    one, other = civil_date(first), civil_date(last)
    if one.year == other.year and part in {"month", "quarter"}:
        months = (one.month, other.month)
        if part == "quarter":
            months = ((one.month + 2) // 3, (other.month + 2) // 3)
        return bounds(*months, 1)
    if part == "second" and of.step is not None:
        second = common_divisor(of.step / 1_000_000, Fraction(60))
        return bounds(0, 60 - second, second)
    return fixed


def _named(year: int) -> int:
    """There is no year 0: before 1 comes -1."""
    return year if year > 0 else year - 1


def _century(year: int) -> int:
    return (year + 99) // 100 if year > 0 else (year - 100) // 100


def period_start_bounds(part: str, of: Range | None) -> Bounds:
    """`date_trunc`; in microseconds."""
    if of is None or _far(of):
        return OPEN
    if (length := _LENGTHS.get(part)) is not None:
        low, high = (floor(end // length) * length for end in (of.low, of.high))
        if of.step is not None and of.step % length == 0:
            return bounds(low, high, of.step)
        return bounds(low, high, length)
    low, high = (period_start(part, floor(end // DAY)) * DAY for end in (of.low, of.high))
    return bounds(low, high, DAY)


def age_bounds(part: str, later: Range | None, earlier: Range | None) -> Bounds:
    """A field of `age(later, earlier)`: years, months and days all have the sign of the difference."""
    if later is None or earlier is None or _far(later) or _far(earlier):
        return OPEN
    high = _most_of_age(part, floor(earlier.low), ceil(later.high))
    low = -_most_of_age(part, floor(later.low), ceil(earlier.high))
    return bounds(low, high, 1)


def _most_of_age(part: str, earlier: int, later: int) -> int:
    if later <= earlier:
        return 0
    if part == "year":
        return max(months_between(earlier, later), 0) // 12
    return 11 if part == "month" else 31


def shift_bounds(of: Range, months: int, days: int, microseconds: int) -> Bounds:
    """Months first, then days, then the rest; in microseconds. A later moment stays later."""
    if _far(of):
        return OPEN
    away = days * DAY + microseconds
    step = of.step
    if step is not None and months:
        step = common_divisor(step, Fraction(DAY))
    if step is not None and away:
        step = common_divisor(step, Fraction(abs(away)))
    first, last = floor(of.low // DAY), floor(of.high // DAY)
    low, high = months_later(first, months) * DAY + away, months_later(last, months) * DAY + away
    if not months or first == last:
        return bounds(low + of.low % DAY, high + of.high % DAY, step)
    # two days may become one, and the later of them may have the earlier time of day
    return bounds(low, high + DAY - 1, step)


def date_bounds(year: Range | None) -> Bounds:
    if year is None or abs(year.low) > _MOST_DAYS // 400 or abs(year.high) > _MOST_DAYS // 400:
        return OPEN
    # there is no year 0, so a year below it is one more away than it is written
    first, last = floor(year.low), ceil(year.high)
    return bounds(days_from(Civil(first - 1, 1, 1)), days_from(Civil(last, 12, 31)), 1)


def _far(of: Range) -> bool:
    return max(abs(of.low), abs(of.high)) > _MOST_DAYS * DAY
