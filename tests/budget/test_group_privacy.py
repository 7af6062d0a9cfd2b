"""What epsilon means for several units: k times as much in pure, k² times the rho in zCDP."""

from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.budget.account import Currency, Limits
from gateway.budget.group_privacy import MANY, epsilon_of, group_guarantees
from gateway.budget.zcdp import rho_star
from gateway.noise.allocation import threshold
from gateway.noise.mechanism import laplace_for
from gateway.units import Delta, Epsilon, Rho

LIMITS = Limits(Epsilon.parse("10"), Delta.parse("1e-6"))
DELTA = Delta.parse("5e-7")
_TENTH = Fraction(1, 10)


def test_several_units_have_so_many_times_epsilon_in_pure() -> None:
    """Of the question and of the whole budget, exactly."""
    found = group_guarantees(LIMITS, Currency.PURE, _TENTH)
    assert [one.units for one in found] == list(MANY) == [1, 2, 5, 10]
    assert [str(one.question) for one in found] == ["0.1", "0.2", "0.5", "1"]
    assert [str(one.budget) for one in found] == ["10", "20", "50", "100"]


def test_several_units_have_the_square_of_it_times_rho_in_zcdp() -> None:
    """Converted at half of delta: one unit has the cap itself, ten more than ten times as much."""
    cost = LIMITS.cap(Currency.ZCDP) / 200
    found = group_guarantees(LIMITS, Currency.ZCDP, cost)
    assert str(found[0].budget) == "10"
    for one in found:
        assert one.question is not None
        assert rho_star(one.question, DELTA) >= Rho(cost * one.units**2)
        assert rho_star(one.budget, DELTA) >= Rho(200 * cost * one.units**2)
        # the negative control: linear in k would promise too much
        linear = Epsilon(found[0].budget.value * one.units)
        assert one.units == 1 or rho_star(linear, DELTA) < Rho(200 * cost * one.units**2)


def test_several_units_of_a_statement_that_measures_nothing_have_the_budget_alone() -> None:
    """There is no question's epsilon where nothing is charged."""
    assert {one.question for one in group_guarantees(LIMITS, Currency.ZCDP, None)} == {None}


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=2000, max_denominator=10**6))
def test_converted_epsilon_is_enough_and_hardly_more(value: Fraction) -> None:
    """The conversion that the ledger uses agrees; with one less in the last digit it does not."""
    found = epsilon_of(Rho(value), DELTA)
    assert rho_star(found, DELTA) >= Rho(value)
    assert rho_star(Epsilon(found.value * Fraction(98, 100)), DELTA) < Rho(value)


def test_rho_without_delta_is_no_epsilon() -> None:
    """Nothing is nothing; anything else needs a delta."""
    assert not epsilon_of(Rho.zero(), Delta.zero())
    with pytest.raises(ValueError, match="without a delta"):
        epsilon_of(Rho(_TENTH), Delta.zero())


@pytest.mark.parametrize("units", MANY)
@pytest.mark.parametrize("price", ["0.05", "1"])
def test_delta_of_thresholds_grows_no_faster_than_is_said(units: int, price: str) -> None:
    """A group of k - 1 persons more is shown with a chance at most e^((k-1)·price/G) times as large (docs/budget.md)."""
    groups, delta = 4, Fraction(1, 10**9)
    noise = laplace_for(Fraction(price), groups)
    shown_from = threshold(noise, groups, delta, 10)
    # ten persons are the fewest that are not dropped where they lie: of them k - 1 more than one came in
    least = shown_from - 10 - (units - 1)
    grown = Fraction(exp((units - 1) * float(price) / groups) * 1.000001) * delta / groups
    assert noise.reach(grown) <= least
    assert noise.reach(grown / 2) > least  # the negative control: half of it would not do
