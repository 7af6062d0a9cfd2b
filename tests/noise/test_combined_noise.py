"""Integers that are put together of two noisy ones, and the noise that is in them, against exact distributions."""

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import exp, floor, prod, sqrt

import numpy as np
import pytest
from noise.streams import Stream
from numpy.typing import NDArray

from gateway.intervals.margins import Widths, exact_margin, near_margin
from gateway.noise.combined_noise import (
    AnyNoise,
    CombinedNoise,
    Term,
    combine_draws,
    kurtosis,
    sum_noise,
    variance_of,
    weight_of,
)
from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

_SLACK = 1e-9  # what floats may be off
_HALF = Fraction(1, 2)
CONFIDENCES = [Fraction(one, 1000) for one in (500, 900, 950, 990, 999)]


def _laplace(scale: str) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale))


def _gaussian(variance: str) -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(variance))


def _mixed(old: AnyNoise, *more: Mechanism | SummedNoise) -> AnyNoise:
    """Topped up again and again."""
    for one in more:
        _, old = combine_draws((), old, (), one)
    return old


TINY: list[tuple[Mechanism, ...]] = [
    (_laplace("0.05"), _laplace("0.05")),
    (_laplace("0.3"), _laplace("0.35")),
    (_laplace("0.5"), _laplace("0.5"), _laplace("0.4")),
    (_laplace("1"), _laplace("1")),
    (_laplace("20"), _laplace("0.5")),
    (_laplace("3"), _laplace("3"), _laplace("1")),
    (_gaussian("0.1"), _gaussian("0.1")),
    (_gaussian("1"), _gaussian("0.3")),
    (_gaussian("9"), _gaussian("16"), _gaussian("2")),
]
WIDE: list[tuple[Mechanism, ...]] = [
    (_laplace("5"), _laplace("5")),
    (_laplace("8"), _laplace("24")),
    (_laplace("30"), _laplace("9"), _laplace("7")),
    (_laplace("12"), _laplace("12"), _laplace("12"), _laplace("12")),
    (_gaussian("40"), _gaussian("60")),
    (_gaussian("900"), _gaussian("100"), _gaussian("70")),
]


@cache
def _weights(noise: Mechanism) -> dict[int, float]:
    if isinstance(noise, DiscreteLaplace):
        far, scale = int(28 * noise.scale) + 2, float(noise.scale)
        found = {x: exp(-abs(x) / scale) for x in range(-far, far + 1)}
    else:
        far, variance = int(8 * sqrt(noise.variance)) + 2, float(noise.variance)
        found = {x: exp(-x * x / (2 * variance)) for x in range(-far, far + 1)}
    whole = sum(found.values())
    return {x: one / whole for x, one in found.items()}


@cache
def _together(noises: tuple[Mechanism, ...]) -> NDArray[np.float64]:
    """The distribution of the combination, value by value in exact fractions; that of 0 is in the middle."""
    there, before = _weights(noises[0]), noises[0]
    mixed: AnyNoise = before
    for one in noises[1:]:
        weight = weight_of(mixed, one)
        p, q = weight.numerator, weight.denominator
        found: defaultdict[int, float] = defaultdict(float)
        for (x, of_x), (y, of_y) in product(there.items(), _weights(one).items()):
            if of_x * of_y > 1e-16:
                found[(2 * (p * x + (q - p) * y) + q) // (2 * q)] += of_x * of_y
        there, mixed = found, _mixed(mixed, one)
    far = max(map(abs, there))
    return np.array([there.get(x, 0.0) for x in range(-far, far + 1)])


def _summed(one: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    found = np.ones(1)
    for _ in range(count):
        found = np.convolve(found, one)
    return found


def _within(of: NDArray[np.float64], margin: float) -> float:
    at = np.abs(np.arange(len(of)) - len(of) // 2)
    return float(of[at <= margin].sum())


def _std(of: NDArray[np.float64]) -> float:
    at = np.arange(len(of)) - len(of) // 2
    return sqrt(float((of * at * at).sum()))


def test_combination_is_the_nearest_integer_of_the_weighted_mean() -> None:
    """Computed in fractions, one by one: of small numbers and of such as no machine word holds."""
    stream = Stream("columns")
    for bits in (4, 20, 45, 90):
        old, new = (
            [stream.bits(bits) - 2 ** (bits - 1) for _ in range(200)] for _ in range(2)
        )  # fmt: skip
        for one, other in ((_laplace("3"), _laplace("3")), (_gaussian("70"), _gaussian("9"))):
            weight = weight_of(one, other)
            ints, _ = combine_draws(old, one, new, other)
            means = (weight * x + (1 - weight) * y for x, y in zip(old, new, strict=True))
            assert ints == tuple(floor(each + _HALF) for each in means)


def test_noise_of_a_combination_does_not_depend_on_the_value() -> None:
    """It is what the same noises make of 0, moved by the value: so one distribution says it all."""
    stream, noises = Stream("values"), (_laplace("4"), _laplace("9"))
    first, second = (one.draw(500, stream) for one in noises)
    nothing, _ = combine_draws(first, noises[0], second, noises[1])
    for value in (-(10**12), -7, 1, 2**80):
        moved, _ = combine_draws(
            [value + one for one in first], noises[0], [value + one for one in second], noises[1]
        )
        assert [one - value for one in moved] == list(nothing)


@pytest.mark.parametrize("ratio", [2.0**-one for one in (0, 1, 3, 10, 20, 31, 33, 35, 60, 200)])
def test_weights_are_as_good_as_the_best(ratio: float) -> None:
    """The variance is within a millionth of the least there is, and both ways alike."""
    old, new = Fraction(12), 12 * Fraction(ratio)
    best = old * new / (old + new)
    for one, other in ((old, new), (new, old)):
        weight = weight_of(DiscreteGaussian(one), DiscreteGaussian(other))
        assert (
            best <= weight**2 * one + (1 - weight) ** 2 * other <= best * (1 + Fraction(1, 10**6))
        )
        assert weight.denominator <= 2**32
        assert weight in {0, 1} or weight.denominator == 2**32, "halves are rare"


def test_combination_hardly_leans_though_halves_are_rounded_up() -> None:
    """Of two equal noises every second mean would be a half; with the weight that is taken none is."""
    noise = _laplace("3")
    found = _together((noise, noise))
    assert abs(float((found * (np.arange(len(found)) - len(found) // 2)).sum())) < 1e-9
    halves = CombinedNoise((Term(_HALF, noise), Term(_HALF, noise)))
    drawn = halves.draw(20_000, Stream("leaning"))
    assert 0.15 < sum(drawn) / len(drawn) < 0.35, "a fourth, where half of all are halves"
    total = sum_noise(halves, 10_000)
    assert 2_500 + 1.6 * total.std < total.margin() < 2_500 + 2 * total.std


def test_topping_up_a_mixed_noise_keeps_all_terms() -> None:
    """Their weights are multiplied, add up to 1, and their variances to that of the combination."""
    noises = (_laplace("3"), _laplace("5"), _laplace("2"))
    _, two = combine_draws((), noises[0], (), noises[1])
    _, three = combine_draws((), two, (), noises[2])
    assert [one.noise for one in three.terms] == list(noises)
    assert sum(one.weight for one in three.terms) == 1
    last = three.terms[-1].weight
    assert variance_of(three) == (1 - last) ** 2 * variance_of(two) + last**2 * variance_of(
        noises[2]
    )
    inverse = 1 / sum(1 / variance_of(one) for one in noises)
    assert inverse <= variance_of(three) <= inverse * (1 + Fraction(1, 10**6))


def test_what_was_put_together_is_never_the_new_one() -> None:
    """Its terms are in the order in which they were rounded in."""
    _, two = combine_draws((), _laplace("3"), (), _laplace("3"))
    with pytest.raises(ValueError, match="drawn at once"):
        combine_draws((1,), _laplace("3"), (2,), two)


def test_noise_without_weight_leaves_the_other_alone() -> None:
    """Where one is so wide that it can tell nothing."""
    near, far = _laplace("1"), DiscreteLaplace(Fraction(10**9))
    assert combine_draws((3,), near, (10**12,), far) == (
        (3,),
        CombinedNoise((Term(Fraction(1), near),)),
    )
    assert combine_draws((10**12,), far, (3,), near) == (
        (3,),
        CombinedNoise((Term(Fraction(1), near),)),
    )


@pytest.mark.parametrize(
    "terms",
    [
        (),
        (Term(Fraction(1, 2), _laplace("1")),),
        (Term(Fraction(2), _laplace("1")), Term(Fraction(-1), _laplace("1"))),
        (Term(_HALF, _laplace("1"), 3), Term(_HALF, _laplace("1"), 2, 2)),
        (Term(_HALF, _laplace("1"), 2), Term(_HALF, _laplace("1"), 3, 2)),
    ],
)
def test_mixed_refuses_terms_that_nothing_was_put_together_of(terms: tuple[Term, ...]) -> None:
    """Weights are above 0 and add up to 1; what is rounded together has as many draws everywhere."""
    with pytest.raises(ValueError, match="of a mixed noise"):
        CombinedNoise(terms)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("noises", TINY, ids=str)
def test_margin_is_the_smallest_when_the_noise_is_a_few_steps(
    noises: tuple[Mechanism, ...], confidence: Fraction
) -> None:
    """By the exact distribution, rounding included: of one, and of totals of several."""
    one = _together(noises)
    for groups in (1, 2, 7):
        margin = sum_noise(_mixed(*noises), groups).margin(confidence)
        whole = _summed(one, groups)
        assert _within(whole, margin) >= float(confidence) - _SLACK
        assert margin == 0 or _within(whole, margin - 1) < float(confidence) + _SLACK


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("noises", WIDE, ids=str)
def test_margin_holds_and_is_not_wide_when_steps_are_small(
    noises: tuple[Mechanism, ...], confidence: Fraction
) -> None:
    """Never fewer than promised; from 95 % on a sixth less, and a step, would be too little."""
    one = _together(noises)
    for groups in (1, 2, 7):
        margin = sum_noise(_mixed(*noises), groups).margin(confidence)
        whole = _summed(one, groups)
        assert _within(whole, margin) >= float(confidence) - _SLACK
        if confidence >= Fraction(95, 100):
            assert _within(whole, margin * 5 / 6 - 1) < float(confidence)


def test_margin_misses_sums_when_rounding_is_left_out() -> None:
    """A few steps of noise, many groups: what rounding adds is not small, and the comparison sees that it is missing."""
    noises = (_laplace("0.45"), _laplace("0.45"))
    groups = 40
    total = sum_noise(_mixed(*noises), groups)
    assert isinstance(total, CombinedNoise)
    whole = _summed(_together(noises), groups)
    unrounded = _unrounded(total)
    assert _std(whole) > 1.2 * unrounded
    assert _within(whole, total.margin()) >= 0.95 - _SLACK
    assert _within(whole, 1.96 * unrounded) < 0.93


def _unrounded(mixed: CombinedNoise) -> float:
    return sqrt(sum(float(one.weight) ** 2 * one.noise.std**2 * one.count for one in mixed.terms))


def _beyond(scales: list[float], x: float) -> float:
    """P(|X| > x) of a sum of Laplace noises of different scales: by partial fractions."""
    return sum(
        exp(-x / one) * prod(one**2 / (one**2 - other**2) for other in scales if other != one)
        for one in scales
    )


@pytest.mark.parametrize("missed", ["0.05", "0.03", "0.01", "0.001"])
def test_margin_holds_of_laplace_noises_of_any_two_to_four_scales(missed: str) -> None:
    """Where steps are nothing: from nearly equal ones to such where one is hardly seen beside the other."""
    most = Fraction(missed)
    unit = 10**9
    sizes = [1.0, 1.003, 1.3, 2.0, 5.0, 30.0]
    for many in (2, 3, 4):
        for scales in combinations(sizes, many):
            noises = [DiscreteLaplace(Fraction(one) * unit) for one in scales]
            mixed = _mixed(*noises)
            assert isinstance(mixed, CombinedNoise)
            parts = [float(one.weight * one.noise.scale) for one in mixed.terms if isinstance(one.noise, DiscreteLaplace)]  # fmt: skip
            margin = mixed.margin(1 - most)
            missing = _beyond([one / unit for one in parts], margin / unit)
            assert float(most) / 4 < missing <= float(most)


def test_margin_is_chebyshevs_when_noises_differ_too_much_to_look_at() -> None:
    """Wide, but right: a noise of hundreds of thousands beside one of a step."""
    mixed = _mixed(_gaussian("160000000000"), _gaussian("4"))
    assert isinstance(mixed, CombinedNoise)
    alone = _gaussian("4").margin()
    assert alone <= mixed.margin() <= 4 * alone


@pytest.mark.parametrize("noises", [*TINY, *WIDE], ids=str)
def test_std_is_that_of_the_distribution(noises: tuple[Mechanism, ...]) -> None:
    """With its rounding: a five-hundredth less at most, and hardly more than half a step more."""
    for groups in (1, 5):
        exact = sqrt(groups) * _std(_together(noises))
        assert (
            exact * 0.998 <= sum_noise(_mixed(*noises), groups).std <= exact + 0.55 * sqrt(groups)
        )


def test_kurtosis_falls_with_the_terms() -> None:
    """Three of one Laplace noise, half of it of two equal ones, and of a total as many parts as are added up."""
    two = _mixed(_laplace("1000"), _laplace("1000"))
    assert kurtosis(two) == pytest.approx(1.5, rel=1e-4)
    assert kurtosis(sum_noise(two, 5)) == pytest.approx(0.3, rel=1e-4)
    assert kurtosis(_mixed(_gaussian("900"), _gaussian("900"))) == 0


def test_total_of_totals_is_a_total() -> None:
    """However it is added up."""
    laplace = _laplace("3")
    two = _mixed(laplace, laplace)
    assert sum_noise(two, 1) is two
    assert sum_noise(SummedNoise(laplace, 3), 4) == SummedNoise(laplace, 12)
    assert sum_noise(sum_noise(two, 3), 4) == sum_noise(two, 12)


def _fits(drawn: list[int], of: NDArray[np.float64]) -> bool:
    """Pearson's test over values that are expected 50 times, and what is outside; alarms with a chance below 1e-7."""
    expected = of * len(drawn)
    places: list[int] = np.flatnonzero(expected >= 50).tolist()
    counts = Counter(one + len(of) // 2 for one in drawn)
    rest = len(drawn) - sum(counts[place] for place in places)
    cells = [(counts[place], expected[place]) for place in places]
    left = len(drawn) - sum(each for _, each in cells)
    if left >= 5:
        cells.append((rest, left))
    square = sum((seen - each) ** 2 / each for seen, each in cells)
    degrees = len(cells) - 1
    return bool(square <= degrees + 8 * sqrt(2 * degrees) + 40)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("noises", [TINY[1], TINY[2], TINY[5], WIDE[0], WIDE[2], WIDE[4]], ids=str)
def test_simulation_draws_the_distribution_of_the_combination(
    noises: tuple[Mechanism, ...], groups: int
) -> None:
    """Rounding included, after every topping up; of half the noise the comparison says no."""
    one = _summed(_together(noises), groups)
    drawn = sum_noise(_mixed(*noises), groups).draw(20_000, Stream(f"simulated {noises} {groups}"))
    assert len(drawn) == 20_000
    assert _fits(drawn, one)
    assert not _fits([round(each / 2) for each in drawn], one)


def test_simulation_of_what_was_combined_has_the_very_noise() -> None:
    """The same draws in the same order give what the combination of the columns gave."""
    noises = (_laplace("4"), _laplace("7"))
    stream = Stream("very")
    columns = [one.draw(300, stream) for one in noises]
    ints, mixed = combine_draws(columns[0], noises[0], columns[1], noises[1])
    assert mixed.draw(300, Stream("very")) == list(ints)


@pytest.mark.parametrize(
    "noise",
    [
        SummedNoise(_laplace("9"), 5),
        SummedNoise(_laplace("9"), 500),
        SummedNoise(_laplace("0.2"), 100),
        sum_noise(_mixed(_laplace("9"), _laplace("30")), 4),
        sum_noise(_mixed(_laplace("9"), _laplace("30")), 400),
        _mixed(SummedNoise(_laplace("9"), 12), _laplace("40")),
        _mixed(sum_noise(_mixed(_laplace("9"), _laplace("30")), 6), _laplace("20"), _laplace("8")),
    ],
    ids=str,
)
def test_simulated_totals_are_spread_as_their_noise(noise: SummedNoise | CombinedNoise) -> None:
    """Of few parts and of many: the spread of 10,000 is within 8 %, and as many as promised are within the margin."""
    drawn = noise.draw(10_000, Stream(f"totals {noise}"))
    assert len(drawn) == 10_000
    assert 0.92 < np.std(drawn) / noise.std < 1.08
    assert abs(np.mean(drawn)) < 6 * noise.std / 100
    within = sum(abs(one) <= noise.margin() for one in drawn)
    assert 0.937 < within / len(drawn) < 0.999


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_half_width_of_a_mixed_noise_holds_whatever_the_confidence(confidence: Fraction) -> None:
    """Alone, added up, and beside another noise."""
    noises = (_laplace("9"), _laplace("30"))
    one, misses = _together(noises), float(1 - confidence) * 1.01
    mixed = _mixed(*noises)
    for groups in (1, 5):
        half = float(Widths((sum_noise(mixed, groups),), confidence).half({0: np.float64(1)}))
        assert 1 - _within(_summed(one, groups), half) <= misses
    half = float(
        Widths((mixed, _laplace("6")), confidence).half({0: np.float64(1), 1: np.float64(1)})
    )
    assert 1 - _within(np.convolve(one, _together((_laplace("6"),))), half) <= misses
    assert near_margin(mixed, confidence) == exact_margin(mixed, confidence)
