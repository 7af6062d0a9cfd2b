"""Variances, slopes, correlations over all rows of a release at once, exactly.

A row is a whole number over a whole number, not in lowest terms; over 0 it has no value, and neither has what is
computed from it. Looking for common divisors at every step would take most of the time, so it is done for roots alone.

INVARIANT: a column holds the very numbers that `Curved.clamped` and `Curved.value` give, row by row.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat
from math import gcd
from typing import TypeAlias

from gateway.noise.ratios import Ratios, Wholes, common, weighted
from gateway.plan.forms import Arithmetic, AtLeast, Measured, Number, Over, Plus, Root, Times
from gateway.sensitivity.curved import Curved, root

Pair: TypeAlias = tuple[int, int]


def curve(
    measured: Sequence[Wholes], rows: int, formula: Curved, *, clamp: bool = True
) -> list[Pair | None]:
    """The formula in each of so many rows; None where it has no value."""
    column = _Columns(measured, rows, formula)
    found = column.of(formula.form)
    if clamp and formula.low is not None:
        found = _at_least(found, formula.low)
    if clamp and formula.high is not None:  # by its mirror image
        found = _negative(_at_least(_negative(found), -formula.high))
    return [
        pair if count >= formula.rows * under and pair[1] else None
        for pair, (count, under) in zip(found, column.of(Measured(0)), strict=True)
    ]


class _Columns:
    """Columns of forms over one release, each computed once."""

    def __init__(self, measured: Sequence[Wholes], rows: int, formula: Curved) -> None:
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
            case Number(value):
                return Ratios([value.numerator] * self._rows, value.denominator)
            case Measured(place):
                part = self._parts[place]
                under = common(part)
                return Ratios(weighted(self._measured, self._rows, part, under), under)
            case Root(of):
                return _root(self.of(of))
            case AtLeast(of, least):
                return _at_least(self.of(of), least)
            case Plus(one, other):
                return _plus(self.of(one), self.of(other))
            case Times(one, other):
                return _times(self.of(one), self.of(other))
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


def _times(one: Ratios, other: Ratios) -> Ratios:
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
    """What stands over 0 has no value, and what stands over nothing has none."""
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
    # what is over 0 stays without a value
    pairs = [(p, q) if y and x * q < p * y else (x, y) for x, y in column]
    return Ratios([x for x, _ in pairs], [y for _, y in pairs])


def _negative(column: Ratios) -> Ratios:
    return Ratios([-x for x in column.above], column.below)


def _root(column: Ratios) -> Ratios:
    roots = [root(Fraction(x, y)) if y else None for x, y in column]
    return Ratios(
        [1 if one is None else one.numerator for one in roots],
        [0 if one is None else one.denominator for one in roots],
    )


def _each(below: Wholes | int) -> "Wholes | repeat[int]":
    return repeat(below) if isinstance(below, int) else below
