"""Noise of a total of noisy integers, for intervals alone.

The noise is in released numbers already. `draw` draws it anew, for intervals by simulation; it is no mechanism.

INVARIANT: P(|X| ≤ margin) ≥ confidence. docs/proofs/answers.md has the argument; tests/noise/test_sum_noise.py
compares with the exact distributions.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import CONFIDENCE, DiscreteGaussian, DiscreteLaplace, Mechanism

_SMOOTH: Final = 4.0  # above this standard deviation, steps of 1 are small beside the noise
_FAR: Final = 12  # of a sum: normal tails are gone there
_FARTHER: Final = 40  # of one draw: so are those of a single Laplace distribution
_SLACK: Final = 1e-9
_MANY: Final = 64  # a sum of so many draws cannot be told from a normal distribution
_NEXT: Final = 0.17  # the terms after the one with the kurtosis, for Laplace noise; from 97 % on they are below 0


@dataclass(frozen=True, slots=True)
class SummedNoise:
    """The sum of `count` independent draws of one noise."""

    noise: Mechanism
    count: int

    @property
    def std(self) -> float:
        return self.noise.std * sqrt(self.count)

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis: for a sum of equal terms it is that of one, divided by their number."""
        return kurtosis(self.noise) / self.count

    @property
    def is_smooth(self) -> bool:
        """True if single steps are small beside each summed noise."""
        return self.noise.std >= _SMOOTH

    def margin(self, confidence: Fraction = CONFIDENCE) -> int:
        """A k with P(|X| ≤ k) ≥ confidence, not much above the smallest.

        Where the noise spans few steps it is the smallest itself. Otherwise, below 95 %, it is Chebyshev's:
        P(|X| ≥ k + 1) ≤ variance / (k + 1)².
        """
        std = self.std
        if not self.is_smooth:
            return _smallest(self, confidence)
        if confidence < CONFIDENCE:
            return max(0, ceil(std / sqrt(1 - confidence)) - 1)
        z = NormalDist().inv_cdf((1 + float(confidence)) / 2)
        heavier = (z**3 - 3 * z) / 24 * self.kurtosis
        further = _NEXT * max(0, self.count - 3) / self.count**3 if self.kurtosis else 0.0
        return ceil(std * (z + heavier + further))

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        """Fresh draws of this noise; for many terms, from the normal distribution of their sum."""
        if self.count > _MANY and self.is_smooth:
            return DiscreteGaussian(Fraction(self.std) ** 2).draw(count, entropy)
        return add_groups(self.noise.draw(count * self.count, entropy), self.count)


@lru_cache(maxsize=1024)
def _smallest(total: SummedNoise, confidence: Fraction) -> int:
    """The smallest margin, from the distribution of the sum: the transform of one draw's, to the power of the
    number of draws.

    The tails beyond the ends of the array hold less than 1e-15, as do float errors; the returned k holds a
    little more than the confidence.
    """
    reach = ceil(_FAR * total.std + _FARTHER * total.noise.std) + 16
    size = 1 << (2 * reach).bit_length()
    steps = np.minimum(np.arange(size), size - np.arange(size))
    if isinstance(total.noise, DiscreteLaplace):
        weights = np.exp(-steps / float(total.noise.scale))
    else:
        weights = np.exp(-(steps**2) / (2 * float(total.noise.variance)))
    found = np.fft.irfft(np.fft.rfft(weights / weights.sum()) ** total.count, size)
    inside = found[0] + np.concatenate(([0.0], 2 * np.cumsum(found[1 : size // 2])))
    return int(np.searchsorted(inside, float(confidence) + _SLACK))


def kurtosis(noise: Mechanism) -> float:
    """The excess kurtosis of one draw."""
    match noise:
        case DiscreteLaplace():
            return 3.0
        case DiscreteGaussian():
            return 0.0


def add_groups(drawn: list[int], together: int) -> list[int]:
    """Sums of that many draws each."""
    if together == 1:
        return drawn
    return [sum(drawn[at : at + together]) for at in range(0, len(drawn), together)]
