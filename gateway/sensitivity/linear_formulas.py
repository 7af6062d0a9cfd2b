"""Linear forms of noisy integers, and quotients of two: counts, sums, means.

Places are places among the measurements of the release, slot by slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm


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


@lru_cache(maxsize=4096)
def _over_one(
    weights: tuple[tuple[int, Fraction], ...],
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Weights as whole numbers over one denominator: sums of thousands of cells are then sums of integers."""
    under = lcm(*(weight.denominator for _, weight in weights))
    return tuple((place, int(weight * under)) for place, weight in weights), under
