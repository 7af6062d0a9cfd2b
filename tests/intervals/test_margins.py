"""Half-widths of sums of noises, against their exact distributions."""

from fractions import Fraction
from math import exp

import numpy as np
from laws import for_each
from numpy.typing import NDArray

from gateway.intervals.margins import Widths, exact_margin, near_margin
from gateway.noise.combined_noise import AnyNoise
from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

CONFIDENCES = [Fraction(one, 10_000) for one in (5000, 8000, 9000, 9400, 9500, 9510, 9900, 9999)]
# of noises of Laplace and of Gauss, by their scales and standard deviations: alike, and one beside others
LAPLACE = [(20,), (20, 20), (20, 10), (20, 4), (20, 2), (9, 9, 9), (12, 6, 6, 6), (8,) * 8]
GAUSS = [(20,), (20, 20), (30, 5), (10,) * 6]
SUMS: list[tuple[Mechanism, ...]] = [
    *(tuple(DiscreteLaplace(Fraction(scale)) for scale in scales) for scales in LAPLACE),
    *(tuple(DiscreteGaussian(Fraction(std * std)) for std in stds) for stds in GAUSS),
]
# the half-width is rounded to no whole number, and what the series leaves out is a hundredth of the misses
_OFF = 0.01


def _weights(noise: Mechanism) -> NDArray[np.float64]:
    """From -far to far."""
    if isinstance(noise, DiscreteLaplace):
        scale = float(noise.scale)
        half = [exp(-x / scale) for x in range(int(40 * scale) + 1)]
    else:
        variance = float(noise.variance)
        half = [exp(-x * x / (2 * variance)) for x in range(int(12 * variance**0.5) + 1)]
    both = np.array([*half[:0:-1], *half])
    weights: NDArray[np.float64] = both / both.sum()
    return weights


def _tail(noises: tuple[Mechanism, ...], beyond: float) -> float:
    """P(|sum| > beyond)."""
    total = np.ones(1)
    for one in noises:
        total = np.convolve(total, _weights(one))
    values = np.arange(len(total)) - len(total) // 2
    return float(total[np.abs(values) > beyond].sum())


def _half(noises: tuple[AnyNoise, ...], confidence: Fraction) -> float:
    return float(
        Widths(noises, confidence).half({place: np.float64(1) for place in range(len(noises))})
    )


@for_each("confidence", CONFIDENCES)
@for_each("noises", SUMS, ids=str)
def test_half_width_holds_the_sum_with_the_confidence_and_little_more(
    noises: tuple[Mechanism, ...], confidence: Fraction
) -> None:
    """Misses are no more than promised, and two fifths less width would miss more than promised."""
    half, misses = _half(noises, confidence), float(1 - confidence)
    assert _tail(noises, half) <= misses * (1 + _OFF)
    assert _tail(noises, half * 0.6 - 1) > misses


@for_each("confidence", CONFIDENCES)
@for_each("count", [2, 5, 12])
@for_each("noise", [DiscreteLaplace(Fraction(9)), DiscreteGaussian(Fraction(81))])
def test_half_width_of_a_total_holds_whatever_the_confidence(
    noise: Mechanism, count: int, confidence: Fraction
) -> None:
    """A total that is added up is a sum like any other."""
    half, misses = _half((SummedNoise(noise, count),), confidence), float(1 - confidence)
    assert _tail((noise,) * count, half) <= misses * (1 + _OFF)
    assert _tail((noise,) * count, half * 0.6 - 1) > misses


@for_each("noises", [one for one in SUMS if len(one) > 1], ids=str)
def test_half_width_is_that_of_intervals_at_95_percent(noises: tuple[Mechanism, ...]) -> None:
    """Nothing is said when no confidence is."""
    slopes = {place: np.float64(1) for place in range(len(noises))}
    assert float(Widths(noises).half(slopes)) == _half(noises, Fraction(95, 100))


@for_each("confidence", CONFIDENCES)
@for_each("size", [1, 3, 17, 250, 4000])
def test_near_margin_is_the_exact_one_or_beside_it(size: int, confidence: Fraction) -> None:
    """It says where to look."""
    noises: list[Mechanism] = [
        DiscreteLaplace(Fraction(size) + Fraction(1, 7)),
        DiscreteGaussian(Fraction(size * size) + Fraction(1, 7)),
    ]
    for one in noises:
        assert abs(near_margin(one, confidence) - exact_margin(one, confidence)) <= 1
