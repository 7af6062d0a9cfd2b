"""Exact formulas over all rows of a release at once: linear forms, quotients, variances, slopes, correlations.

Values are whole numbers over whole numbers, not in lowest terms. Everything that does not depend on the rows is
computed once per column, so a row costs a few operations on integers, where fractions would look for common
divisors again and again; only roots need lowest terms. A fraction over 0 has no value, and neither has a value
computed from it.

INVARIANT: a column holds exactly the numbers that `clamped` and `value` of the formula give, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from math import gcd, lcm
from operator import add
from typing import TypeAlias

from gateway.plan.formulas import (
    AggregateRef,
    Arithmetic,
    AtLeast,
    NumberForm,
    Over,
    Plus,
    Root,
    Times,
)
from gateway.sensitivity.formulas import CurveFormula, Linear, Quotient, square_root

Wholes = Sequence[int]


@dataclass(frozen=True, slots=True)
class Ratios:
    """`above[i] / below[i]`, or over one number for all rows; not in lowest terms."""

    above: Wholes
    below: Wholes | int

    def __iter__(self) -> "zip[tuple[int, int]]":
        below = self.below
        return zip(self.above, repeat(below) if isinstance(below, int) else below, strict=False)


def evaluate_ratios(
    measured: Sequence[Wholes], rows: int, formula: Linear | Quotient, *, clamp: bool = True
) -> Ratios:
    """The formula in each row; `clamp` moves values beyond the formula's own ends to them."""
    if isinstance(formula, Linear):
        return _linear(measured, rows, formula, clamp=clamp)
    found = _quotient(measured, rows, formula)
    return _between(found, formula.low, formula.high) if clamp else found


def evaluate_linear(measured: Sequence[Wholes], rows: int, linear: Linear, under: int) -> Wholes:
    """The linear form in each row, as multiples of `1 / under`; all of its weights are such multiples."""
    parts = [_times(measured[place], int(weight * under)) for place, weight in linear.weights]
    if not parts:
        return [0] * rows
    total, *others = parts
    for one in others:
        total = list(map(add, total, one))
    return total


def common_denominator(*linears: Linear) -> int:
    """A common denominator of all weights."""
    return lcm(*(weight.denominator for one in linears for _, weight in one.weights))


def _times(column: Wholes, weight: int) -> Wholes:
    return column if weight == 1 else [weight * one for one in column]


def _linear(measured: Sequence[Wholes], rows: int, linear: Linear, *, clamp: bool) -> Ratios:
    least = linear.least if clamp else None
    if least is None:
        under = common_denominator(linear)
        return Ratios(evaluate_linear(measured, rows, linear, under), under)
    under = lcm(common_denominator(linear), least.denominator)
    end = int(least * under)
    found = evaluate_linear(measured, rows, linear, under)
    return Ratios([end if one < end else one for one in found], under)  # noqa: FURB136 - twice as fast


def _quotient(measured: Sequence[Wholes], rows: int, quotient: Quotient) -> Ratios:
    """With a/d above, b/d below, the middle p/q and m = max(b, d): (q·a + p·(m - b)) / (q·m)."""
    under = common_denominator(quotient.above, quotient.below)
    above = evaluate_linear(measured, rows, quotient.above, under)
    below = evaluate_linear(measured, rows, quotient.below, under)
    if min(below, default=under) >= under:
        return Ratios(above, below)
    p, q = quotient.middle.numerator, quotient.middle.denominator
    most = [max(b, under) for b in below]
    return Ratios(
        [q * a + p * (m - b) for a, b, m in zip(above, below, most, strict=True)],
        _times(most, q),
    )


def _between(column: Ratios, low: Fraction, high: Fraction) -> Ratios:
    """Values beyond an end are moved to it; if the ends cross, `high` counts."""
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


Pair: TypeAlias = tuple[int, int]


def evaluate_curve(
    measured: Sequence[Wholes], rows: int, formula: CurveFormula, *, clamp: bool = True
) -> list[Pair | None]:
    """The formula in each row; None if it has no value."""
    column = _Columns(measured, rows, formula)
    found = column.of(formula.form)
    if clamp and formula.low is not None:
        found = _at_least(found, formula.low)
    if clamp and formula.high is not None:  # by its mirror image
        found = _negative(_at_least(_negative(found), -formula.high))
    return [
        pair if count >= formula.rows * under and pair[1] else None
        for pair, (count, under) in zip(found, column.of(AggregateRef(0)), strict=True)
    ]


class _Columns:
    """Columns of forms over one release, each computed once."""

    def __init__(self, measured: Sequence[Wholes], rows: int, formula: CurveFormula) -> None:
        self._measured = measured
        self._rows = rows
        self._parts = formula.parts
        self._made: dict[Arithmetic, Ratios] = {}

    def of(self, form: Arithmetic) -> Ratios:
        found = self._made.get(form)
        if found is None:
            found = self._made[form] = self._compute(form)
        return found

    def _compute(self, form: Arithmetic) -> Ratios:  # noqa: PLR0911 - one answer for each kind
        match form:
            case NumberForm(value):
                return Ratios([value.numerator] * self._rows, value.denominator)
            case AggregateRef(place):
                part = self._parts[place]
                under = common_denominator(part)
                return Ratios(evaluate_linear(self._measured, self._rows, part, under), under)
            case Root(of):
                return _root(self.of(of))
            case AtLeast(of, least):
                return _at_least(self.of(of), least)
            case Plus(one, other):
                return _plus(self.of(one), self.of(other))
            case Times(one, other):
                return _times_curves(self.of(one), self.of(other))
            case Over(one, other):
                return _over(self.of(one), self.of(other))


def _plus(one: Ratios, other: Ratios) -> Ratios:
    a, b, c, d = one.above, one.below, other.above, other.below
    if isinstance(b, int) and isinstance(d, int):
        shared = gcd(b, d)
        left, right = d // shared, b // shared
        return Ratios([x * left + y * right for x, y in zip(a, c, strict=True)], b * left)
    if isinstance(b, int):
        return _plus(other, one)
    if isinstance(d, int):
        above = [x * d + y * z for x, y, z in zip(a, b, c, strict=True)]
        return Ratios(above, b if d == 1 else [y * d for y in b])
    above = [x * w + y * z for x, y, z, w in zip(a, b, c, d, strict=True)]
    return Ratios(above, [y * w for y, w in zip(b, d, strict=True)])


def _times_curves(one: Ratios, other: Ratios) -> Ratios:
    above = [x * y for x, y in zip(one.above, other.above, strict=True)]
    return Ratios(above, _multiplied(one.below, other.below))


def _multiplied(one: Wholes | int, other: Wholes | int) -> Wholes | int:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if isinstance(one, int):
        one, other = other, one
    if isinstance(one, int):
        raise TypeError
    if isinstance(other, int):
        return one if other == 1 else [x * other for x in one]
    return [x * y for x, y in zip(one, other, strict=True)]


def _over(one: Ratios, other: Ratios) -> Ratios:
    """The quotient; none over 0, and none if an operand has no value."""
    b, d = one.below, other.below
    if isinstance(b, int) and isinstance(d, int):
        shared = gcd(b, d)
        b, d = b // shared, d // shared
    above = [
        (x * w if z > 0 else -x * w) if z and w else 1
        for x, z, w in zip(one.above, other.above, _each(d), strict=False)
    ]
    below = [
        abs(z) * y if w else 0 for z, y, w in zip(other.above, _each(b), _each(d), strict=False)
    ]
    return Ratios(above, below)


def _at_least(column: Ratios, least: Fraction) -> Ratios:
    p, q = least.numerator, least.denominator
    below = column.below
    if isinstance(below, int) and below % q == 0:
        end = p * (below // q)
        return Ratios([end if x < end else x for x in column.above], below)  # noqa: FURB136 - faster
    # a fraction over 0 still has no value
    pairs = [(p, q) if y and x * q < p * y else (x, y) for x, y in column]
    return Ratios([x for x, _ in pairs], [y for _, y in pairs])


def _negative(column: Ratios) -> Ratios:
    return Ratios([-x for x in column.above], column.below)


def _root(column: Ratios) -> Ratios:
    roots = [square_root(Fraction(x, y)) if y else None for x, y in column]
    return Ratios(
        [1 if one is None else one.numerator for one in roots],
        [0 if one is None else one.denominator for one in roots],
    )


def _each(below: Wholes | int) -> "Wholes | repeat[int]":
    return repeat(below) if isinstance(below, int) else below
