"""The margin of a sum of noises, held against the exact distribution of that sum."""

from fractions import Fraction
from math import exp, lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray

from gateway.noise.combined_noise import kurtosis, sum_noise
from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

_FAR = 60  # in scales: beyond there is less than 1e-25
_SLACK = 1e-9  # what floats may be off


def _one(noise: Mechanism) -> NDArray[np.float64]:
    """The probabilities from the middle to both sides."""
    if isinstance(noise, DiscreteLaplace):
        reach = int(_FAR * noise.scale) + 4
        at = np.abs(np.arange(-reach, reach + 1))
        found = np.exp(-at / float(noise.scale))
    else:
        reach = int(12 * float(noise.variance) ** 0.5) + 4
        at = np.arange(-reach, reach + 1)
        found = np.exp(-(at**2) / (2 * float(noise.variance)))
    return np.asarray(found / found.sum())


def _within(noise: Mechanism, count: int, margin: int) -> float:
    """P(|X| ≤ margin) of the sum, by convolution."""
    one = _one(noise)
    size = count * (len(one) - 1) + 1
    padded = 1 << size.bit_length()
    total = np.fft.irfft(np.fft.rfft(one, padded) ** count, padded)[:size]
    middle = (size - 1) // 2
    return float(total[max(0, middle - margin) : middle + margin + 1].sum())


def _laplace_beyond(x: float, count: int) -> float:
    """P(|X| > x) of a sum of so many Laplace noises of scale 1: a mixture of Gamma tails."""
    found, poisson = 0.0, 0.0
    for j in range(1, count + 1):
        poisson += exp(-x + (j - 1) * log(x) - lgamma(j))  # P(Poisson(x) < j)
        ways = lgamma(2 * count - j) - lgamma(count) - lgamma(count - j + 1)
        found += exp(ways - (2 * count - j - 1) * log(2)) * min(1.0, poisson)
    return found


@pytest.mark.parametrize("count", [2, 3, 5, 15, 64, 300])
@pytest.mark.parametrize(
    "noise",
    [
        *(DiscreteLaplace(Fraction(one)) for one in ("0.05", "0.3", "1", "2.7", "2.9", "4", "20")),
        *(DiscreteGaussian(Fraction(one)) for one in ("0.01", "0.2", "1", "15.9", "16.1", "300")),
    ],
)
def test_margin_holds_95_of_100_sums(noise: Mechanism, count: int) -> None:
    """Never fewer, whatever the scale; and from 4 standard deviations on, hardly more."""
    margin = SummedNoise(noise, count).margin()
    assert _within(noise, count, margin) >= 0.95 - _SLACK
    if noise.std >= 4:
        assert _within(noise, count, margin - 3) < 0.95


@pytest.mark.parametrize("missed", ["0.05", "0.045", "0.03", "0.025", "0.0125", "0.01", "0.001"])
def test_margin_holds_what_it_says_of_sums_of_a_large_scale(missed: str) -> None:
    """Of Laplace's noise, where steps of 1 are nothing: for every count up to 60, and some large ones."""
    scale, most = 10**9, Fraction(missed)
    for count in [*range(2, 61), 100, 400, 1000]:
        noise = SummedNoise(DiscreteLaplace(Fraction(scale)), count)
        beyond = _laplace_beyond(noise.margin(1 - most) / scale, count)
        assert beyond <= most
        if missed == "0.05":
            assert beyond > most * Fraction(98, 100)


def test_margin_is_found_too_small_when_a_term_is_left_out() -> None:
    """The comparison sees a ten-thousandth of the margin missing."""
    scale, count = 10**9, 30
    margin = SummedNoise(DiscreteLaplace(Fraction(scale)), count).margin() / scale
    assert _laplace_beyond(margin * (1 - 1e-4), count) > 0.05


def test_margin_is_chebyshevs_when_the_confidence_is_low() -> None:
    """Wide, but right."""
    noise = DiscreteLaplace(Fraction(20))
    for percent in (10, 50, 94):
        margin = SummedNoise(noise, 5).margin(Fraction(percent, 100))
        assert _within(noise, 5, margin) >= percent / 100


def test_sum_of_one_is_the_noise_itself() -> None:
    """So what is not added up keeps its exact margin."""
    noise = DiscreteLaplace(Fraction(3))
    assert sum_noise(noise, 1) is noise
    assert sum_noise(noise, 2) == SummedNoise(noise, 2)
    assert kurtosis(SummedNoise(noise, 3)) == pytest.approx(1)
    assert kurtosis(DiscreteGaussian(Fraction(3))) == kurtosis(SummedNoise(DiscreteGaussian(Fraction(3)), 2)) == 0  # fmt: skip
