"""Digits: rounded intervals contain the unrounded ones, and no end moves far; numbers for people are short."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws import for_each

from gateway.columnar.intervals import Interval, IntervalEnds
from gateway.intervals.digits import end_texts, margin_text, round_outward, value_text

_FLOATS = st.floats(-1e18, 1e18, allow_nan=False)


def _rounded(low: float, high: float) -> Interval:
    [found] = round_outward(IntervalEnds.of([(low, high)]))
    return found


@given(_FLOATS, st.floats(0, 1e18))
@example(0.1 + 0.2, 1e-3)
@example(-0.3, 0.6)
@example(1e15, 1e-3)
@example(5e-324, 0.0)
def test_rounded_interval_contains_the_interval_and_is_hardly_wider(
    low: float, width: float
) -> None:
    """By a thousandth of the margin at each end, at most; errors of floats apart."""
    high = low + width
    found = _rounded(low, high)
    assert found is not None
    assert found[0] <= low <= high <= found[1]
    most = Fraction(high - low) / 2000 + Fraction(max(abs(low), abs(high), 1e-300)) / 2**50
    assert Fraction(low) - Fraction(found[0]) <= most
    assert Fraction(found[1]) - Fraction(high) <= most


@given(st.integers(-(2**53), 2**53), st.integers(0, 2**40))
def test_whole_ends_stay_as_they_are(value: int, margin: int) -> None:
    """So the interval of a count lies evenly around it, however wide it is."""
    ends = float(value - margin), float(value + margin)
    assert _rounded(*ends) == ends


@for_each(
    "case",
    [
        ((51203.127364, 53621.98726), (51203.0, 53622.0)),
        ((12.34567, 14.56789), (12.345, 14.568)),
        ((0.0012345, 0.0098765), (0.001234, 0.009877)),
        ((-1.23456, 1.23456), (-1.235, 1.235)),
        ((7.0, 7.0), (7.0, 7.0)),
        ((0.123456789, 0.123456789), (0.123456789, 0.123456789)),
    ],
)
def test_ends_have_three_digits_behind_the_first_of_the_margin(
    case: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """Decimals alone go; an interval of no width has nothing to round."""
    given_ends, expected = case
    assert _rounded(*given_ends) == expected


def test_rows_without_an_interval_have_none_afterwards() -> None:
    """Whatever their arrays have in the place of it."""
    column = IntervalEnds(
        np.array([nan, 1.23456, -inf]),
        np.array([nan, 4.56789, inf]),
        np.array([False, True, False]),
    )
    assert list(round_outward(column)) == [None, (1.234, 4.568), None]
    assert len(round_outward(IntervalEnds.none(0))) == 0


@for_each(
    "case",
    [
        (60.0, "60"),
        (1234.5, "1240"),
        (0.123456, "0.124"),
        (99.95, "100"),
        (0.1 + 0.2, "0.3"),
        (1e-7, "0.0000001"),
        (2.5e20, "250000000000000000000"),
        (0.0, "0"),
        (inf, "Infinity"),
    ],
)
def test_margin_has_three_digits_and_is_not_too_small(case: tuple[float, str]) -> None:
    """Rounded up; what errors of floats add does not count."""
    margin, expected = case
    assert margin_text(margin) == expected


@for_each(
    "case",
    [
        ((52413.4928371645, 1240.0), "52413"),
        ((1719.7604, 17.3), "1719.8"),
        ((0.123456789, 0.0123), "0.1235"),
        ((36.5, 0.5), "36.5"),
        ((-0.0001, 20.0), "0"),
        ((4812, 1234.0), "4812"),
        ((2**60, 1e12), str(2**60)),
        ((0.1234567, 0.0), "0.1234567"),
        ((0.1234567, inf), "0.1234567"),
    ],
)
def test_value_has_no_decimals_far_below_its_margin(case: tuple[tuple[float, float], str]) -> None:
    """Whole numbers keep all digits, and so does a value without a margin."""
    (value, margin), expected = case
    assert value_text(value, margin) == expected


@for_each(
    "case",
    [
        ((3578.0, 6046.0), ("3570", "6050")),
        ((-0.4, 10.26), ("-0.4", "10.26")),
        ((0.0, 1.0), ("0", "1")),
        ((7.25, 7.25), ("7.25", "7.25")),
    ],
)
def test_ends_for_people_are_rounded_outward(
    case: tuple[tuple[float, float], tuple[str, str]],
) -> None:
    """With the digits of the margin, before the point too."""
    (low, high), expected = case
    assert end_texts(low, high) == expected


@given(_FLOATS, st.floats(0, 1e18))
def test_ends_for_people_contain_the_interval(low: float, width: float) -> None:
    """As exact numbers."""
    high = low + width
    below, above = map(Fraction, end_texts(low, high))
    if high > low:
        assert below <= Fraction(low)
        assert above >= Fraction(high)
    else:
        assert below == above == pytest.approx(low, rel=1e-14)
