"""Domains can be counted, listed and asked."""

from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.domains import Interval, Values


@pytest.mark.parametrize(
    ("interval", "size", "first", "outside"),
    [
        (
            Interval(1920, 2020, Fraction(1)),
            101,
            [1920, 1921],
            [1919, 2021, Fraction(3841, 2), "1920"],
        ),
        (Interval(0, 10, Fraction(5)), 3, [0, 5, 10], [1, -5, 15, True]),
        (
            Interval(Fraction(0), Fraction(1), Fraction(1, 4)),
            5,
            [Fraction(0), Fraction(1, 4)],
            [Fraction(1, 3), Fraction(5, 4)],
        ),
        (
            Interval(date(2024, 2, 28), date(2024, 3, 1), Fraction(1)),
            3,
            [date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)],
            [date(2024, 3, 2), 5, datetime(2024, 2, 28)],  # noqa: DTZ001  # the type has no zone
        ),
        (
            Interval(datetime(2024, 1, 1), datetime(2024, 1, 2), Fraction(3600)),  # noqa: DTZ001  # see above
            25,
            [datetime(2024, 1, 1), datetime(2024, 1, 1, 1)],  # noqa: DTZ001  # see above
            [datetime(2024, 1, 1, 0, 30), date(2024, 1, 1)],  # noqa: DTZ001  # see above
        ),
    ],
)
def test_interval_knows_its_values(
    interval: Interval, size: int, first: list[object], outside: list[object]
) -> None:
    """How many there are, which, and what is none of them."""
    assert interval.size == size
    assert list(islice(interval, len(first))) == first
    assert all(value in interval for value in islice(interval, 100))
    assert not any(value in interval for value in outside)


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(2, 1, 1), (0, 10, 3), (0, 10, 0), (0, 10, -1), (0, 1, Fraction(2, 3))],
)
def test_interval_that_cannot_be_is_a_bug(low: int, high: int, step: int | Fraction) -> None:
    """Reversed bounds and steps that do not divide are found when it is made."""
    with pytest.raises(ValueError, match="interval"):
        Interval(low, high, Fraction(step))


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7))
def test_interval_lists_as_many_values_as_it_counts(low: int, steps: int, step: int) -> None:
    """And ends with its upper bound."""
    interval = Interval(low, low + steps * step, Fraction(step))
    values = list(interval)
    assert len(values) == interval.size == steps + 1
    assert (values[0], values[-1]) == (interval.low, interval.high)


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7))
def test_interval_lists_days_numbers_and_fractions_in_the_same_steps(
    low: int, steps: int, step: int
) -> None:
    """Days and whole numbers are counted, and fractions added up: the same places of the same width."""
    places = [low + place * step for place in range(steps + 1)]
    whole = Interval(low, places[-1], Fraction(step))
    exact = Interval(Fraction(low), Fraction(places[-1]), Fraction(step))
    first, last = (date(2026, 1, 1) + timedelta(days=one) for one in (low, places[-1]))
    days = Interval(first, last, Fraction(step))
    assert list(whole) == list(exact) == places
    assert [type(one) for one in whole] == [int] * len(places)
    assert [(one - date(2026, 1, 1)).days for one in days if isinstance(one, date)] == places


def test_set_has_each_value_once() -> None:
    """In the order it was declared."""
    assert list(Values(("b", "a"))) == ["b", "a"]
    assert Values(("b", "a")).size == 2
    for wrong in ((), ("a", "a")):
        with pytest.raises(ValueError, match="differ"):
            Values(wrong)
