"""Noise of totals of noisy integers, for intervals alone, and convolutions of a few combined noises.

Convolutions are exact except for float errors: the tails beyond the ends of an array hold less than 1e-15. The
only other proven bound is Chebyshev's, by which intervals of small noise would be 2.6 to 4 times as wide. Weighted
means are the nearest integers, exact for columns of any length.

The noise of a total is in released numbers already. `draw` draws it anew, for intervals by simulation; it is no
mechanism.

INVARIANT: P(|X| ≤ margin) ≥ confidence. docs/proofs/answers.md has the argument; tests/noise/test_convolution.py
compares with the exact distributions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import CONFIDENCE, DiscreteGaussian, DiscreteLaplace, Mechanism

Wholes: TypeAlias = NDArray[np.int64]
_WIDE: Final = 62  # bits that a signed 64-bit number holds, with one to spare


def weighted_nearest(old: Sequence[int], new: Sequence[int], weight: Fraction) -> list[int]:
    """The integers nearest to weight·old + (1 - weight)·new; halves are rounded up."""
    if len(old) != len(new):
        raise ValueError("columns of different lengths")
    if not old:
        return []
    largest = max(map(abs, (min(old), max(old), min(new), max(new))))
    if fits_64_bits(largest, weight):
        made = weighted_nearest_array(
            np.array(old, dtype=np.int64), np.array(new, dtype=np.int64), weight
        )
        found: list[int] = made.tolist()
        return found
    of_old, of_new, under = _parts(weight)
    both = zip(old, new, strict=True)
    return [(of_old * one + of_new * other + under) // (2 * under) for one, other in both]


def weighted_nearest_array(old: Wholes, new: Wholes, weight: Fraction) -> Wholes:
    """The same for arrays, where `fits_64_bits` says that 64 bits are enough."""
    of_old, of_new, under = _parts(weight)
    return (of_old * old + of_new * new + under) // (2 * under)


def fits_64_bits(largest: int, weight: Fraction) -> bool:
    """True if no intermediate result is longer than 64 bits, given the largest number."""
    return (2 * weight.denominator * (largest + 1)).bit_length() < _WIDE


def _parts(weight: Fraction) -> tuple[int, int, int]:
    under = weight.denominator
    return 2 * weight.numerator, 2 * (under - weight.numerator), under


Weights: TypeAlias = NDArray[np.float64]
_FARTHER: Final = 40  # Laplace's tails are negligible after so many scales, normal tails after 12 standard deviations
_FAR: Final = 12
_GONE: Final = 1e-18
_SLACK: Final = 1e-9
_MOST: Final = 1 << 22  # pairs of values, a tenth of a second


@dataclass(frozen=True, slots=True)
class ConvolutionStep:
    """One step of a combination: `together` earlier values are added up, then `draws` of the noise are rounded
    in, with the weight `kept` for the earlier sum.
    """

    noise: Mechanism | None
    draws: int
    kept: Fraction
    together: int


class _TooFar(Exception):
    """The distribution has more values than this module computes."""


@lru_cache(maxsize=1024)
def smallest_margin(stages: tuple[ConvolutionStep, ...], confidence: Fraction) -> int | None:
    """The smallest k with P(|X| ≤ k) ≥ confidence plus a small reserve; None if there are too many values."""
    try:
        found = distribution(stages)
    except _TooFar:
        return None
    middle = len(found) // 2
    both = found[middle:].copy()
    both[1:] += found[:middle][::-1]
    return int(np.searchsorted(np.cumsum(both), float(confidence) + _SLACK))


def distribution(stages: tuple[ConvolutionStep, ...]) -> Weights:
    """The probabilities, with that of 0 in the middle."""
    found = np.ones(1)
    for one in stages:
        found = _of_sum(found, one.together)
        if one.noise is not None:
            drawn = _of_sum(_of_one(one.noise), one.draws)
            found = drawn if not one.kept else _rounded(found, drawn, one.kept)
    return found


def _of_one(noise: Mechanism) -> Weights:
    if isinstance(noise, DiscreteLaplace):
        reach = ceil(_FARTHER * noise.scale)
    else:
        reach = ceil(_FAR * float(noise.variance) ** 0.5) + 1
    if reach > _MOST:
        raise _TooFar
    at = np.abs(np.arange(-reach, reach + 1, dtype=np.float64))
    if isinstance(noise, DiscreteLaplace):
        found = np.exp(-at / float(noise.scale))
    else:
        found = np.exp(-(at**2) / (2 * float(noise.variance)))
    return np.asarray(found / found.sum())


def _of_sum(one: Weights, count: int) -> Weights:
    if count == 1:
        return one
    size = count * (len(one) - 1) + 1
    if size > _MOST:
        raise _TooFar
    padded = 1 << size.bit_length()
    found = np.fft.irfft(np.fft.rfft(one, padded) ** count, padded)[:size]
    return _trimmed(np.maximum(found, 0))


def _rounded(old: Weights, new: Weights, kept: Fraction) -> Weights:
    """The distribution of the nearest integer to kept·old + (1 - kept)·new."""
    if len(old) * len(new) > _MOST or not fits_64_bits(max(len(old), len(new)), kept):
        raise _TooFar
    one, other = (np.arange(len(each), dtype=np.int64) - len(each) // 2 for each in (old, new))
    values = weighted_nearest_array(one[:, np.newaxis], other, kept).ravel()
    reach = int(np.abs(values).max())
    found = np.bincount(values + reach, np.outer(old, new).ravel(), minlength=2 * reach + 1)
    return _trimmed(found.astype(np.float64))


def _trimmed(found: Weights) -> Weights:
    """The array without its empty ends."""
    middle = len(found) // 2
    both = np.maximum(found, found[::-1])[middle:]
    there = np.flatnonzero(both > _GONE)
    reach = int(there[-1]) if len(there) else 0
    return found[middle - reach : middle + reach + 1]


_SMOOTH: Final = 4.0  # above this standard deviation, steps of 1 are small beside the noise
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
