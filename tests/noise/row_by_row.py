"""Texts and intervals one row at a time, with fractions: slow, plain, and what the fast columns are held against."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite, sqrt

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteLaplace
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.sensitivity.formulas import Linear, Quotient

_Z = 1.959963984540054
_EXCESS = (_Z**3 - 3 * _Z) / 24
_ROUNDED = Context(prec=15)


def text_of(formula: Linear | Quotient, row: Sequence[int], of: ColumnType, *, clamp: bool) -> str:
    """One cell."""
    value = formula.clamped(row) if clamp else formula.value(row)
    if of.family is Family.WHOLE:
        assert of.bound is not None
        return str(int(max(-of.bound, min(of.bound - 1, Fraction(round(value))))))
    if of.family is Family.EXACT:
        bound, step = of.bound, of.resolution
        if bound is not None and step is not None:
            value = _within(round(value / step) * step, bound - step)
        return _number(value)
    if of.kind is Kind.REAL:
        small = abs(value) < Fraction(1, 10**37)
        return repr(float(Fraction(0) if small else _within(value, Fraction(10) ** 38)))
    return repr(float(_within(value, Fraction(10) ** 300)) + 0.0)


def _within(value: Fraction, most: Fraction) -> Fraction:
    return max(-most, min(most, value))


def _number(value: Fraction) -> str:
    rounded = _ROUNDED.divide(Decimal(value.numerator), Decimal(value.denominator))
    exact = Fraction(rounded) == value
    return format(rounded.normalize() if exact else rounded, "f")


@dataclass(frozen=True)
class Estimated:
    value: float
    slopes: dict[int, float]


@dataclass
class RowByRow:
    """`size` is the largest number met on the way: what is lost in floats is small beside it."""

    table: NoisyTable
    formulas: tuple[Linear | Quotient, ...]
    size: float = field(default=0.0)

    def interval(self, form: Form, row: int) -> tuple[float, float] | None:
        self.size = 0.0
        estimated = self._estimated(form, [column[row] for column in self.table.measured])
        if estimated is None:
            return None
        half = self._half(estimated.slopes)
        low, high = estimated.value - half, estimated.value + half
        return (low, high) if isfinite(low) and isfinite(high) else None

    def _half(self, slopes: dict[int, float]) -> float:
        noises = self.table.noises
        moving = [(place, abs(slope)) for place, slope in slopes.items() if slope]
        if not moving:
            return 0.0
        if len(moving) == 1:
            [(place, slope)] = moving
            return slope * noises[place].margin()
        variance = sum((slope * noises[place].std) ** 2 for place, slope in moving)
        if not variance:
            return 0.0
        fourth = sum(
            3 * (slope * noises[place].std) ** 4
            for place, slope in moving
            if isinstance(noises[place], DiscreteLaplace)
        )
        steps = max(slope for _, slope in moving) / 2
        return sqrt(variance) * (_Z + _EXCESS * fourth / variance**2) + steps

    def _estimated(  # noqa: PLR0911 - one answer for each kind of form
        self, form: Form, row: list[int]
    ) -> Estimated | None:
        match form:
            case NumberForm(value):
                return self._met(float(value), {})
            case AggregateRef(place):
                return self._of_formula(self.formulas[place], row)
            case Plus(one, other):
                left, right = self._estimated(one, row), self._estimated(other, row)
                if left is None or right is None:
                    return None
                return self._met(left.value + right.value, _mixed(left, 1.0, right, 1.0))
            case Times(one, other):
                left, right = self._estimated(one, row), self._estimated(other, row)
                if left is None or right is None:
                    return None
                slopes = _mixed(left, right.value, right, left.value)
                return self._met(left.value * right.value, slopes)
            case Over(one, other):
                return self._over(self._estimated(one, row), self._estimated(other, row))
            case _:
                raise NotImplementedError

    def _of_formula(self, formula: Linear | Quotient, row: list[int]) -> Estimated | None:
        if isinstance(formula, Linear):
            return self._of_linear(formula, row)
        below = self._of_linear(formula.below, row)
        return None if below.value < 1 else self._over(self._of_linear(formula.above, row), below)

    def _over(self, above: Estimated | None, below: Estimated | None) -> Estimated | None:
        if above is None or below is None:
            return None
        half = self._half(below.slopes)
        if abs(below.value) <= half:
            return None
        value, part = above.value / below.value, half / below.value
        moved = 1 / (below.value * (1 - part**2))
        return self._met(value, _mixed(above, moved, below, -value * moved))

    def _of_linear(self, linear: Linear, row: list[int]) -> Estimated:
        slopes: dict[int, float] = {}
        for place, weight in linear.weights:
            slopes[place] = slopes.get(place, 0.0) + float(weight)
        return self._met(float(linear.value(row)), slopes)

    def _met(self, value: float, slopes: dict[int, float]) -> Estimated:
        self.size = max(self.size, abs(value), *(abs(one) for one in slopes.values()))
        self.size = max(self.size, self._half(slopes))
        return Estimated(value, slopes)


def _mixed(left: Estimated, weight: float, right: Estimated, other: float) -> dict[int, float]:
    slopes = {place: slope * weight for place, slope in left.slopes.items()}
    for place, slope in right.slopes.items():
        slopes[place] = slopes.get(place, 0.0) + slope * other
    return slopes
