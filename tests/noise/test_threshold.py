"""Thresholds, held against the exact tails and against the two formulas of the design.

The formulas: with a = e^(-1/b), floor + ⌈b·ln(G/(δ(1+a)))⌉ for Laplace; and
floor + 1 + ⌈sigma·Φ⁻¹(1 - δ/G)⌉ for Gaussian noise.
"""

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import ceil, sqrt
from statistics import NormalDist

import pytest
from laws import for_each
from noise.exact import DIGITS, decimal, tails

from gateway.noise.allocation import threshold
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

GROUPS = [1, 3, 10, 1000]
DELTAS = [Fraction(text) for text in ("1/4", "1e-3", "1e-6", "5e-10", "1e-15")]
SCALES = [Fraction(text) for text in ("1/10", "1/2", "1", "7/3", "10", "40")]
VARIANCES = [Fraction(text) for text in ("1/10", "1/2", "1", "49/9", "100", "1600")]


def _keeps_the_promise(tail: list[Decimal], tau: int, groups: int, delta: Fraction) -> bool:
    """G·P(floor + X ≥ tau) ≤ δ, for a floor of 2."""
    with localcontext() as context:
        context.prec = DIGITS
        return groups * tail[tau - 2] <= decimal(delta)


def _by_formula(mechanism: Mechanism, groups: int, delta: Fraction) -> int:
    match mechanism:
        case DiscreteLaplace(scale):
            with localcontext() as context:
                context.prec = DIGITS
                a = (-1 / decimal(scale)).exp()
                reach = decimal(scale) * (groups / (decimal(delta) * (1 + a))).ln()
                return 2 + int(reach.to_integral_value(ROUND_CEILING))
        case DiscreteGaussian(variance):
            z = -NormalDist().inv_cdf(float(delta / groups))
            return 3 + ceil(sqrt(variance) * z)


@for_each(
    "mechanism",
    [*map(DiscreteLaplace, SCALES), *map(DiscreteGaussian, VARIANCES)],
    ids=str,
)
def test_threshold_is_the_smallest_that_keeps_delta(mechanism: Mechanism) -> None:
    """By exact tails, the threshold keeps the promise and one less would not; the formula of the
    design keeps it too.
    """
    tail = tails(mechanism, 2200)
    for groups, delta in product(GROUPS, DELTAS):
        tau = threshold(mechanism, groups, delta)
        assert _keeps_the_promise(tail, tau, groups, delta)
        assert tau == 2 or not _keeps_the_promise(tail, tau - 1, groups, delta)
        formula = _by_formula(mechanism, groups, delta)
        assert _keeps_the_promise(tail, formula, groups, delta)
        if isinstance(mechanism, DiscreteLaplace):
            assert formula == tau
        else:
            assert tau <= formula <= tau + 1 + ceil(1 / mechanism.std)


@pytest.mark.parametrize("spread", [300, 5000, 10**9])
def test_threshold_is_the_formula_when_the_variance_is_large(spread: int) -> None:
    """Beyond the sums, the Gaussian threshold is that of the design to a part in 10^9."""
    mechanism = DiscreteGaussian(Fraction(spread) ** 2)
    for groups, delta in product(GROUPS, DELTAS):
        formula = _by_formula(mechanism, groups, delta)
        found = threshold(mechanism, groups, delta)
        assert abs(found - formula) <= 1 + formula // 10**9


def test_checker_of_thresholds_finds_fault_when_the_tail_is_that_of_less_noise() -> None:
    """Negative control: thresholds for half the scale, or for one group of three, are caught."""
    delta = Fraction(1, 10**6)
    noise = DiscreteLaplace(Fraction(10))
    tail = tails(noise, 400)
    assert not _keeps_the_promise(tail, threshold(DiscreteLaplace(Fraction(5)), 3, delta), 3, delta)
    assert not _keeps_the_promise(tail, threshold(noise, 1, delta), 3, delta)


def test_threshold_moves_with_the_floor() -> None:
    """A higher floor raises the threshold by as much; the default floor is two."""
    noise = DiscreteLaplace(Fraction(10))
    delta = Fraction(1, 10**9)
    assert threshold(noise, 4, delta, 10) == threshold(noise, 4, delta) + 8
    assert threshold(noise, 4, delta) == threshold(noise, 4, delta, 2)


def test_threshold_is_never_below_the_floor_when_delta_is_large() -> None:
    """Hardly any noise and a generous delta leave the floor itself."""
    assert threshold(DiscreteLaplace(Fraction(1, 1000)), 1, Fraction(999, 1000), 5) in {5, 6}
    assert threshold(DiscreteGaussian(Fraction(1)), 1, Fraction(999, 1000), 5) == 5


@pytest.mark.parametrize(
    ("groups", "delta", "floor"),
    [(0, "1e-6", 2), (1, "0", 2), (1, "1", 2), (1, "1e-6", 0)],
)
def test_threshold_refuses_what_gives_no_promise(groups: int, delta: str, floor: int) -> None:
    """No group, no delta, a delta of one or no floor are mistakes of ours."""
    with pytest.raises(ValueError, match=r"group|delta"):
        threshold(DiscreteLaplace(Fraction(1)), groups, Fraction(delta), floor)
