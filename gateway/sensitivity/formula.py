"""From noisy integers to an aggregate: linear forms, and quotients of two.

Everything here is post-processing: it sees what was released and public parameters, nothing else.
Places are places among the measurements of the release, slot by slot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `weight * measured[place]`. `least` is what it is never below when clamped."""

    weights: tuple[tuple[int, Fraction], ...]
    least: Fraction | None = None

    def value(self, measured: Sequence[int]) -> Fraction:
        weights, under = _over_one(self.weights)
        return Fraction(sum(weight * measured[place] for place, weight in weights), under)

    def clamped(self, measured: Sequence[int]) -> Fraction:
        raw = self.value(measured)
        return raw if self.least is None else max(raw, self.least)

    def gradient(self, _measured: Sequence[int]) -> Mapping[int, Fraction]:
        """How much the value moves with each measurement."""
        moves: dict[int, Fraction] = {}
        for place, weight in self.weights:
            moves[place] = moves.get(place, Fraction(0)) + weight
        return moves

    def variance(self, variances: Sequence[float]) -> float:
        """Of the value, when the noises are independent."""
        return _spread(self.gradient(()), variances)


@dataclass(frozen=True, slots=True)
class Quotient:
    """`above / max(below, 1)`: a mean. `low` and `high` are where its domain ends.

    Where hardly anybody is, it is `middle` and what is away from it, not a sum by itself: the mean of values
    around `middle` is `middle + (above - middle * below) / max(below, 1)`.
    """

    above: Linear
    below: Linear
    low: Fraction
    high: Fraction
    middle: Fraction = Fraction(0)

    def value(self, measured: Sequence[int]) -> Fraction:
        above, below = self.above.value(measured), self.below.value(measured)
        return self.middle + (above - self.middle * below) / max(below, Fraction(1))

    def clamped(self, measured: Sequence[int]) -> Fraction:
        return min(max(self.value(measured), self.low), self.high)

    def gradient(self, measured: Sequence[int]) -> Mapping[int, Fraction]:
        """How much the value moves with each measurement, near what was measured."""
        below = self.below.value(measured)
        around = self.above.value(measured) / below if below > 1 else self.middle
        moves = dict(self.above.gradient(measured))
        for place, weight in self.below.gradient(measured).items():
            moves[place] = moves.get(place, Fraction(0)) - around * weight
        return {place: move / max(below, Fraction(1)) for place, move in moves.items()}

    def variance(self, measured: Sequence[int], variances: Sequence[float]) -> float:
        """Of the value by the delta method: exact for a linear form, and near it for many rows."""
        return _spread(self.gradient(measured), variances)


Formula: TypeAlias = Linear | Quotient


@lru_cache(maxsize=4096)
def _over_one(
    weights: tuple[tuple[int, Fraction], ...],
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Weights as whole numbers over one denominator: sums of thousands of cells are then sums of integers."""
    under = lcm(*(weight.denominator for _, weight in weights))
    return tuple((place, int(weight * under)) for place, weight in weights), under


def variance_of(formula: Formula, measured: Sequence[int], variances: Sequence[float]) -> float:
    """Of the raw value, when the noises are independent."""
    return _spread(formula.gradient(measured), variances)


def _spread(moves: Mapping[int, Fraction], variances: Sequence[float]) -> float:
    return sum(float(move) ** 2 * variances[place] for place, move in moves.items())
