"""Formulas over all rows of a release at once, exactly: whole numbers over whole numbers above 0.

What a formula needs beside the rows is computed once for a column. A row then costs a few operations on
integers, where one on fractions would look for common divisors again and again.

INVARIANT: a column holds the very numbers that `clamped` and `value` of the formula give, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from math import lcm
from operator import add

from gateway.sensitivity.formula import Linear, Quotient

Wholes = Sequence[int]


@dataclass(frozen=True, slots=True)
class Ratios:
    """`above[i] / below[i]`, or over one number for all rows; not in lowest terms."""

    above: Wholes
    below: Wholes | int

    def __iter__(self) -> "zip[tuple[int, int]]":
        below = self.below
        return zip(self.above, repeat(below) if isinstance(below, int) else below, strict=False)


def ratios(
    measured: Sequence[Wholes], rows: int, formula: Linear | Quotient, *, clamp: bool = True
) -> Ratios:
    """The formula in each of so many rows; `clamp` moves what is beyond the formula's own ends to them."""
    if isinstance(formula, Linear):
        return _linear(measured, rows, formula, clamp=clamp)
    found = _quotient(measured, rows, formula)
    return _between(found, formula.low, formula.high) if clamp else found


def weighted(measured: Sequence[Wholes], rows: int, linear: Linear, under: int) -> Wholes:
    """The linear form in each row, as multiples of `1 / under`, which all of its weights are."""
    parts = [_times(measured[place], int(weight * under)) for place, weight in linear.weights]
    if not parts:
        return [0] * rows
    total, *others = parts
    for one in others:
        total = list(map(add, total, one))
    return total


def common(*linears: Linear) -> int:
    """A number of whose inverse all weights are multiples."""
    return lcm(*(weight.denominator for one in linears for _, weight in one.weights))


def _times(column: Wholes, weight: int) -> Wholes:
    return column if weight == 1 else [weight * one for one in column]


def _linear(measured: Sequence[Wholes], rows: int, linear: Linear, *, clamp: bool) -> Ratios:
    least = linear.least if clamp else None
    if least is None:
        under = common(linear)
        return Ratios(weighted(measured, rows, linear, under), under)
    under = lcm(common(linear), least.denominator)
    end = int(least * under)
    found = weighted(measured, rows, linear, under)
    return Ratios([end if one < end else one for one in found], under)  # noqa: FURB136 - twice as fast


def _quotient(measured: Sequence[Wholes], rows: int, quotient: Quotient) -> Ratios:
    """With a/d above, b/d below, the middle p/q and m = max(b, d): (q·a + p·(m - b)) / (q·m)."""
    under = common(quotient.above, quotient.below)
    above = weighted(measured, rows, quotient.above, under)
    below = weighted(measured, rows, quotient.below, under)
    if min(below, default=under) >= under:
        return Ratios(above, below)
    p, q = quotient.middle.numerator, quotient.middle.denominator
    most = [max(b, under) for b in below]
    return Ratios(
        [q * a + p * (m - b) for a, b, m in zip(above, below, most, strict=True)],
        _times(most, q),
    )


def _between(column: Ratios, low: Fraction, high: Fraction) -> Ratios:
    """What is beyond an end is moved to it; where the ends cross, `high` counts."""
    low = min(low, high)
    first, of_first = low.numerator, low.denominator
    last, of_last = high.numerator, high.denominator
    inside = [
        (last, of_last)
        if above * of_last > last * below
        else (first, of_first)
        if above * of_first < first * below
        else (above, below)
        for above, below in column
    ]
    return Ratios([above for above, _ in inside], [below for _, below in inside])
