"""Bins of one length: where they begin, which there are, and which times a comparison of them holds for."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from laws import for_each

from gateway.catalog.types import ColumnType
from gateway.functions.calendar import DAY, instant_at, microseconds_of, moment_at
from gateway.functions.range_arithmetic import NOTHING, Range, range_bounds
from gateway.functions.table import FUNCTIONS
from gateway.functions.thresholds import Threshold
from gateway.functions.time_bins import bins_of, call_date_bin, is_in_calendar
from gateway.plan.fields import TIMESTAMP, TIMESTAMPTZ
from gateway.plan.scalars import Call, Literal
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.expressions import bounds_of
from gateway.regions.chosen_bounds import has_chosen_bounds

_ROW = FUNCTIONS["date_bin"]
_LENGTHS = (1, 420_000_000, 3_600_000_000, DAY, 7 * DAY, 30 * DAY + 7)
_ORIGINS = (0, -1, 86_399_999_999, 40 * 365 * DAY + 5)
_TIMES = (datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59), datetime(2024, 2, 29, 12, 0, 0, 1))  # noqa: DTZ001


def _bin(length: int, at: datetime, origin: int, kind: ColumnType = TIMESTAMP) -> Call:
    return call_date_bin(length, Literal(at, kind), origin)


def _value(call: Call) -> object:
    assert _ROW.evaluate is not None
    return _ROW.evaluate(call, [one.value for one in call.parts if isinstance(one, Literal)])


@for_each("length, origin", [(one, other) for one in _LENGTHS for other in _ORIGINS])
def test_bin_begins_a_whole_number_of_lengths_from_the_origin(length: int, origin: int) -> None:
    """At or before the time, less than a length away, before the origin too; NULL only before the calendar."""
    for at in _TIMES:
        call, here = _bin(length, at, origin), microseconds_of(at)
        found = _value(call)
        if found is None:
            assert at - _TIMES[0] < timedelta(microseconds=length)
            assert not is_in_calendar(
                call, range_bounds(Range(Fraction(here), Fraction(here), None))
            )
            continue
        assert isinstance(found, datetime)
        begins = microseconds_of(found)
        assert (begins - origin) % length == 0
        assert begins <= here < begins + length


@for_each("length, origin", [(one, other) for one in _LENGTHS for other in _ORIGINS])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_comparison_of_the_bin_is_one_of_the_time(operator: str, length: int, origin: int) -> None:
    """The time passes its threshold exactly where the bin passes the other, around a boundary and within a bin."""
    assert _ROW.monotone is not None
    tests = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
    bins = bins_of(_bin(length, _TIMES[2], origin))
    edge = bins.begin(microseconds_of(_TIMES[2]))
    for bound in (edge, edge + 1, edge + length // 2):
        solved = _ROW.monotone.solve(
            _bin(length, _TIMES[2], origin),
            Threshold(operator, Fraction(bound)),
            None,  # type: ignore[arg-type]
        )
        assert not isinstance(solved, bool)
        assert solved[0] == 1
        for at in (edge - 1, edge, edge + 1, edge + length - 1, edge + length, edge + 2 * length):
            passes = tests[operator](bins.begin(at), bound)
            mine = tests[solved[1].operator](at, int(solved[1].bound))
            assert mine is passes


def test_bins_between_two_times_are_listed() -> None:
    """Each once, from the one that holds the first to the one that holds the last; too many are not."""
    assert _ROW.time_part is not None
    call = _bin(7 * DAY, _TIMES[2], 4 * DAY)
    first, last = microseconds_of(datetime(2024, 1, 3)), microseconds_of(datetime(2024, 1, 15, 9))  # noqa: DTZ001
    low, high = (Fraction(bins_of(call).begin(one)) for one in (first, last))
    found = _ROW.time_part.values(call, Range(low, high, None), 3)
    assert found is not None
    assert [str(one) for one in found] == [f"2024-01-{day} 00:00:00" for day in ("01", "08", "15")]
    assert _ROW.time_part.values(call, Range(low, high, None), 2) is None


def test_range_of_a_bin_lies_in_the_calendar() -> None:
    """Bins that begin before it are none; a time of the last of these alone has no value."""
    call = _bin(100_000 * DAY, datetime(1, 5, 5), 0)  # noqa: DTZ001
    assert bounds_of(call, {}) is NOTHING
    call = _bin(100_000 * DAY, datetime(2020, 5, 5), 0)  # noqa: DTZ001
    assert bounds_of(call, {}).range is not None


@pytest.mark.parametrize("kind", [TIMESTAMP, TIMESTAMPTZ])
def test_origins_with_the_same_bins_make_one_expression(kind: ColumnType) -> None:
    """So that an answer is found again whichever origin a client writes."""
    at = (instant_at if kind == TIMESTAMPTZ else moment_at)(5)
    there = _bin(3 * DAY, at, 1)
    assert _bin(3 * DAY, at, 1 - 30 * DAY) == there
    assert _bin(3 * DAY, at, 2) != there
    assert has_chosen_bounds(scalar_sql(there))
