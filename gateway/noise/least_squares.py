"""Cells that were measured together with their total, fitted to it by least squares.

K cells have noise of the variance σ² each, and their total has noise of the variance q·σ². Let S be the sum of the noisy
cells and T the noisy total. The best linear estimate of the total is M = w·T + (1 - w)·S with w = K/(K + q), and each
cell takes an equal share of M - S. M is rounded to a whole number; what is left of M - S after equal whole shares goes
to cells that are drawn, one to each, so that the cells add up to M.

Cells and total are noisy numbers of the same exact integers. So the noise of a fitted cell, and of a sum of such cells,
does not depend on them. `FittedNoise` describes it; of all K cells together it is the mean of two noises.

INVARIANT: the fitted cells are computed from the noisy cells, the noisy total and fresh bits alone: post-processing.
INVARIANT: P(|X| ≤ margin) ≥ confidence. docs/proofs/levels.md; tests/noise/test_least_squares.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, hypot, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from gateway.noise.convolution import SummedNoise, weighted_nearest
from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import CONFIDENCE, DiscreteGaussian

_SMOOTH: Final = 4.0  # above this standard deviation, steps of 1 are small beside the noise
_WORD: Final = 8


@dataclass(frozen=True, slots=True)
class FittedNoise:
    """The noise of `count` fitted cells of `groups` together: `noise` is that of a cell, the total's variance is `total` times its."""

    noise: DiscreteGaussian
    total: int
    groups: int
    count: int = 1

    def __post_init__(self) -> None:
        if self.total < 1 or not 1 <= self.count < self.groups:
            raise ValueError("a fitted sum has some of the cells of its total, and not all")

    @property
    def of_total(self) -> DiscreteGaussian:
        """The noise of the measured total."""
        return DiscreteGaussian(self.noise.variance * self.total)

    @property
    def weight(self) -> Fraction:
        """w: how much of the fitted total is the measured one."""
        return Fraction(self.groups, self.groups + self.total)

    @property
    def variance(self) -> Fraction:
        """The variance by the parameters alone, without the effect of rounding."""
        kept = 1 - Fraction(self.count, self.groups + self.total)
        return self.count * self.noise.variance * kept

    @property
    def std(self) -> float:
        """The standard deviation, with the effect of whole shares: of `count` cells a random number takes one more."""
        drawn = self.count * (1 - self.count / self.groups) / 4
        return hypot(self.noise.std * sqrt(self.variance / self.noise.variance), sqrt(drawn))

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis: sums of Gaussian noises have none."""
        return 0.0

    @property
    def is_smooth(self) -> bool:
        """True if single steps are small beside the noise."""
        return self.std >= _SMOOTH

    def margin(self, confidence: Fraction = CONFIDENCE) -> int:
        """A k with P(|X| ≤ k) ≥ confidence. Where the noise spans few steps, it is that of the cells alone, and of the shares."""
        z = NormalDist().inv_cdf((1 + float(confidence)) / 2)
        if self.is_smooth:
            return ceil(z * self.std)
        return SummedNoise(self.noise, self.count).margin(confidence) + ceil(
            z * sqrt(self.count) / 2
        )

    def rho_for(self, delta2_squared: Fraction | int, total: int) -> Fraction:
        """The zCDP price where Δ2² is of the cells and, divided by `total`, of their total. docs/proofs/levels.md."""
        if not total:
            raise ValueError("a total is drawn that no price was computed for")
        of_cells = self.noise.rho_for(delta2_squared)
        return max(of_cells, self.of_total.rho_for(delta2_squared * total))

    def released(self, cells: Sequence[int], entropy: Entropy) -> list[int]:
        """The exact cells with their noise, fitted to their exact total with its own."""
        if len(cells) != self.groups or self.count != 1:
            raise ValueError("another number of cells than is fitted")
        noisy = map(sum, zip(cells, self.noise.draw(self.groups, entropy), strict=True))
        [more] = self.of_total.draw(1, entropy)
        return self._fit(list(noisy), sum(cells) + more, entropy)

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        """Fresh draws of whole tables, one after the other: every part is drawn anew and fitted as before."""
        if self.count != 1 or count % self.groups:
            raise ValueError("another number of cells than is fitted")
        drawn = self.noise.draw(count, entropy)
        totals = self.of_total.draw(count // self.groups, entropy)
        found: list[int] = []
        for place, total in enumerate(totals):
            first = place * self.groups
            found += self._fit(drawn[first : first + self.groups], total, entropy)
        return found

    def _fit(self, cells: list[int], total: int, entropy: Entropy) -> list[int]:
        summed = sum(cells)
        [best] = weighted_nearest([total], [summed], self.weight)
        each, left = divmod(best - summed, self.groups)
        fitted = [one + each for one in cells]
        for place in _some(self.groups, left, entropy):
            fitted[place] += 1
        return fitted


def _some(of: int, many: int, entropy: Entropy) -> list[int]:
    """So many different places of all; equal words are too rare to matter, and cost accuracy alone."""
    if not many:
        return []
    words = np.frombuffer(entropy.bytes(_WORD * of), dtype=np.uint64)
    found: list[int] = np.argpartition(words, many - 1)[:many].tolist()
    return found
