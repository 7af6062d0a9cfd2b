"""Domains: the possible values of a column. The scan enforces them, so everything above relies on them.

INVARIANT: an interval is not empty and its step divides it, so its values can be counted and listed; the values
of a set differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from gateway.catalog.values import Value

Bound: TypeAlias = int | Fraction | date | datetime


@dataclass(frozen=True)
class Anything:
    """No declared domain: the column has no bound, and its groups are thresholded."""


@dataclass(frozen=True)
class Values:
    """A declared set of values, in the order of its declaration."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise ValueError("the values of a domain are at least one, and differ")

    @property
    def size(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __contains__(self, value: object) -> bool:
        return value in self.values


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included, in steps: numbers, days for dates, seconds for times."""

    low: Bound
    high: Bound
    step: Fraction

    def __post_init__(self) -> None:
        if type(self.low) is not type(self.high):
            raise TypeError("the bounds of an interval are of one type")
        if self.step <= 0 or self.width < 0 or self.width % self.step:
            raise ValueError("an interval is not reversed, and its step divides it")

    @cached_property
    def width(self) -> Fraction:
        return domain_width(self.low, self.high)

    @property
    def size(self) -> int:
        return int(self.width / self.step) + 1

    def __iter__(self) -> Iterator[Bound]:
        """All values from low to high; there may be very many."""
        low, high = self.low, self.high
        if self.step.denominator == 1:
            # days and whole numbers, of which there are thousands: fractions take twenty times as long
            pace = self.step.numerator
            if type(low) is int and type(high) is int:
                return iter(range(low, high + 1, pace))
            if type(low) is date and type(high) is date:
                days = range(low.toordinal(), high.toordinal() + 1, pace)
                return map(date.fromordinal, days)
        return (_after(self.low, place * self.step) for place in range(self.size))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | Fraction | date):
            return False
        if isinstance(self.low, int | Fraction) != isinstance(value, int | Fraction):
            return False
        if isinstance(self.low, datetime) != isinstance(value, datetime):
            return False
        from_low = domain_width(self.low, value)
        return 0 <= from_low <= self.width and not from_low % self.step


Domain: TypeAlias = Anything | Values | Interval


def domain_width(low: Bound, high: Bound) -> Fraction:
    """The distance between two values: a number, days, or seconds."""
    if isinstance(low, datetime) and isinstance(high, datetime):
        return Fraction((high - low) // timedelta(microseconds=1), 1_000_000)
    if isinstance(low, date) and isinstance(high, date):
        return Fraction((high - low).days)
    if isinstance(low, int | Fraction) and isinstance(high, int | Fraction):
        return Fraction(high) - Fraction(low)
    raise TypeError("these bounds cannot be compared")


def _after(low: Bound, steps: Fraction) -> Bound:
    if isinstance(low, datetime):
        return low + timedelta(microseconds=int(steps * 1_000_000))
    if isinstance(low, date):
        return low + timedelta(days=int(steps))
    after = low + steps
    return int(after) if isinstance(low, int) else after
