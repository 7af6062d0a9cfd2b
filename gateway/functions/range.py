"""Between which numbers the values of an expression lie, and on which step.

Numbers are as they are, dates days since 1970-01-01, timestamps microseconds since 1970-01-01 00:00. NULL is
never among the values: a range speaks of the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Final

LARGEST: Final = Fraction(10**300)
"""Beyond this nothing counts as bounded: a double would overflow soon, and our own fractions would grow."""
_LONGEST_FRACTION: Final = 2**256
_LONGEST_STEP: Final = 2**128


@dataclass(frozen=True, slots=True)
class Range:
    """Every value is from `low` to `high`, and a whole multiple of `step`; None: no step is known."""

    low: Fraction
    high: Fraction
    step: Fraction | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range that may be open: `None` where nothing bounds the values."""

    low: Fraction | None
    high: Fraction | None
    step: Fraction | None = None

    @property
    def range(self) -> Range | None:
        """The range, when both ends are there."""
        if self.low is None or self.high is None:
            return None
        return Range(self.low, self.high, self.step)

    @property
    def zero(self) -> bool:
        return self.low == 0 == self.high


OPEN: Final = Bounds(None, None)
NOTHING: Final = Bounds(Fraction(0), Fraction(0), Fraction(1))
"""Of an expression that is always NULL: anything is true of its values."""


def bounds(low: Fraction | int, high: Fraction | int, step: Fraction | int | None = None) -> Bounds:
    """Closed bounds, with fractions that stay short: ends are rounded outwards where they are long."""
    first, last = Fraction(low), Fraction(high)
    if first < -LARGEST or last > LARGEST:
        return OPEN
    pace = None if step is None else Fraction(step)
    if pace is not None and max(pace.numerator, pace.denominator) > _LONGEST_STEP:
        pace = None
    return Bounds(_down(first), _up(last), pace)


def range_bounds(range_: Range) -> Bounds:
    return bounds(range_.low, range_.high, range_.step)


def constant_bounds(value: Fraction | int) -> Bounds:
    """Of one number: it is a multiple of itself."""
    return bounds(value, value, abs(Fraction(value)) or 1)


def _down(value: Fraction) -> Fraction:
    if value.denominator <= _LONGEST_FRACTION:
        return value
    return Fraction(value.numerator * _LONGEST_FRACTION // value.denominator, _LONGEST_FRACTION)


def _up(value: Fraction) -> Fraction:
    return -_down(-value)


def common_step(*all_: Bounds) -> Fraction | None:
    """The largest number of which the steps are whole multiples; zero is a multiple of everything."""
    step: Fraction | None = None
    for one in all_:
        if one.zero:
            continue
        if one.step is None:
            return None
        step = one.step if step is None else common_divisor(step, one.step)
    return Fraction(1) if step is None else step


def common_divisor(one: Fraction, other: Fraction) -> Fraction:
    return Fraction(gcd(one.numerator, other.numerator), lcm(one.denominator, other.denominator))


def hull_bounds(all_: Iterable[Bounds]) -> Bounds:
    """What is true of a value that is one of these."""
    given = list(all_)
    if not given:
        return NOTHING
    lows, highs = [one.low for one in given], [one.high for one in given]
    low = None if None in lows else min(one for one in lows if one is not None)
    high = None if None in highs else max(one for one in highs if one is not None)
    return Bounds(low, high, common_step(*given))


def meet_bounds(one: Bounds, other: Bounds) -> Bounds:
    """What is true of a value of which both are true; `one` where they contradict each other."""
    low = max((end for end in (one.low, other.low) if end is not None), default=None)
    high = min((end for end in (one.high, other.high) if end is not None), default=None)
    if low is not None and high is not None and low > high:
        return one
    return Bounds(low, high, one.step if one.step is not None else other.step)
