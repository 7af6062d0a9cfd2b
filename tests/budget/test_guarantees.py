"""What a quota promises, and what was released: compared with the definitions of docs/proofs/budget.md."""

from fractions import Fraction

import pytest
from fix_ledger import ALICE, BOB, BOTH, CLINIC, NOON, ONCOLOGY, Bank, limits, open_tree

from gateway.admin.actions import record_acts
from gateway.budget.account import (
    EMPTY,
    HALF,
    Account,
    Amounts,
    Currency,
    Ledger,
    Limits,
    ratio_text,
)
from gateway.budget.guarantees import (
    RUNGS,
    Guarantee,
    LargestLimits,
    largest_limits,
    quota_guarantee,
    released_guarantee,
)
from gateway.budget.limits import set_limits
from gateway.budget.report import standings_of, standings_on_paths
from gateway.budget.restore_gap import charge_gap
from gateway.budget.zcdp import rho_star
from gateway.datasets.system_tables import round_to_tenths
from gateway.requests.answer_json import balance_json
from gateway.state.anchor import Fact
from gateway.state.draft import Draft
from gateway.units import Delta, Epsilon

CAP = limits(10)
LEDGER = Ledger(CLINIC, "duckdb:///x", "patient", Currency.ZCDP, CAP.opening_rate(Currency.ZCDP))
ROOT = Account(CLINIC, LEDGER, None, CAP)
QUOTA = Account(ALICE, LEDGER, CLINIC, limits(1))
BIG, SMALL = Fraction(1, 10**6), Fraction(1, 10**9)


def _largest(account: Account, *earlier: Limits) -> LargestLimits:
    return largest_limits(account, earlier, EMPTY)


def _promised(account: Account) -> Guarantee:
    return quota_guarantee(account, _largest(account))


def _epsilon(guarantee: Guarantee) -> Epsilon:
    assert guarantee.epsilon is not None
    return guarantee.epsilon


def test_quota_of_a_tenth_promises_more_than_its_number() -> None:
    """A quota of 1 in a ledger of 10 is 2.7, as privacy.md says; the ledger's own cap is what was set."""
    assert round(float(_epsilon(_promised(QUOTA)).value), 1) == 2.7
    assert _promised(ROOT).epsilon == CAP.epsilon
    assert _promised(QUOTA).delta == QUOTA.limits.delta


def test_quota_promises_the_least_epsilon_that_it_implies() -> None:
    """Its rho is within the promise, and not within a promise of a hundredth less."""
    found, delta = _epsilon(_promised(QUOTA)), QUOTA.limits.delta * HALF
    assert rho_star(found, delta).value >= QUOTA.cap
    assert rho_star(Epsilon(found.value * Fraction(99, 100)), delta).value < QUOTA.cap


@pytest.mark.parametrize(
    ("share", "rung"), [("1", 0), ("0.51", 0), ("0.5", 1), ("0.1", 3), ("1e-9", 15)]
)
def test_release_is_told_by_the_least_rung_above_it(share: str, rung: int) -> None:
    """Rungs are halves of the quota, converted at a sixteenth of the half of delta."""
    found = _epsilon(released_guarantee(QUOTA, QUOTA.cap * Fraction(share), _largest(QUOTA)))
    delta = Delta(QUOTA.limits.delta.value / 2 / RUNGS)
    covered = QUOTA.cap / 2**rung
    assert rho_star(found, delta).value >= covered
    assert rho_star(Epsilon(found.value * Fraction(99, 100)), delta).value < covered


def test_release_of_nothing_is_nothing_and_of_pure_epsilon_its_sum() -> None:
    """Nothing was told yet; in pure epsilon the sum holds for every sequence of answers."""
    assert released_guarantee(QUOTA, Fraction(0), _largest(QUOTA)).epsilon == Epsilon.zero()
    ledger = Ledger(CLINIC, "duckdb:///x", "patient", Currency.PURE, Fraction(1))
    pure = Account(ALICE, ledger, CLINIC, limits(2))
    told = released_guarantee(pure, Fraction(1, 3), _largest(pure))
    assert told.epsilon == Epsilon(Fraction(1, 3))
    assert _promised(pure).epsilon == Epsilon(Fraction(2))


@BOTH
@pytest.mark.parametrize(
    ("name", "less"),
    [(ALICE, limits(0)), (ALICE, limits("0.1")), (ALICE, limits("3.5")), (CLINIC, limits("3.9"))],
)
def test_lowered_limit_improves_no_guarantee(
    bank: Bank, currency: Currency, name: str, less: Limits
) -> None:
    """A limit that was lowered after answers may rest on them, whether it covers the spending or not."""
    open_tree(bank, currency, limits(4), alice=limits(4))
    bank.ask(3, delta="1e-7")
    before = bank.standing(name)
    bank.set_limits(name, less)
    after = bank.standing(name)
    assert after.released == before.released
    assert after.promised.delta == before.promised.delta
    assert _near(after.promised, before.promised)
    # a control: by the limit in force alone both would be less
    alone = _largest(after.owner)
    assert _epsilon(quota_guarantee(after.owner, alone)) < _epsilon(after.promised)
    bank.set_limits(name, limits(5))
    bank.set_limits(name, less)
    assert _epsilon(bank.standing(name).promised) > _epsilon(before.promised)


def _near(one: Guarantee, other: Guarantee) -> bool:
    """The same, but for the three digits of a converted number."""
    return 1 <= _epsilon(one) / _epsilon(other) < Fraction(101, 100)


@BOTH
def test_delta_is_never_less_than_was_in_force(bank: Bank, currency: Currency) -> None:
    """Thresholds failed and amounts were converted at the delta of before, so a smaller one is no claim."""
    open_tree(bank, currency, limits(4, BIG), alice=limits(4, BIG))
    bank.ask(1, delta="4e-7")
    before = bank.standing(ALICE)
    bank.set_limits(ALICE, limits(4, SMALL))
    after = bank.standing(ALICE)
    assert after.delta_limit == Delta(SMALL)
    for one in (after.promised, after.released):
        assert one.delta == Delta(BIG)
        assert one.delta.value >= 2 * Fraction("4e-7")
    assert after.released == before.released


@BOTH
def test_account_is_listed_when_its_limits_are_zero(bank: Bank, currency: Currency) -> None:
    """Limits of zero, in epsilon and in delta, stop queries; every listing still tells what was released."""
    open_tree(bank, currency, limits(4), limits(4), limits(4))
    bank.ask(1)
    for name in (ALICE, ONCOLOGY):
        before = bank.standing(name)
        bank.set_limits(name, limits(0, 0))
        found = bank.standing(name)
        assert found.epsilon_limit == Epsilon.zero()
        assert (found.released, found.promised) == (before.released, before.promised)
        told = bank.journal.read(lambda draft: standings_on_paths(draft, bank.now, [ALICE]))
        with bank.engine.connect() as connection:
            own = standings_of(connection, bank.now, "alice")
        assert found in told
        assert found in own
        shown = balance_json(round_to_tenths(found))
        assert shown["released"]["epsilon"] >= float(_epsilon(found.released).value) > 0


def test_remembered_limits_are_those_of_the_database(bank: Bank) -> None:
    """Back to limits that were remembered before there were larger ones."""
    open_tree(bank, Currency.ZCDP, limits(10), alice=limits(4))
    bank.ask(3)
    for cap in ("0.1", "4", "8", "0.1"):
        bank.set_limits(ALICE, limits(cap))
        [told, *_] = bank.journal.read(lambda draft: standings_on_paths(draft, bank.now, [ALICE]))
        assert told == bank.standing(ALICE)
    last = bank.standing(ALICE)
    assert last.largest.quota == last.owner.ledger.cost(limits(8).epsilon)


def test_no_epsilon_is_told_where_none_holds() -> None:
    """After a restore an account can have charges that no limit covers: a power of two does, or nothing."""
    zero = Account(ALICE, LEDGER, CLINIC, limits(0, 0))
    spent = QUOTA.cap
    charged = EMPTY.plus(Amounts(spent, Fraction(0)), NOON)
    largest = largest_limits(zero, (), charged)
    assert spent <= largest.quota < 2 * spent
    assert largest.quota.numerator == 1
    for told in (quota_guarantee(zero, largest), released_guarantee(zero, spent, largest)):
        assert told == Guarantee(None, Delta.zero())
    # a control: any delta before gives an epsilon
    largest = largest_limits(zero, (limits(0, SMALL),), charged)
    assert _epsilon(released_guarantee(zero, spent, largest)) > Epsilon.zero()
    for delta, least in ((Fraction(1, 3), None), (SMALL, Epsilon.zero())):
        largest = largest_limits(zero, (), EMPTY.plus(Amounts(spent, delta), NOON))
        assert largest.delta >= 2 * delta
        told = released_guarantee(zero, spent, largest)
        assert told.epsilon is None if least is None else _epsilon(told) > least


def test_account_is_listed_when_no_epsilon_holds(bank: Bank) -> None:
    """A charge that no limit ever allowed, as after a restore, has no epsilon, and JSON says null."""
    open_tree(bank, Currency.ZCDP, limits(4), alice=limits(0, 0))
    owner = bank.standing(ALICE).owner
    spent = {"spent": ratio_text(owner.ledger.cost(Epsilon(Fraction(1)))), "delta_spent": "0/1"}
    facts = {f"account:{ALICE}": Fact(1, {**owner.definition, **spent})}

    def restore(draft: Draft) -> None:
        charge_gap(draft, facts, query_id="q-gap", actor="dave", now=bank.now, cells_known=True)
        acts = set_limits(draft, BOB, limits(1), actor="dave", now=bank.now)
        record_acts(draft, bank.trail, "dave", acts)

    bank.journal.commit(restore)
    found = bank.standing(ALICE)
    assert found.epsilon_spent == Epsilon(Fraction(1))
    [told, *_] = bank.journal.read(lambda draft: standings_on_paths(draft, bank.now, [ALICE]))
    for one in (found, told, round_to_tenths(found)):
        assert balance_json(one)["released"] == {"epsilon": None, "delta": 0}
        assert balance_json(one)["promised"] == {"epsilon": None, "delta": 0}


def test_tenths_above_a_lowered_limit_tell_no_less_than_was_released(bank: Bank) -> None:
    """Tenths of a limit of zero are zero, and more was released; the largest limit covers it."""
    open_tree(bank, Currency.ZCDP, limits(16), limits(4), limits(4))
    bank.ask(3)
    for less in (limits(0), limits(1), limits(0, 0)):
        bank.set_limits(ONCOLOGY, less)
        found = bank.standing(ONCOLOGY)
        rounded = round_to_tenths(found)
        assert _epsilon(rounded.released) >= _epsilon(found.released) > Epsilon.zero()
        assert rounded.epsilon_remaining == Epsilon.zero()


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
