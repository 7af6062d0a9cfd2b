"""Caps change; what was spent, under what, does not."""

from fractions import Fraction

import pytest
from fix_ledger import (
    ALICE,
    BOTH,
    CLINIC,
    ONCOLOGY,
    Bank,
    ask_until_refused,
    audit,
    declare_ledger,
    limits,
    open_tree,
    question,
    refused,
)

from gateway.budget.account import Currency, Ledger
from gateway.budget.charge import ChargedMeasurement, ChargeRequest
from gateway.errors import Code, OperatorError
from gateway.units import Delta, Epsilon, UnitError


@BOTH
@pytest.mark.parametrize("zero", [ALICE, ONCOLOGY, CLINIC])
def test_account_with_a_zero_cap_gives_nothing(bank: Bank, currency: Currency, zero: str) -> None:
    """Zero means no: wherever it stands on the path, no question is answered."""
    caps = {ALICE: limits(1), ONCOLOGY: limits(1), CLINIC: limits(1), zero: limits(0)}
    open_tree(bank, currency, caps[CLINIC], caps[ONCOLOGY], caps[ALICE])
    refusal = refused(bank, "1e-30")
    assert refusal.code is Code.BUDGET_EXHAUSTED
    assert f"`{zero}` has epsilon 0 left" in refusal.detail
    assert audit(bank.engine).charges == {}


def test_gaussian_account_without_delta_cannot_be_opened(bank: Bank) -> None:
    """An epsilon that no Gaussian noise can keep is an operator's mistake, said at once."""
    with pytest.raises(OperatorError) as caught:
        bank.open_ledger(limits(1, 0), Currency.ZCDP)
    assert caught.value.code is Code.LEDGER_CHANGED
    bank.open_ledger(limits(1, 0), Currency.PURE)


@BOTH
def test_lowering_a_cap_below_what_is_spent_stops_answers_and_raising_goes_on(
    bank: Bank, currency: Currency
) -> None:
    """Caps change, what was spent does not: below it nothing is given, above it only the rest."""
    open_tree(bank, currency, limits(1), alice=limits(1))
    assert ask_until_refused(bank, "0.25") == 4
    spent = audit(bank.engine).spent
    bank.set_limits(ALICE, limits("0.5"))
    assert refused(bank, "1e-20").code is Code.BUDGET_EXHAUSTED
    assert bank.standing(ALICE).epsilon_remaining == Epsilon.zero()
    bank.set_limits(ALICE, limits(2))
    refusal = refused(bank, "1e-20")
    assert refusal.detail.startswith(f"`{CLINIC}`")
    bank.set_limits(CLINIC, limits(2))
    assert audit(bank.engine).spent == spent
    left = bank.standing(ALICE).epsilon_remaining.value
    assert left == 1
    # in zCDP twice the cap allows more than twice the spending, at the price that it had
    assert left <= bank.standing(CLINIC).epsilon_remaining.value
    bank.ask(left)
    assert refused(bank, "1e-20").code is Code.BUDGET_EXHAUSTED


@BOTH
def test_lowering_delta_below_what_is_spent_stops_answers(bank: Bank, currency: Currency) -> None:
    """A smaller delta stops every question at once, with or without thresholds: it is promised for
    all answers together. What was taken is not given back.
    """
    open_tree(bank, currency, limits(5, "1/1000"), alice=limits(5, "1/1000"))
    bank.ask("0.1", delta="1/4000")
    bank.set_limits(ALICE, limits(5, "1/3000"))
    assert refused(bank, "0.1", delta="1e-30").code is Code.THRESHOLDS_EXHAUSTED
    assert refused(bank, "0.1").code is Code.THRESHOLDS_EXHAUSTED
    bank.set_limits(ALICE, limits(5, "1/1000"))
    bank.ask("0.1", delta="1/4000")
    assert refused(bank, "0.1", delta="1e-30").code is Code.THRESHOLDS_EXHAUSTED


@BOTH
def test_cap_of_the_ledger_is_never_lowered_below_what_is_spent(
    bank: Bank, currency: Currency
) -> None:
    """A promise about everything released cannot shrink below it, neither in epsilon nor in delta."""
    open_tree(bank, currency, limits(2, "1/1000"), alice=limits(2, "1/1000"))
    bank.ask("1.5", delta="1/4000")
    for less in (limits("0.5", "1/1000"), limits(0, "1/1000"), limits(2, "1/3000")):
        with pytest.raises(OperatorError, match="cannot be taken back") as caught:
            bank.set_limits(CLINIC, less)
        assert caught.value.code is Code.LEDGER_CHANGED
    bank.set_limits(CLINIC, limits("1.9", "1/1000"))
    assert bank.standing(CLINIC).epsilon_remaining < Epsilon(Fraction(1, 2))


@BOTH
def test_price_stays_when_caps_change(bank: Bank, currency: Currency) -> None:
    """The rate is fixed when the ledger is opened: before and after a grant one epsilon costs the same."""
    open_tree(bank, currency, limits(2), alice=limits(1))
    before = bank.ask("0.5").cost
    quota = bank.standing(ALICE).epsilon_limit
    bank.set_limits(CLINIC, limits(20))
    assert bank.standing(ALICE).epsilon_limit == quota
    assert bank.standing(ALICE).epsilon_remaining == Epsilon(Fraction(1, 2))
    assert bank.ask("0.5").cost == before
    fits = bank.standing(CLINIC).epsilon_remaining
    assert fits > Epsilon(Fraction(18)) or currency is Currency.PURE
    bank.set_limits(ALICE, limits(10_000))
    bank.ask(fits.value)
    assert refused(bank, "1e-20").detail.startswith(f"`{CLINIC}`")


def test_ledger_without_a_cap_has_its_price_from_its_first_cap(bank: Bank) -> None:
    """Of a cap of zero no price follows: it is fixed when there is a cap, and then for ever."""
    open_tree(bank, Currency.ZCDP, limits(0), alice=limits(5))
    assert refused(bank, "0.1").code is Code.BUDGET_EXHAUSTED
    bank.set_limits(CLINIC, limits(2))
    assert bank.ask("0.5").cost == limits(2).cap(Currency.ZCDP) / 4
    bank.set_limits(CLINIC, limits(9))
    assert bank.ask("0.5").cost == limits(2).cap(Currency.ZCDP) / 4


def test_opening_an_account_again_resets_nothing(bank: Bank) -> None:
    """Declaring, lowering to zero, raising, declaring again: what was spent stays spent."""
    open_tree(bank, Currency.PURE, limits(1), alice=limits("0.5"))
    bank.ask("0.5")
    for cap in (limits("0.5"), limits(0), limits("0.5"), limits("0.5", 0), limits("0.5")):
        bank.open_ledger(limits(1))
        bank.open_account(ALICE, cap, parent=ONCOLOGY)
        assert refused(bank, "0.01").code is Code.BUDGET_EXHAUSTED
    assert audit(bank.engine).spent[ALICE] == Fraction(1, 2)
    with pytest.raises(OperatorError, match="cannot be moved"):
        bank.open_account(ALICE, limits("0.5"), parent=CLINIC)


@pytest.mark.parametrize(
    ("name", "source", "unit", "currency"),
    [
        (CLINIC, "postgresql://source/dataset:clinic", "household", Currency.PURE),
        (CLINIC, "postgresql://source/dataset:clinic", "patient", Currency.ZCDP),
        (CLINIC, "postgresql://elsewhere", "patient", Currency.PURE),
        ("dataset:alias", "postgresql://source/dataset:clinic", "patient", Currency.PURE),
    ],
)
def test_ledger_keeps_source_unit_and_currency_for_ever(
    bank: Bank, name: str, source: str, unit: str, currency: Currency
) -> None:
    """Neither another name nor another unit or currency gives the same data a fresh budget."""
    open_tree(bank, Currency.PURE, limits(1))
    bank.ask(1)
    ledger = Ledger(name, source, unit, currency)
    with pytest.raises(OperatorError) as caught:
        declare_ledger(bank.journal, bank.trail, ledger, limits(9), bank.now)
    assert caught.value.code is Code.LEDGER_CHANGED
    assert refused(bank, "0.1").code is Code.BUDGET_EXHAUSTED


def test_charges_cannot_be_negative_or_free() -> None:
    """No request can be built that would refill an account or cost nothing."""
    for price in ("-1", "-0", "0"):
        with pytest.raises((UnitError, ValueError)):
            question(Epsilon.parse(price).value, query_id="q")
    half = ChargedMeasurement("a", "laplace", Fraction(1, 2), Delta.zero())
    for measurements in (
        (),
        (half, half, half),
        (ChargedMeasurement("a", "x", Fraction(-1), half.delta),),
    ):
        with pytest.raises(ValueError, match="measurements"):
            ChargeRequest("q", "alice", ALICE, Epsilon.parse("1"), measurements)
