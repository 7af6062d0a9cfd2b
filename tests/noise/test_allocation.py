"""The price of a statement is the cost of its noise, in both currencies; thresholds hold against exact tails."""

from dataclasses import replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from binding.cases import bind_case, every
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each
from noise.exact import DIGITS, decimal, tails
from noise.mechanisms import mechanisms
from numpy.typing import NDArray
from sensitivity.analyses import analysed

from gateway.binding.bound import Cut
from gateway.errors import Refusal
from gateway.noise.allocation import (
    Distribution,
    PriceExceeded,
    ReleaseNoise,
    _check,
    cost_of,
    price_noise,
    slots_of,
    threshold,
)
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets
from gateway.sensitivity.measurement import Measurement, Rows, Slot, Units

SQL = (
    "SELECT COUNT(*) FROM patients",
    "SELECT region, COUNT(*), AVG(income), SUM(birth_year) FROM patients GROUP BY region",
    "SELECT diagnosis, COUNT(*), AVG(cost) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, region, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY 1, 2",
    "SELECT COUNT(DISTINCT diagnosis), COUNT(DISTINCT patient_id) FROM visits",
)
NOISES = list(Distribution)
DELTA = Fraction(1, 10**9)
WITHIN = Fraction(1, 2**40)
PRICES = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)


def _analyses(noise: Distribution) -> tuple[Analysis, ...]:
    return tuple(analysed(sql, pairs=noise is Distribution.LAPLACE) for sql in SQL)


def _less(mechanism: Mechanism, factor: int) -> Mechanism:
    """Noise whose standard deviation is that much smaller."""
    match mechanism:
        case DiscreteLaplace(scale):
            return DiscreteLaplace(scale / factor)
        case DiscreteGaussian(variance):
            return DiscreteGaussian(variance / factor**2)


def _pays(cost: Fraction, price: Fraction) -> bool:
    try:
        _check(cost, price)
    except PriceExceeded:
        return False
    return True


@pytest.mark.parametrize("noise", NOISES)
@given(price=PRICES)
def test_price_buys_noise_that_costs_it_when_several_releases_share_it(
    noise: Distribution, price: Fraction
) -> None:
    """The cost is never above the price, and below it by less than a part in 2^40."""
    cost = cost_of(price_noise(_analyses(noise), noise, price, DELTA))
    assert price * (1 - WITHIN) <= cost <= price


@pytest.mark.parametrize("noise", NOISES)
def test_price_is_split_equally_over_slots_when_a_slot_has_two_measurements(
    noise: Distribution,
) -> None:
    """Every slot pays the same part, and the measurements of one slot get the same noise once paid."""
    analyses, price = _analyses(noise), Fraction(1)
    share = price / slots_of(analyses)
    for release in price_noise(analyses, noise, price, DELTA):
        assert len(release.noises) == len(release.analysis.measurements)
        place, groups = 0, release.analysis.groups_per_unit
        for slot in release.analysis.slots:
            of_slot = set(mechanisms(release)[place : place + len(slot.measurements)])
            place += len(slot.measurements)
            [mechanism] = of_slot
            paid = (
                mechanism.epsilon_for(slot.delta1(groups))
                if isinstance(mechanism, DiscreteLaplace)
                else mechanism.rho_for(slot.delta2_squared(groups))
            )
            assert share * (1 - WITHIN) <= paid <= share


@pytest.mark.parametrize("noise", NOISES)
def test_cost_is_above_the_price_when_something_was_forgotten(noise: Distribution) -> None:
    """Half the noise, a doubled sensitivity, one more group of a unit, and a slot too many are noticed."""
    price = Fraction(1, 2)
    made = price_noise(_analyses(noise), noise, price, DELTA)
    first, *rest = made
    [slot] = first.analysis.slots
    half = replace(first, noises=tuple(_less(one, 2) for one in mechanisms(first)))
    wider = replace(slot, most=2 * slot.most)
    doubled = replace(first, analysis=replace(first.analysis, slots=(wider,)))
    groups = replace(first, analysis=replace(first.analysis, groups_per_unit=2))
    more = replace(
        first,
        analysis=replace(first.analysis, slots=(slot, slot)),
        noises=first.noises * 2,
    )
    assert _pays(cost_of(made), price)
    for wrong in (half, doubled, groups, more):
        assert not _pays(cost_of([wrong, *rest]), price)
    assert not _pays(cost_of(rest), price), "a slot that was paid for and has no noise"


@pytest.mark.parametrize("noise", NOISES)
def test_delta_is_split_over_thresholds_when_several_releases_have_one(noise: Distribution) -> None:
    """Each threshold keeps its own part of delta for the noise of its own count; the others have none."""
    analyses = _analyses(noise)
    found = [one for one in analyses if isinstance(one.groups, ThresholdGroups)]
    assert len(found) == 2
    price = Fraction(100)  # tails are summed plainly, and counts are in 2^16-ths
    for release in price_noise(analyses, noise, price, DELTA):
        groups = release.analysis.groups
        if isinstance(groups, EnumeratedGroups):
            assert release.shown_from is None
            continue
        counted, most = mechanisms(release)[groups.units], release.analysis.groups_per_unit
        least = groups.least * release.analysis.measurements[groups.units].whole
        assert release.shown_from == threshold(counted, most, DELTA / 2, least)
        assert most * _tail(counted, release.shown_from - least) <= float(DELTA / 2)
        assert release.shown_units is not None
        assert groups.least < release.shown_units


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("least", [2, 10, 1000])
def test_threshold_is_never_below_the_least_units_when_noise_is_small(
    noise: Distribution, least: int
) -> None:
    """However dear the question: fewer units than the policy names are not shown but by luck."""
    analysis = analysed(SQL[2], pairs=noise is Distribution.LAPLACE, min_units=least)
    for price in (Fraction(1, 100), Fraction(10**9)):
        [made] = price_noise([analysis], noise, price, DELTA)
        assert made.shown_from is not None
        assert made.shown_from >= least


@pytest.mark.parametrize("noise", NOISES)
def test_noise_costs_the_price_for_every_case_that_is_answered(noise: Distribution) -> None:
    """For all of the binding cases together: the cost of the noise is what is charged."""
    tried = 0
    for case in every():
        if case.refused:
            continue
        bound = bind_case(case)
        if not isinstance(bound, Cut):
            continue
        one_set = partial(
            analyze_release,
            pairs=noise is Distribution.LAPLACE,
            enumerated_groups=10_000,
            min_units=10,
        )
        try:
            analyses = [
                part
                for release in bound.releases
                for part in analyze_grouping_sets(release.plan, one_set).parts
            ]
        except Refusal:
            continue
        if slots_of(analyses):
            price = Fraction(1, 20)
            cost = cost_of(price_noise(analyses, noise, price, DELTA))
            assert price * (1 - WITHIN) <= cost <= price, case.name
            tried += 1
    assert tried > 100


def test_slot_of_two_measurements_costs_what_bounds_both_when_it_is_one_slot() -> None:
    """Two measurements of their own cost twice what a pair that moves by as much together costs."""
    plan = analysed(SQL[0])
    one, other = Measurement(Rows(), 7), Measurement(Units(), 7)
    pair = replace(plan, slots=(Slot((one, other), 7),))
    apart = replace(plan, slots=(Slot((one,), 7), Slot((other,), 7)))
    mechanism = DiscreteLaplace(Fraction(70))
    assert cost_of([ReleaseNoise(pair, (mechanism,) * 2)]) == Fraction(1, 10)
    assert cost_of([ReleaseNoise(apart, (mechanism,) * 2)]) == Fraction(2, 10)


def _tail(mechanism: Mechanism, k: int) -> float:
    """P(X >= k), summed plainly."""
    weights = _weights(mechanism, np.arange(ceil(60 * max(mechanism.std, 1)), dtype=np.float64))
    return float(weights[k:].sum() / (2 * weights.sum() - 1))


def _weights(mechanism: Mechanism, x: NDArray[np.float64]) -> NDArray[np.float64]:
    match mechanism:
        case DiscreteLaplace(scale):
            return np.exp(-x / float(scale))
        case DiscreteGaussian(variance):
            return np.exp(-x * x / (2 * float(variance)))


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
