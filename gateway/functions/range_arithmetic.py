"""Ranges: between which numbers the values of an expression lie and on which step, through arithmetic and numeric
functions.

Numbers are as they are, dates days since 1970-01-01, timestamps microseconds since 1970-01-01 00:00. NULL is never
among the values: a range speaks of the others.

INVARIANT: for all values within the bounds of the operands on which PostgreSQL, DuckDB and exact arithmetic give a
number, that number is within the bounds of the result, but for the last digit of a float. What raises in a
database (division by zero, roots of negatives, overflow) is NULL and needs no place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, gcd, isqrt, lcm, log, log10, trunc
from typing import Final

_LARGEST_WHOLE: Final = 10**300
LARGEST: Final = Fraction(_LARGEST_WHOLE)
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
    first, last = _fraction(low), _fraction(high)
    # whole numbers are compared: fractions take ten times as long, and every statement makes thousands of ranges
    if first.numerator < -_LARGEST_WHOLE * first.denominator:
        return OPEN
    if last.numerator > _LARGEST_WHOLE * last.denominator:
        return OPEN
    pace = None if step is None else _fraction(step)
    if pace is not None and max(pace.numerator, pace.denominator) > _LONGEST_STEP:
        pace = None
    return Bounds(_down(first), _up(last), pace)


def range_bounds(range_: Range) -> Bounds:
    return bounds(range_.low, range_.high, range_.step)


def constant_bounds(value: Fraction | int) -> Bounds:
    """Of one number: it is a multiple of itself."""
    exact = _fraction(value)
    return bounds(exact, exact, exact if exact.numerator > 0 else -exact or 1)


def _fraction(value: Fraction | int) -> Fraction:
    return value if type(value) is Fraction else Fraction(value)


def _down(value: Fraction) -> Fraction:
    if value.denominator <= _LONGEST_FRACTION:
        return value
    return Fraction(value.numerator * _LONGEST_FRACTION // value.denominator, _LONGEST_FRACTION)


def _up(value: Fraction) -> Fraction:
    if value.denominator <= _LONGEST_FRACTION:
        return value
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


_HALF = Fraction(1, 2)
_SLACK = Fraction(1, 10**9)
_LARGEST_EXPONENT = 690
_MOST_BITS = 1_100
_MOST_PLACES = 60
_ISQRT_SCALE = 10**12
MOST_BUCKETS = 2**31 - 2
"""Of more buckets `width_bucket` is NULL: PostgreSQL has no number for the one above."""


def negate(x: Range) -> Bounds:
    return bounds(-x.high, -x.low, x.step)


def add(x: Range, y: Range) -> Bounds:
    return bounds(x.low + y.low, x.high + y.high, common_step(_as(x), _as(y)))


def multiply(x: Range, y: Range) -> Bounds:
    ends = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    step = None if x.step is None or y.step is None else x.step * y.step
    return bounds(min(ends), max(ends), step)


def divide(x: Range, y: Range, grain: Fraction | None, *, whole: bool) -> Bounds:
    """`grain`: how near to zero `y` can come without being zero; None: as near as it likes.

    `whole`: the operands are whole numbers, and PostgreSQL cuts the quotient off towards zero.
    """
    parts = split_at_zero(y, grain)
    if parts is None:
        return OPEN
    ends = [a / b for a in (x.low, x.high) for part in parts for b in part]
    if not ends:
        return NOTHING
    if whole:
        return bounds(trunc(min(ends)), trunc(max(ends)), 1)
    step = None
    if x.step is not None and y.low == y.high:
        step = x.step / abs(y.low)
    return bounds(min(ends), max(ends), step)


def split_at_zero(y: Range, grain: Fraction | None) -> list[tuple[Fraction, Fraction]] | None:
    """The values but zero, as up to two intervals that do not touch it; None when they do."""
    if y.low > 0 or y.high < 0:
        return [(y.low, y.high)]
    if y.low == 0 == y.high:
        return []
    if grain is None:
        return None
    parts = []
    if y.low <= -grain:
        parts.append((y.low, -grain))
    if y.high >= grain:
        parts.append((grain, y.high))
    return parts


def remainder(x: Range, y: Range, *, whole: bool) -> Bounds:
    """As PostgreSQL's: it has the sign of `x` and is smaller than `y`."""
    most = max(abs(y.low), abs(y.high))
    if whole:
        most = max(Fraction(floor(most)) - 1, Fraction(0))
    low = max(x.low, -most) if x.low < 0 else Fraction(0)
    high = min(x.high, most) if x.high > 0 else Fraction(0)
    return bounds(low, high, common_step(_as(x), _as(y)))


def power(x: Range, y: Range, grain: Fraction | None) -> Bounds:
    if y.low == y.high and y.low.denominator == 1:
        return _whole_power(x, int(y.low), grain)
    # the size is largest at an end; whatever it is between is smaller
    most = Fraction(1)
    size = max(abs(x.low), abs(x.high))
    if y.high > 0:
        if (reached := _raised(size, ceil(y.high))) is None:
            return OPEN
        most = max(most, reached)
    if y.low < 0:
        parts = split_at_zero(x, grain)
        if parts is None:
            return OPEN
        least = min((abs(end) for part in parts for end in part), default=Fraction(1))
        if (reached := _raised(1 / least, ceil(-y.low))) is None:
            return OPEN
        most = max(most, reached)
    return bounds(-most if x.low < 0 else 0, most)


def _whole_power(x: Range, n: int, grain: Fraction | None) -> Bounds:
    if n < 0:
        positive = _whole_power(x, -n, grain).range
        if positive is None or split_at_zero(x, grain) is None:
            return OPEN
        least = None if grain is None else _raised(grain, -n)
        # of a base of both signs and an odd exponent the powers have both signs too
        return divide(Range(Fraction(1), Fraction(1), None), positive, least, whole=False)
    low, high = _raised(x.low, n), _raised(x.high, n)
    if low is None or high is None:
        return OPEN
    ends = [low, high]
    if n > 0 and n % 2 == 0 and x.low < 0 < x.high:
        ends.append(Fraction(0))
    if n == 0:
        return bounds(1, 1, 1)
    return bounds(min(ends), max(ends), None if x.step is None else _raised(x.step, n))


def _raised(base: Fraction, n: int) -> Fraction | None:
    """The power, unless it is a number nobody wants to write down."""
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if base in {0, 1, -1}:
        return base**n if n < _MOST_BITS or base != -1 else Fraction(1 if n % 2 == 0 else -1)
    return base**n if bits * n <= _MOST_BITS else None


def absolute(x: Range) -> Bounds:
    if x.low >= 0:
        return bounds(x.low, x.high, x.step)
    return bounds(max(-x.high, Fraction(0)), max(-x.low, x.high), x.step)


def sign(x: Range) -> Bounds:
    return bounds((x.low > 0) - (x.low < 0), (x.high > 0) - (x.high < 0), 1)


def floor_range(x: Range) -> Bounds:
    return bounds(floor(x.low), floor(x.high), _whole_step(x))


def ceiling_range(x: Range) -> Bounds:
    return bounds(ceil(x.low), ceil(x.high), _whole_step(x))


def rounding(x: Range, places: int) -> Bounds:
    """To the nearest multiple; of two that are as near, databases take either."""
    if places > _MOST_PLACES:
        return bounds(x.low - 1, x.high + 1)
    if places < -_MOST_PLACES and max(abs(x.low), abs(x.high)) < 10 ** (_MOST_PLACES - 1):
        return bounds(0, 0, 1)
    if abs(places) > _MOST_PLACES:
        return OPEN
    unit = Fraction(10) ** -places
    if x.step is not None and x.step % unit == 0:
        return bounds(x.low, x.high, x.step)
    return bounds(ceil(x.low / unit - _HALF) * unit, floor(x.high / unit + _HALF) * unit, unit)


def truncation(x: Range, places: int) -> Bounds:
    """Towards zero."""
    if abs(places) > _MOST_PLACES:
        return bounds(min(x.low, Fraction(0)), max(x.high, Fraction(0)))
    unit = Fraction(10) ** -places
    if x.step is not None and x.step % unit == 0:
        return bounds(x.low, x.high, x.step)
    return bounds(trunc(x.low / unit) * unit, trunc(x.high / unit) * unit, unit)


def _whole_step(x: Range) -> Fraction:
    return x.step if x.step is not None and x.step.denominator == 1 else Fraction(1)


def root_range(x: Range) -> Bounds:
    if x.high < 0:
        return NOTHING
    low = _root_below(max(x.low, Fraction(0)))
    return bounds(low, _root_below(x.high) * (1 + _SLACK) + _SLACK)


def _root_below(value: Fraction) -> Fraction:
    return Fraction(isqrt(floor(value * _ISQRT_SCALE**2)), _ISQRT_SCALE)


def logarithm(x: Range, grain: Fraction | None, *, ten: bool) -> Bounds:
    """Of positive numbers; what can come as near to zero as it likes has a logarithm without a bound."""
    if x.high <= 0:
        return NOTHING
    least = x.low if x.low > 0 else grain
    if least is None:
        return OPEN
    return bounds(_log(min(least, x.high), ten=ten) - _SLACK, _log(x.high, ten=ten) + _SLACK)


def _log(value: Fraction, *, ten: bool) -> Fraction:
    of = log10 if ten else log
    return Fraction(of(value.numerator) - of(value.denominator))


def exponential(x: Range) -> Bounds:
    if x.high > _LARGEST_EXPONENT:
        return OPEN
    low = max(x.low, Fraction(-_LARGEST_EXPONENT))
    below = Fraction(exp(low)) * (1 - _SLACK) - _SLACK
    above = Fraction(exp(max(x.high, low))) * (1 + _SLACK) + _SLACK
    return bounds(max(below, Fraction(0)), above)


def bucket(x: Range, low: Range, high: Range, count: Range) -> Bounds:
    """`width_bucket` of constants: from 0 for what is below to one more than there are buckets."""
    buckets = floor(count.high)
    if low.low != low.high or high.low != high.high or count.low != count.high:
        return OPEN
    if not 1 <= buckets <= MOST_BUCKETS or low.low == high.low:
        return NOTHING
    # the buckets may be counted from the upper end down
    width = (high.low - low.low) / buckets
    ends = [floor((end - low.low) / width) + 1 for end in (x.low, x.high)]
    slack = 0 if width > 0 else 1
    least, most = min(ends) - slack, max(ends) + slack
    return bounds(min(max(least, 0), buckets + 1), min(max(most, 0), buckets + 1), 1)


def _as(x: Range) -> Bounds:
    return Bounds(x.low, x.high, x.step)
