"""Margins: half-widths of sums of independent noises at a confidence, and first-order error propagation through
formulas.

One noise alone has its own exact quantile. Several are added by their variances, with a correction for their tails
(Cornish and Fisher, 1938). Below 95 % that series subtracts too much if few noises are added, so it is limited
there; above, it ends at the tails of a single Laplace distribution.

Error propagation keeps a value and its partial derivatives by each noisy integer. A formula is replaced by its
tangent plane at the released values. If the plane is not close enough, `beyond` bounds the distance between
formula and plane while every operand is within its own margin.

INVARIANT: the half-width contains the sum with the confidence, except for a hundredth of the misses:
tests/intervals/test_margins.py compares with exact distributions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, inf, log, sqrt
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.combined_noise import AnyNoise, CombinedNoise, kurtosis
from gateway.noise.convolution import SummedNoise
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import CONFIDENCE, DiscreteLaplace

_Z: Final = 1.959963984540054  # 95 % of a normal distribution
_LEAST: Final = 0.04  # the addition for a kurtosis of 1 below 95 %, where the series would add less
_ZERO: Final = np.float64(0)

Floats: TypeAlias = "NDArray[np.float64] | np.float64"


def exact_margin(noise: AnyNoise, confidence: Fraction) -> int:
    """The smallest k with P(|X| ≤ k) ≥ confidence; for a sum, not much above the smallest."""
    return noise.margin(confidence)


def near_margin(noise: AnyNoise, confidence: Fraction) -> int:
    """The same, or one beside it, without a search: where the search begins."""
    if isinstance(noise, SummedNoise | CombinedNoise | FittedNoise):
        return noise.margin(confidence)
    if isinstance(noise, DiscreteLaplace):
        reach = float(noise.scale) * -log(1 - confidence)
    else:
        reach = sqrt(noise.variance) * _z(confidence)
    return max(0, ceil(reach - 1 / 2))


class Widths:
    """Half-widths over the noises of one table, at one confidence."""

    def __init__(
        self,
        noises: Sequence[AnyNoise],
        confidence: Fraction = CONFIDENCE,
        margin: Callable[[AnyNoise, Fraction], int] = exact_margin,
    ) -> None:
        self._noises = noises
        self._confidence = confidence
        self._margin_of = margin
        self._z = _z(confidence)
        self._excess = max(_LEAST, (self._z**3 - 3 * self._z) / 24)
        self._most = inf if confidence <= CONFIDENCE else -log(1 - confidence) / sqrt(2)
        self._margins: dict[int, float] = {}
        self._stds: dict[int, float] = {}

    def half(self, slopes: Mapping[int, Floats]) -> Floats:
        """The half-width of the sum of slope times noise; slopes are by the place of a noise."""
        sizes = {place: np.abs(slope) for place, slope in slopes.items()}
        if len(sizes) < 2:  # noqa: PLR2004 - one or none
            return self._each(sizes)
        moving = reduce(np.add, (size != 0 for size in sizes.values()), 0)
        parts = {place: (size * self._std(place)) ** 2 for place, size in sizes.items()}
        variance = reduce(np.add, parts.values())
        fourth = reduce(
            np.add,
            (
                kurtosis(self._noises[place]) * (part / variance) ** 2
                for place, part in parts.items()
            ),
        )
        steps = reduce(np.maximum, sizes.values()) / 2  # the noise is whole numbers
        several = np.where(
            variance > 0, np.sqrt(variance) * self._deviations(fourth) + steps, variance
        )
        if np.all(moving > 1):
            return several
        return np.where(moving < 2, self._each(sizes), several)  # noqa: PLR2004 - see above

    def _each(self, sizes: Mapping[int, Floats]) -> Floats:
        """The half-width by exact margins, which take time: for one noise alone, or none."""
        alone: Floats = _ZERO
        for place, size in sizes.items():
            alone = alone + size * self._margin(place)
        return alone

    def _deviations(self, fourth: Floats) -> Floats:
        """The number of standard deviations, for a sum with this excess kurtosis."""
        reach: Floats = np.minimum(self._z + self._excess * fourth, self._most)
        return reach

    def _margin(self, place: int) -> float:
        found = self._margins.get(place)
        if found is None:
            found = self._margins[place] = self._alone(self._noises[place])
        return found

    def _alone(self, noise: AnyNoise) -> float:
        if (
            isinstance(noise, SummedNoise | CombinedNoise | FittedNoise)
            and self._confidence != CONFIDENCE
            and noise.is_smooth
        ):
            return noise.std * float(self._deviations(np.float64(noise.kurtosis))) + 1 / 2
        return _nearest(self._margin_of(noise, self._confidence))

    def _std(self, place: int) -> float:
        found = self._stds.get(place)
        if found is None:
            found = self._stds[place] = self._noises[place].std
        return found


def _z(confidence: Fraction) -> float:
    """The number of standard deviations of a normal distribution, to either side."""
    if confidence == CONFIDENCE:
        return _Z
    return NormalDist().inv_cdf(float((1 + confidence) / 2))


def _nearest(margin: int) -> float:
    try:
        return float(margin)
    except OverflowError:
        return inf


_ONE: Final = np.float64(1)

Truths: TypeAlias = "NDArray[np.bool_] | np.bool_"


@dataclass(frozen=True, slots=True)
class DualNumber:
    """A number in every row, with its partial derivatives by the noisy integers behind it.

    A value that is equal in all rows is a single float; `there` says in which rows the number exists.
    """

    value: Floats
    slopes: Mapping[int, Floats]
    there: Truths
    beyond: Floats = _ZERO


def add_duals(left: DualNumber, right: DualNumber) -> DualNumber:
    slopes = mix_slopes(left, _ONE, right, _ONE)
    beyond = left.beyond + right.beyond
    return make_dual(left.value + right.value, slopes, left.there & right.there, beyond)


def multiply_duals(left: DualNumber, right: DualNumber, both: Floats = _ZERO) -> DualNumber:
    """`both` bounds the distance between the product and the plane: the product of both margins, or 0 if it is
    close.
    """
    slopes = mix_slopes(left, right.value, right, left.value)
    beyond = np.abs(right.value) * left.beyond + np.abs(left.value) * right.beyond + both
    return make_dual(left.value * right.value, slopes, left.there & right.there, beyond)


def divide_duals(above: DualNumber, below: DualNumber, half: Floats) -> DualNumber:
    """`half` is the margin of the denominator: if it reaches 0, there is no quotient."""
    value, part = above.value / below.value, half / below.value
    moved = 1 / (below.value * (1 - part**2))
    there = above.there & below.there & (np.abs(below.value) > half)  # otherwise it may be 0
    beyond = (above.beyond + np.abs(value) * below.beyond) * np.abs(moved)
    return make_dual(value, mix_slopes(above, moved, below, -value * moved), there, beyond)


def root_dual(of: DualNumber, half: Floats) -> DualNumber:
    """If the margin reaches 0, the root is too steep for any plane, and there is no error bound."""
    value = np.sqrt(np.maximum(of.value, 0))
    slopes = {place: slope / (2 * value) for place, slope in of.slopes.items()}
    # the distance below the plane is largest where the radicand is smallest
    low = np.sqrt(np.maximum(of.value - half, 0))
    beyond = of.beyond / (2 * value) + value - half / (2 * value) - low
    return make_dual(value, slopes, of.there & (of.value > half), beyond)


def clamp_dual(of: DualNumber, least: float, half: Floats = _ZERO) -> DualNumber:
    """Below the lower limit, the number no longer shows how far below; there is no error bound."""
    value = np.maximum(of.value, least)
    return DualNumber(value, of.slopes, of.there & (of.value - half >= least), of.beyond)


def make_dual(
    value: Floats, slopes: Mapping[int, Floats], there: Truths, beyond: Floats = _ZERO
) -> DualNumber:
    return DualNumber(value, slopes, there & np.isfinite(value), beyond)


def mix_slopes(
    left: DualNumber, weight: Floats, right: DualNumber, other: Floats
) -> dict[int, Floats]:
    slopes = {place: slope * weight for place, slope in left.slopes.items()}
    for place, slope in right.slopes.items():
        slopes[place] = slopes.get(place, _ZERO) + slope * other
    return slopes
