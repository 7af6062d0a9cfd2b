"""What a quota promises, and what was released: compared with the definitions of docs/proofs/budget.md."""

from fractions import Fraction

import pytest
from fix_ledger import ALICE, CLINIC, NOON, Bank, limits, open_tree

from gateway.budget.account import HALF, Account, Currency, Ledger
from gateway.budget.guarantees import RUNGS, quota_guarantee, released_guarantee
from gateway.budget.zcdp import rho_star
from gateway.datasets.system_tables import round_to_tenths
from gateway.units import Delta, Epsilon

CAP = limits(10)
LEDGER = Ledger(CLINIC, "duckdb:///x", "patient", Currency.ZCDP, CAP.opening_rate(Currency.ZCDP))
ROOT = Account(CLINIC, LEDGER, None, CAP)
QUOTA = Account(ALICE, LEDGER, CLINIC, limits(1))


def test_quota_of_a_tenth_promises_more_than_its_number() -> None:
    """A quota of 1 in a ledger of 10 is 2.7, as privacy.md says; the ledger's own cap is what was set."""
    assert round(float(quota_guarantee(QUOTA).epsilon.value), 1) == 2.7
    assert quota_guarantee(ROOT).epsilon == CAP.epsilon
    assert quota_guarantee(QUOTA).delta == QUOTA.limits.delta


def test_quota_promises_the_least_epsilon_that_it_implies() -> None:
    """Its rho is within the promise, and not within a promise of a hundredth less."""
    found, delta = quota_guarantee(QUOTA).epsilon, QUOTA.limits.delta * HALF
    assert rho_star(found, delta).value >= QUOTA.cap
    assert rho_star(Epsilon(found.value * Fraction(99, 100)), delta).value < QUOTA.cap


@pytest.mark.parametrize(
    ("share", "rung"), [("1", 0), ("0.51", 0), ("0.5", 1), ("0.1", 3), ("1e-9", 15)]
)
def test_release_is_told_by_the_least_rung_above_it(share: str, rung: int) -> None:
    """Rungs are halves of the quota, converted at a sixteenth of the half of delta."""
    found = released_guarantee(QUOTA, QUOTA.cap * Fraction(share), QUOTA.cap).epsilon
    delta = Delta(QUOTA.limits.delta.value / 2 / RUNGS)
    covered = QUOTA.cap / 2**rung
    assert rho_star(found, delta).value >= covered
    assert rho_star(Epsilon(found.value * Fraction(99, 100)), delta).value < covered


def test_release_of_nothing_is_nothing_and_of_pure_epsilon_its_sum() -> None:
    """Nothing was told yet; in pure epsilon the sum holds for every sequence of answers."""
    assert released_guarantee(QUOTA, Fraction(0), QUOTA.cap).epsilon == Epsilon.zero()
    ledger = Ledger(CLINIC, "duckdb:///x", "patient", Currency.PURE, Fraction(1))
    pure = Account(ALICE, ledger, CLINIC, limits(2))
    assert released_guarantee(pure, Fraction(1, 3), pure.cap).epsilon == Epsilon(Fraction(1, 3))
    assert quota_guarantee(pure).epsilon == Epsilon(Fraction(2))


def test_release_above_a_lowered_quota_is_told_by_the_largest_one(bank: Bank) -> None:
    """A quota that was lowered below the spending promises nothing about it."""
    open_tree(bank, Currency.ZCDP, limits(10), alice=limits(4))
    bank.ask(3)
    before = bank.standing(ALICE).released
    bank.set_limits(ALICE, limits("0.1"))
    after = bank.standing(ALICE)
    assert after.released == before
    assert after.promised.epsilon < before.epsilon
    # a control: the rung of the quota that is in force would be too low
    assert released_guarantee(after.owner, after.owner.cap, after.owner.cap) != before


def test_tenths_tell_no_more_by_the_rung_than_by_the_spending(bank: Bank) -> None:
    """Two spendings in one tenth have one rung, where the exact ones have two."""
    open_tree(bank, Currency.ZCDP, limits(16))
    exact, rounded = set(), set()
    for price in ("0.2", "0.2", "0.9"):  # 0.2, 0.4 and 1.3 of tenths of 1.6
        bank.ask(price)
        found = bank.standing(CLINIC)
        exact.add(found.released)
        rounded.add(round_to_tenths(found).released)
    assert len(exact) > 1
    assert len(rounded) == 1


def test_balance_is_linear_and_promises_are_beside_it(bank: Bank) -> None:
    """Questions at 0.5 cost 0.5 of every account on the path."""
    open_tree(bank, Currency.ZCDP, limits(10), alice=limits(2))
    bank.now = NOON
    for count in range(1, 4):
        bank.ask("0.5")
        for name in (ALICE, CLINIC):
            assert bank.standing(name).epsilon_spent == Epsilon(Fraction(count, 2))
    assert bank.standing(CLINIC).promised.epsilon == Epsilon(Fraction(10))
