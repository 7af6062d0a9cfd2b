"""Ranges of what is made of dates and times, against Python's own calendar."""

import calendar
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws

from gateway.functions import calendar as days
from gateway.functions import time_ranges as moments
from gateway.functions.calendar import DAY
from gateway.functions.range_arithmetic import Range

_dates = st.dates(date(1600, 1, 1), date(2400, 12, 31))
_times = st.datetimes(datetime(1600, 1, 1), datetime(2400, 12, 31))  # noqa: DTZ001 - without a zone
_LAWS = settings(max_examples=draws(300), deadline=None, derandomize=True)


def _range(*ends: datetime) -> Range:
    places = sorted(Fraction(days.microseconds_of(one)) for one in ends)
    return Range(places[0], places[-1], Fraction(1))


@_LAWS
@given(_dates)
def test_calendar_is_the_one_python_has(day: date) -> None:
    """Days turn into years, months and days and back as everywhere."""
    number = days.days_of(day)
    assert days.civil_date(number) == (day.year, day.month, day.day)
    assert days.days_from(days.Civil(day.year, day.month, day.day)) == number
    assert days.days_in_month(day.year, day.month) == calendar.monthrange(day.year, day.month)[1]
    assert days.weekday(number) == day.weekday()
    assert days.iso_year(number) == day.isocalendar().year


@_LAWS
@given(_dates, st.integers(-25_000, 25_000))
def test_calendar_repeats_itself_every_400_years(day: date, cycles: int) -> None:
    """Before Christ and behind the year 9999 too: the days of numpy's calendar, which counts on."""
    number = days.days_of(day) + cycles * 146_097
    there = days.civil_date(number)
    assert there == (day.year + cycles * 400, day.month, day.day)
    assert days.days_from(there) == number
    assert days.civil_date(number - 1) < there < days.civil_date(number + 1)
    month = np.datetime64(number, "D").astype("datetime64[M]")
    assert (there.year - 1970) * 12 + there.month - 1 == month.astype(int)
    assert number - month.astype("datetime64[D]").astype(int) == there.day - 1


_FIELDS: dict[str, Callable[[datetime], int | Fraction]] = {
    "year": lambda t: t.year,
    "quarter": lambda t: (t.month + 2) // 3,
    "month": lambda t: t.month,
    "week": lambda t: t.isocalendar().week,
    "day": lambda t: t.day,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: Fraction(t.second) + Fraction(t.microsecond, 1_000_000),
    "dow": lambda t: t.isoweekday() % 7,
    "isodow": lambda t: t.isoweekday(),
    "doy": lambda t: t.timetuple().tm_yday,
    "isoyear": lambda t: t.isocalendar().year,
    "decade": lambda t: t.year // 10,
    "century": lambda t: (t.year + 99) // 100,
}


@_LAWS
@given(st.sampled_from(sorted(_FIELDS)), _times, _times, st.floats(0, 1))
def test_field_of_a_time_is_in_its_range(
    part: str, one: datetime, other: datetime, where: float
) -> None:
    """Every field of every time between two is in the range of the field."""
    first, last = sorted((one, other))
    inside = first + (last - first) * where
    found = moments.part_of(part, _range(first, last)).range
    assert found is not None
    assert found.low <= _FIELDS[part](inside) <= found.high
    if part in {"year", "isoyear", "decade", "century"}:
        assert found.low == _FIELDS[part](first)
        assert found.high == _FIELDS[part](last)


_intervals = st.tuples(st.integers(-40, 40), st.integers(-40, 40), st.integers(-DAY, DAY))


@_LAWS
@given(_times, _times, st.floats(0, 1), _intervals)
def test_moved_time_is_in_its_range(
    one: datetime, other: datetime, where: float, by: tuple[int, int, int]
) -> None:
    """Months first, the last day of a month where the day is missing, then the rest."""
    months, by_days, microseconds = by
    first, last = sorted((one, other))
    inside = first + (last - first) * where
    place = inside.year * 12 + inside.month - 1 + months
    year, month = place // 12, place % 12 + 1
    day = min(inside.day, calendar.monthrange(year, month)[1])
    moved = inside.replace(year=year, month=month, day=day)
    moved += timedelta(days=by_days, microseconds=microseconds)
    found = moments.shift_bounds(_range(first, last), months, by_days, microseconds).range
    assert found is not None
    assert found.low <= days.microseconds_of(moved) <= found.high


@_LAWS
@given(
    st.sampled_from(["year", "quarter", "month", "week", "day", "hour", "minute", "second"]),
    _times,
    _times,
)
def test_beginnings_are_in_order_and_on_their_step(
    part: str, one: datetime, other: datetime
) -> None:
    """The beginning of a period is not after what it begins, and all of them can be listed."""
    first, last = sorted((one, other))
    found = moments.period_start_bounds(part, _range(first, last)).range
    assert found is not None
    assert found.step is not None
    assert found.low % found.step == 0
    assert found.low <= days.microseconds_of(first)
    assert found.high <= days.microseconds_of(last)
    listed = days.period_starts(part, int(found.low), int(found.high), 20_000)
    if listed is not None:
        assert listed[0] == found.low
        assert listed[-1] == found.high
        assert listed == sorted(set(listed))


@pytest.mark.parametrize(
    ("part", "low", "high"), [("year", 22, 24), ("month", 0, 11), ("day", 0, 31)]
)
def test_age_has_the_sign_and_the_length_of_the_difference(part: str, low: int, high: int) -> None:
    """From births in 2000 and 2001 to January 2024 it is 22 to 24 years."""
    births = _range(datetime(2000, 1, 1), datetime(2001, 12, 31))  # noqa: DTZ001 - without a zone
    now = _range(datetime(2024, 1, 1), datetime(2024, 1, 31))  # noqa: DTZ001 - without a zone
    found = moments.age_bounds(part, now, births).range
    assert found is not None
    assert 0 <= found.low <= low
    assert found.high == high


def test_field_of_a_time_without_bounds_is_bounded_where_it_turns_around() -> None:
    """Months go from 1 to 12 whatever the date; years do not end."""
    assert moments.part_of("month", None).range == Range(Fraction(1), Fraction(12), Fraction(1))
    assert moments.part_of("year", None).range is None


def test_made_dates_lie_in_the_years_they_are_made_for() -> None:
    """`make_date` of a year from 2000 to 2001 is not outside of them by more than the missing year 0."""
    found = moments.date_bounds(Range(Fraction(2000), Fraction(2001), Fraction(1))).range
    assert found is not None
    assert found.low <= days.days_of(date(2000, 1, 1))
    assert found.high == days.days_of(date(2001, 12, 31))
