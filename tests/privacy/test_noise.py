"""The distributions of the noise, tried by tests that also find fault with noise that is wrong.

Our own samplers run on reproducible streams, so these tests cannot fail by chance; the rates of false
alarms in `goodness` say how much a failure would mean. Only the samples of OpenDP are random: 6 checks
at 1e-9 each.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp, floor, sqrt

import numpy as np
import opendp.prelude as dp
import pytest
from noise.streams import Stream
from privacy.goodness import objections, same_shape

from gateway.noise.enclosure import Decay
from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.noise.samplers import (
    Staircase,
    discrete_gaussian,
    discrete_laplace,
    draw_below,
    draw_decay,
    draw_noise,
    is_kept,
    make_staircase,
)

MANY = 400_000
SCALES = [Fraction(text) for text in ("3/10", "1", "7/3", "50", "1000")]
LARGE = [Fraction(12_345_678), Fraction(10**9), Fraction(2**53 - 1, 7)]
MECHANISMS: list[Mechanism] = [
    *map(DiscreteLaplace, SCALES),
    *(DiscreteGaussian(scale**2) for scale in SCALES),
]
LARGE_MECHANISMS: list[Mechanism] = [
    *map(DiscreteLaplace, LARGE),
    *(DiscreteGaussian(scale**2) for scale in LARGE),
]
HUGE: list[Mechanism] = [DiscreteLaplace(Fraction(10**25)), DiscreteGaussian(Fraction(10**50))]


def _stairs(mechanism: Mechanism, word: int = 63, coarser: int = 0) -> Staircase:
    return make_staircase(_decay(mechanism), word, coarser)


def _decay(mechanism: Mechanism) -> Decay:
    match mechanism:
        case DiscreteLaplace(scale):
            return Decay(1 / scale, 1)
        case DiscreteGaussian(variance):
            return Decay(1 / (2 * variance), 2)


def _one(mechanism: Mechanism, stream: Stream) -> int:
    match mechanism:
        case DiscreteLaplace(scale):
            return discrete_laplace(scale, stream)
        case DiscreteGaussian(variance):
            return discrete_gaussian(variance, stream)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *LARGE_MECHANISMS], ids=str)
def test_vectors_have_the_distribution_they_claim(mechanism: Mechanism) -> None:
    """Nothing speaks against a vector: not shape, tails, signs, neighbours or low bits."""
    assert objections(mechanism.draw(MANY, Stream(f"vector {mechanism}")), mechanism) == []


@pytest.mark.parametrize("mechanism", HUGE, ids=str)
def test_vectors_have_the_distribution_they_claim_when_sizes_exceed_64_bits(
    mechanism: Mechanism,
) -> None:
    """The way of Python's integers is the same distribution."""
    assert objections(mechanism.draw(30_000, Stream("huge")), mechanism) == []


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *LARGE_MECHANISMS[::2]], ids=str)
def test_specification_has_the_distribution_it_claims(mechanism: Mechanism) -> None:
    """Nothing speaks against draws taken one by one from the reference."""
    stream = Stream(f"one by one {mechanism}")
    drawn = [_one(mechanism, stream) for _ in range(10_000)]
    assert objections(drawn, mechanism) == []
    assert same_shape(mechanism.draw(100_000, Stream("other")), drawn, mechanism)


@pytest.mark.parametrize("word", [2, 6])
@pytest.mark.parametrize("mechanism", [MECHANISMS[0], MECHANISMS[2], MECHANISMS[7]], ids=str)
def test_vectors_keep_their_distribution_when_tables_leave_nearly_all_open(
    mechanism: Mechanism, word: int
) -> None:
    """The rare paths, made frequent by words of a few bits, are exact too."""
    drawn = draw_noise(_stairs(mechanism, word), 6000, Stream(f"short {word}"))
    assert objections(drawn, mechanism) == []


WIDE = [
    (MECHANISMS[2], 2),
    (MECHANISMS[4], 7),
    (MECHANISMS[7], 2),
    (MECHANISMS[9], 8),
    (HUGE[1], 9),
]


@pytest.mark.parametrize("word", [4, 63])
@pytest.mark.parametrize(("mechanism", "coarser"), WIDE, ids=str)
def test_vectors_keep_their_distribution_when_steps_are_wide(
    mechanism: Mechanism, coarser: int, word: int
) -> None:
    """The rejection within steps, made frequent by steps as wide as the scale, is exact too."""
    count = 20_000 if word > 4 else 4000
    drawn = draw_noise(_stairs(mechanism, word, coarser), count, Stream(f"wide {coarser}"))
    assert objections(drawn, mechanism) == []


@pytest.mark.parametrize("bits", [1, 3, 63])
@pytest.mark.parametrize("exponent", ["1/1000", "1/9", "2/3", "3/2", "4"])
def test_coins_decay_as_the_exponential(exponent: str, bits: int) -> None:
    """Both coins of e^-x, by series and by bounds on few or many bits (6.4 deviations: 2e-10)."""
    x = Fraction(exponent)
    stream, count = Stream(f"coin {exponent} {bits}"), 5000
    by_bounds = sum(is_kept(x, stream.bits(bits), bits, stream) for _ in range(count))
    by_series = sum(draw_decay(x.numerator, x.denominator, stream) for _ in range(count))
    mean = exp(-x)
    for seen in (by_bounds, by_series):
        assert abs(seen / count - mean) <= 6.4 * sqrt(mean * (1 - mean) / count) + 20 / count


def test_uniform_numbers_reach_each_value_equally_often() -> None:
    """Seven values, each within 6.4 deviations of its share."""
    stream = Stream("seven")
    drawn = [draw_below(7, stream) for _ in range(70_000)]
    for value in range(7):
        assert abs(drawn.count(value) - 10_000) <= 6.4 * sqrt(70_000 * 6 / 49)


@pytest.mark.parametrize("scale", [1.0, 50.0, 1000.0])
def test_vectors_agree_with_opendp(scale: float) -> None:
    """Samples of OpenDP and ours could come from the same distribution."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int))
    exact = Fraction(scale)
    theirs: dict[Mechanism, Callable[[list[int]], list[int]]] = {
        DiscreteLaplace(exact): dp.m.make_laplace(space, dp.l1_distance(T=int), scale),
        DiscreteGaussian(exact**2): dp.m.make_gaussian(space, dp.l2_distance(T=float), scale),
    }
    for mechanism, measurement in theirs.items():
        sample = measurement([0] * 30_000)
        assert same_shape(mechanism.draw(200_000, SYSTEM_ENTROPY), sample, mechanism)


# -- negative controls: wrong noise, and what must be said against it --


def _generator() -> np.random.Generator:
    return np.random.default_rng(20_240_229)


def _rounded_laplace(scale: float) -> list[int]:
    drawn: list[int] = np.rint(_generator().laplace(0, scale, MANY)).astype(int).tolist()
    return drawn


def _rounded_gaussian(spread: float) -> list[int]:
    drawn: list[int] = np.rint(_generator().normal(0, spread, MANY)).astype(int).tolist()
    return drawn


def _right(mechanism: Mechanism) -> list[int]:
    return mechanism.draw(MANY, Stream("right"))


def _shifted_table(mechanism: Mechanism) -> list[int]:
    """The table without its first entry: each size is one too small, from the second on."""
    stairs = _stairs(mechanism)
    off = replace(
        stairs, lows=stairs.lows[1:], highs=np.delete(stairs.highs, 1), sure=stairs.sure[1:]
    )
    return draw_noise(off, MANY, Stream("shifted"))


def _always_kept(mechanism: Mechanism) -> list[int]:
    """A staircase without the rejection within its steps, which are wide."""
    stairs = _stairs(mechanism, coarser=5)
    sure = np.full(len(stairs.sure), 1 << 63, dtype=np.uint64)
    return draw_noise(replace(stairs, sure=sure), MANY, Stream("kept"))


def _biased_sign(mechanism: Mechanism) -> list[int]:
    """One draw in fifty has its sign taken away."""
    return [abs(one) if i % 50 == 0 else one for i, one in enumerate(_right(mechanism))]


def _repeated(mechanism: Mechanism) -> list[int]:
    """One draw in thirty is that before once more."""
    drawn = _right(mechanism)
    return [drawn[i - 1] if i % 30 == 0 else one for i, one in enumerate(drawn)]


def _even(mechanism: Mechanism) -> list[int]:
    """The last bit always 0, as with noise on a grid of two."""
    return [one & ~1 for one in _right(mechanism)]


def _cut(mechanism: Mechanism) -> list[int]:
    """Nothing beyond four standard deviations."""
    most = floor(4 * mechanism.std)
    return [max(-most, min(one, most)) for one in _right(mechanism)]


_LAPLACE_1, _LAPLACE_50 = DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(50))
_LAPLACE_1000 = DiscreteLaplace(Fraction(1000))
_GAUSSIAN_1, _GAUSSIAN_50 = DiscreteGaussian(Fraction(1)), DiscreteGaussian(Fraction(2500))
_GAUSSIAN_FAR = DiscreteGaussian(Fraction(10**12))
WRONG: list[tuple[str, Mechanism, Callable[[], list[int]], str]] = [
    ("rounded", _LAPLACE_1, lambda: _rounded_laplace(1), "shape"),
    ("rounded", _GAUSSIAN_1, lambda: _rounded_gaussian(1), "shape"),
    ("half", _LAPLACE_50, lambda: _right(DiscreteLaplace(Fraction(25))), "shape"),
    ("half", _GAUSSIAN_50, lambda: _right(DiscreteGaussian(Fraction(625))), "tails"),
    ("2 % less", _LAPLACE_50, lambda: _right(DiscreteLaplace(Fraction(49))), "shape"),
    ("2 % less", _GAUSSIAN_50, lambda: _right(DiscreteGaussian(Fraction(49**2))), "shape"),
    ("off by one", _LAPLACE_1, lambda: _shifted_table(_LAPLACE_1), "shape"),
    ("off by one", _GAUSSIAN_50, lambda: _shifted_table(_GAUSSIAN_50), "shape"),
    ("off by one", _LAPLACE_50, lambda: _shifted_table(_LAPLACE_50), "shape"),
    ("always kept", _LAPLACE_50, lambda: _always_kept(_LAPLACE_50), "shape"),
    ("always kept", _GAUSSIAN_FAR, lambda: _always_kept(_GAUSSIAN_FAR), "shape"),
    ("signs", _LAPLACE_50, lambda: _biased_sign(_LAPLACE_50), "signs"),
    ("repeated", _GAUSSIAN_50, lambda: _repeated(_GAUSSIAN_50), "neighbours"),
    ("even", _LAPLACE_1000, lambda: _even(_LAPLACE_1000), "low bits"),
    ("cut", _LAPLACE_50, lambda: _cut(_LAPLACE_50), "tails"),
    ("Laplace", _GAUSSIAN_FAR, lambda: _right(DiscreteLaplace(Fraction(707_107))), "shape"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "wrong", "said"),
    [row[1:] for row in WRONG],
    ids=[f"{row[0]} {row[1]}" for row in WRONG],
)
def test_checks_find_fault_with_noise_that_is_wrong(
    mechanism: Mechanism, wrong: Callable[[], list[int]], said: str
) -> None:
    """Negative controls: each mistake is found by the check that is there for it."""
    assert said in objections(wrong(), mechanism)


def test_comparison_with_opendp_finds_fault_with_another_scale() -> None:
    """Negative control: the two-sample check tells scales of 50 and 45 apart."""
    other = DiscreteLaplace(Fraction(45)).draw(30_000, Stream("other scale"))
    assert not same_shape(_right(_LAPLACE_50)[:200_000], other, _LAPLACE_50)
