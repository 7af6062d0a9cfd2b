"""Mechanisms as values: what they cost, how wide they are, and what they refuse to be."""

from decimal import localcontext
from fractions import Fraction
from itertools import pairwise
from math import erfc, exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each
from noise.exact import DIGITS, decimal, tails
from noise.streams import Stream

from gateway.noise import tail_bounds as reach
from gateway.noise.mechanism import (
    MANY,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    gaussian_for,
    laplace_for,
    round_up,
)
from gateway.noise.tail_bounds import SUMMED_VARIANCE, gaussian_reach, laplace_reach

POSITIVE = st.fractions(min_value=Fraction(1, 10**40), max_value=10**12)
SMALL: list[Mechanism] = [
    *map(DiscreteLaplace, map(Fraction, ("1/100", "3/10", "1", "7/3", "20"))),
    *map(DiscreteGaussian, map(Fraction, ("1/100", "1/10", "1", "49/9", "400"))),
]
F_20 = Fraction(20)
WITHIN: Fraction = Fraction(1, 2**40)


@given(epsilon=POSITIVE, delta1=st.integers(1, 2**70))
def test_laplace_costs_the_price_and_no_more(epsilon: Fraction, delta1: int) -> None:
    """The epsilon computed back is at most the price, and within 2^-40 of it."""
    cost = laplace_for(epsilon, delta1).epsilon_for(delta1)
    assert epsilon * (1 - WITHIN) <= cost <= epsilon


@given(rho=POSITIVE, delta2=POSITIVE)
def test_gaussian_costs_the_price_and_no_more(rho: Fraction, delta2: Fraction) -> None:
    """The rho computed back is at most the price, and within 2^-40 of it."""
    cost = gaussian_for(rho, delta2).rho_for(delta2)
    assert rho * (1 - WITHIN) <= cost <= rho


def test_price_is_met_exactly_when_the_scale_is_a_short_fraction() -> None:
    """Prices that people write lose nothing to rounding."""
    assert laplace_for(Fraction("0.05"), 10) == DiscreteLaplace(Fraction(200))
    assert laplace_for(Fraction("0.3"), 7).epsilon_for(7) == Fraction("0.3")
    assert gaussian_for(Fraction("0.003"), 4).rho_for(4) == Fraction("0.003")


@given(value=st.fractions(min_value=Fraction(1, 10**60), max_value=10**60))
def test_rounding_up_is_short_and_never_down(value: Fraction) -> None:
    """A long fraction becomes a number of at most 49 bits, larger by less than a 2^-47th part."""
    rounded = round_up(value)
    assert value <= rounded < value * (1 + Fraction(1, 2**47))
    long = max(value.numerator.bit_length(), value.denominator.bit_length()) > 64
    if long:
        assert rounded.denominator & (rounded.denominator - 1) == 0
        odd = rounded.numerator >> ((rounded.numerator & -rounded.numerator).bit_length() - 1)
        assert odd.bit_length() <= 49
    else:
        assert rounded == value


def test_laplace_costs_less_in_zcdp_when_no_single_count_moves_far() -> None:
    """Four counts that move by one each cost 4·(1/b)²/2, one that moves by four (4/b)²/2."""
    noise = DiscreteLaplace(Fraction(10))
    assert noise.rho_for(delta1=4, delta_inf=1) == Fraction(4, 200)
    assert noise.rho_for(delta1=4, delta_inf=4) == Fraction(16, 200)
    # privacy.md §4: ε²·Δ∞/(2Δ1)
    assert noise.rho_for(delta1=4, delta_inf=1) == noise.epsilon_for(4) ** 2 / (2 * 4)
    assert noise.epsilon_for(0) == 0


def test_rho_of_laplace_bounds_the_divergence_of_its_shift() -> None:
    """The Rényi divergence between X and X + d is at most alpha·(d/b)²/2, for several alpha."""
    scale, delta = 3, 2
    cost = float(DiscreteLaplace(Fraction(scale)).rho_for(delta1=delta, delta_inf=delta))
    for alpha in (1.1, 2.0, 8.0, 64.0):
        assert _divergence(scale, delta, alpha) <= alpha * cost
    assert _divergence(scale, delta, 1.1) > 1.1 * cost / 2  # and it is not far below


def _divergence(scale: int, delta: int, alpha: float) -> float:
    terms = [(abs(x), abs(x - delta)) for x in range(-300, 300)]
    a = exp(-1 / scale)
    moment = sum(exp((-alpha * p - (1 - alpha) * q) / scale) for p, q in terms)
    return log(moment * (1 - a) / (1 + a)) / (alpha - 1)


@for_each("confidence", ["1/2", "95/100", "99/100", "999999/1000000"])
@for_each("mechanism", SMALL, ids=str)
def test_margin_is_the_smallest_that_covers_when_sums_are_taken(
    mechanism: Mechanism, confidence: str
) -> None:
    """P(|X| ≤ k) reaches the confidence at the margin, and not one before."""
    margin = mechanism.margin(Fraction(confidence))
    with localcontext() as context:
        context.prec = DIGITS
        outside = [2 * tail for tail in tails(mechanism, margin + 1)]
        missing = decimal(1 - Fraction(confidence))
        assert outside[margin + 1] <= missing
        assert margin == 0 or outside[margin] > missing


@pytest.mark.parametrize("scale", [1, 1000, 10**9, 10**25])
def test_margin_of_laplace_follows_its_formula_when_the_scale_is_large(scale: int) -> None:
    """At large scales the margin is b·ln 20, to a part in a thousand or one."""
    margin = DiscreteLaplace(Fraction(scale)).margin()
    assert abs(margin - scale * Fraction(log(20))) <= Fraction(max(1000, scale), 1000)


@pytest.mark.parametrize("spread", [256, 257, 1000, 10**9, 10**25])
def test_margin_of_gaussian_is_never_short_when_the_normal_tail_is_taken(spread: int) -> None:
    """At large variances the margin is 1.96 standard deviations, or up to two more than that."""
    margin = DiscreteGaussian(Fraction(spread) ** 2).margin()
    exact = Fraction("1.959963984540054") * spread
    # P(|X| ≤ k) is P(|N| ≤ k + 1/2) up to terms far below a part in 1/spread
    assert exact - Fraction(1, 2) - exact / 10**12 <= margin <= exact + 2 + exact / 10**12


def test_margins_agree_when_one_way_to_compute_them_follows_the_other() -> None:
    """Where sums end and the normal tail begins, the margin rises by no more than one step."""
    summed = DiscreteGaussian(Fraction(SUMMED_VARIANCE))
    normal = DiscreteGaussian(Fraction(SUMMED_VARIANCE) + Fraction(1, 10**6))
    for confidence in ("1/2", "95/100", "999999999/1000000000"):
        first, then = (one.margin(Fraction(confidence)) for one in (summed, normal))
        assert first <= then <= first + 1


def test_reach_never_grows_when_the_limit_does() -> None:
    """A larger limit is reached sooner; tiny and large limits are both answered."""
    limits = [Fraction(1, 10**120), Fraction(1, 10**30), Fraction(1, 10**6), Fraction(1, 3)]
    for mechanism in (
        *SMALL,
        DiscreteLaplace(Fraction(10**12)),
        DiscreteGaussian(Fraction(10**12)),
    ):
        reaches = [mechanism.reach(limit) for limit in [*limits, Fraction(99, 100)]]
        assert all(before >= after for before, after in pairwise(reaches))
        assert reaches[-1] <= 1 <= reaches[-2]


@pytest.mark.parametrize("first_bits", [4, 8, 20])
def test_reach_is_never_too_small_when_precision_is_poor(
    first_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds that leave much open the answer is larger, never smaller."""
    limits = [Fraction(n, 1000) for n in range(1, 400, 7)]
    exact = [(laplace_reach(F_20, limit), gaussian_reach(F_20, limit)) for limit in limits]
    monkeypatch.setattr(reach, "_FIRST_BITS", first_bits)
    monkeypatch.setattr(reach, "_ATTEMPTS", 1)
    poor = [
        (laplace_reach.__wrapped__(F_20, limit), gaussian_reach.__wrapped__(F_20, limit))
        for limit in limits
    ]
    for one, other in zip(exact, poor, strict=True):
        assert other[0] >= one[0]
        assert other[1] >= one[1]
    if first_bits == 4:
        assert poor != exact  # else nothing was left open


@for_each("mechanism", SMALL, ids=str)
def test_standard_deviation_is_that_of_the_distribution(mechanism: Mechanism) -> None:
    """`std` squared is the second moment, summed from the tails: E X² = 2·Σ (2k-1)·P(X ≥ k)."""
    known = tails(mechanism, 700)
    moment = sum(2 * (2 * k - 1) * tail for k, tail in enumerate(known) if k)
    assert mechanism.std == pytest.approx(sqrt(moment), rel=1e-9, abs=1e-20)


def test_standard_deviation_is_close_to_the_parameter_when_it_is_large() -> None:
    """No overflow, no cancellation."""
    assert DiscreteGaussian(Fraction(10) ** 40).std == pytest.approx(1e20)
    assert DiscreteLaplace(Fraction(10) ** 40).std == pytest.approx(sqrt(2) * 1e40)
    assert DiscreteLaplace(Fraction(1, 10**6)).std == 0.0
    assert erfc(DiscreteGaussian(Fraction(10**6)).margin() / 1000 / sqrt(2)) <= 0.05


@for_each("mechanism", SMALL, ids=str)
def test_draw_repeats_itself_when_the_entropy_does(mechanism: Mechanism) -> None:
    """The entropy that is handed in is the only source, for few draws and for many."""
    for count in (0, 1, MANY - 1, MANY, 500):
        drawn, again = (mechanism.draw(count, Stream("one")) for _ in range(2))
        assert drawn == again
        assert len(drawn) == count
        assert all(type(one) is int for one in drawn)


@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(-1), 1.0, 1])
def test_mechanism_refuses_a_scale_that_is_no_positive_fraction(wrong: object) -> None:
    """Zero, negative and floating scales cannot be built."""
    for kind in (DiscreteLaplace, DiscreteGaussian):
        with pytest.raises((TypeError, ValueError), match=r"Fraction|above 0"):
            kind(wrong)  # type: ignore[arg-type]


def test_prices_and_sensitivities_are_refused_when_they_are_not_positive() -> None:
    """No price, no sensitivity: no noise is made up for either."""
    for epsilon, delta1 in ((Fraction(0), 1), (Fraction(1), 0), (Fraction(1), -1)):
        with pytest.raises(ValueError, match="above 0"):
            laplace_for(epsilon, delta1)
        with pytest.raises(ValueError, match="above 0"):
            gaussian_for(epsilon, delta1)
    with pytest.raises(TypeError, match="a price"):
        laplace_for(0.5, 1)  # type: ignore[arg-type]
    for wrong in (True, 1.5):
        with pytest.raises(TypeError, match="sensitivity"):
            DiscreteLaplace(Fraction(1)).epsilon_for(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not negative"):
        DiscreteGaussian(Fraction(1)).rho_for(-1)
    for confidence in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            DiscreteLaplace(Fraction(1)).margin(confidence)
