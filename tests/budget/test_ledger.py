"""What an account gives: linear, to the last unit, on every account of the path."""

import re
from fractions import Fraction

import pytest
from charges import charge_question
from fix_ledger import (
    ALICE,
    BOB,
    BOTH,
    CLINIC,
    ONCOLOGY,
    Bank,
    ask_until_refused,
    asked,
    audit,
    limits,
    open_tree,
    refused,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.budget.account import Currency, Every
from gateway.budget.charge import ChargedMeasurement, ChargeRequest
from gateway.errors import BudgetExhausted, Code, NotPermitted
from gateway.units import Delta, Epsilon

_FITS = [
    ("0.3", "0.1", 3),
    ("1", "0.1", 10),
    ("0.7", "0.1", 7),
    ("2.2", "0.2", 11),
    ("1/3", "1/21", 7),
    ("1/3", "0.1", 3),
    ("1", "1/7", 7),
    ("0.999999", "0.333333", 3),
    ("5", "0.45", 11),
    ("1", "1", 1),
    ("1", "1.000000000000000000000000000001", 0),
]


@BOTH
def test_ledger_answers_cap_over_price_questions_exactly(bank: Bank, currency: Currency) -> None:
    """floor(cap / price) questions fit, in both currencies, and not one more."""
    for cap, price, fit in _FITS:
        name = f"dataset:{cap} by {price}"
        bank.open_ledger(limits(cap), currency, name)
        assert fit == Fraction(cap) // Fraction(price)
        assert (name, ask_until_refused(bank, price, name)) == (name, fit)
        assert bank.standing(name).epsilon_spent == Epsilon(fit * Fraction(price))
    assert len(audit(bank.engine).charges) == sum(fit for _, _, fit in _FITS)


@BOTH
def test_ledger_is_used_up_to_nothing_when_prices_differ(bank: Bank, currency: Currency) -> None:
    """Different prices that add up to the cap all fit, and leave exactly zero."""
    open_tree(bank, currency, limits(1))
    for price in ("0.1", "0.2", "1/3", "1/6", "0.05", "0.15"):
        bank.ask(price)
    assert bank.standing(CLINIC).epsilon_remaining == Epsilon.zero()
    assert refused(bank, "1e-30").code is Code.BUDGET_EXHAUSTED


@BOTH
def test_standings_say_the_sum_of_prices_on_the_account_that_binds(
    bank: Bank, currency: Currency
) -> None:
    """epsilon_spent of the binding account is what its questions were asked at; of the others it is
    no more.
    """
    open_tree(bank, currency, limits(10), limits(5), limits(2))
    prices = [Fraction(n, 100) for n in (3, 7, 11, 20, 1)]
    for price in prices:
        bank.ask(price)
    for account, cap in ((ALICE, 2), (ONCOLOGY, 5), (CLINIC, 10)):
        standing = bank.standing(account)
        assert standing.epsilon_spent.value <= sum(prices)
        assert standing.epsilon_spent.value + standing.epsilon_remaining.value == cap
    assert bank.standing(ALICE).epsilon_spent.value == sum(prices)
    assert bank.standing(BOB).epsilon_spent == Epsilon.zero()


@BOTH
@pytest.mark.parametrize("binding", [ALICE, ONCOLOGY, CLINIC])
def test_charge_takes_the_price_from_the_account_that_binds_and_no_more_from_others(
    bank: Bank, currency: Currency, binding: str
) -> None:
    """Whichever account of the path is smallest takes epsilon_q in its own terms; the others take at
    most that, and one more question than fits the smallest is refused by it.
    """
    caps = {ALICE: limits(7), ONCOLOGY: limits(8), CLINIC: limits(9), binding: limits(2)}
    open_tree(bank, currency, caps[CLINIC], caps[ONCOLOGY], caps[ALICE])
    receipt = bank.ask("0.5")
    assert {taken.amount for taken in receipt.withdrawals} == {receipt.cost}
    assert [taken.account for taken in receipt.withdrawals] == [ALICE, ONCOLOGY, CLINIC]
    for account in caps:
        spent = bank.standing(account).epsilon_spent.value
        assert spent == Fraction(1, 2) if account == binding else 0 < spent <= Fraction(1, 2)
    assert ask_until_refused(bank, "0.5") == 3
    assert f"`{binding}`" in refused(bank, "0.5").detail


@BOTH
def test_charge_takes_nothing_from_anyone_when_one_account_refuses(
    bank: Bank, currency: Currency
) -> None:
    """A charge fits every account on its path, or no account gives anything."""
    open_tree(bank, currency, limits(1))
    bank.ask("0.9", BOB)
    before = audit(bank.engine).spent
    assert f"`{CLINIC}`" in refused(bank, "0.2").detail
    assert audit(bank.engine).spent == before
    bank.ask("0.1")


@BOTH
def test_ledger_counts_everyone_together(bank: Bank, currency: Currency) -> None:
    """What bob was given is gone for alice, on the account they share."""
    open_tree(bank, currency, limits(1), alice=limits("0.6"))
    prices = {ALICE: Fraction(0), BOB: Fraction(0)}
    for account in (ALICE, BOB, BOB, ALICE, BOB):
        bank.ask("0.1", account)
        prices[account] += Fraction(1, 10)
    assert bank.standing(ALICE).epsilon_spent == Epsilon(prices[ALICE])
    assert bank.standing(CLINIC).epsilon_spent.value <= sum(prices.values())
    left = bank.standing(CLINIC).epsilon_remaining.value
    bank.ask(left, BOB)
    assert refused(bank, "0.1").detail.startswith(f"`{CLINIC}`")


def test_charge_of_an_unknown_account_is_refused_and_recorded(bank: Bank) -> None:
    """Who has no account gets no answer, and the trail keeps the attempt."""
    open_tree(bank, Currency.PURE, limits(1))
    with pytest.raises(NotPermitted) as caught:
        bank.ask("0.1", "analyst:mallory@clinic", query_id="q-mallory")
    assert caught.value.code is Code.ACCOUNT_UNKNOWN
    (record,) = audit(bank.engine).kinds("refused")
    assert (record["query_id"], record["code"]) == ("q-mallory", "GW504")


@BOTH
def test_threshold_delta_is_counted_apart_from_the_conversion(
    bank: Bank, currency: Currency
) -> None:
    """Half of delta is for thresholds: that much fits exactly, whatever epsilon is left."""
    open_tree(bank, currency, limits(10, "2/1000"))
    for _ in range(4):
        bank.ask("0.1", delta="1/4000")
    refusal = refused(bank, "0.1", delta="1e-30")
    assert refusal.code is Code.THRESHOLDS_EXHAUSTED
    assert "has delta 0 left" in refusal.detail
    bank.ask("0.1", delta=0)
    assert audit(bank.engine).delta_spent[CLINIC] == Fraction(1, 1000)


def test_threshold_delta_of_all_measurements_is_charged(bank: Bank) -> None:
    """A statement pays the delta of each of its measurements."""
    open_tree(bank, Currency.PURE, limits(1, "1/1000"))
    parts = tuple(
        ChargedMeasurement(name, "laplace", Fraction(1, 3), Delta(Fraction(1, 8000)))
        for name in ("count", "sum", "units")
    )
    request = ChargeRequest("q", "alice", ALICE, Epsilon.parse("0.1"), parts)
    receipt = charge_question(bank.journal, bank.trail, asked(request), request, bank.now)
    assert {taken.delta for taken in receipt.withdrawals} == {Fraction(3, 8000)}


@BOTH
def test_refusal_says_account_need_left_and_is_recorded(bank: Bank, currency: Currency) -> None:
    """The text names the account, what the question takes and what is left; the trail has it too."""
    open_tree(bank, currency, limits(1), alice=limits("0.5"))
    bank.ask("0.3")
    refusal = refused(bank, "0.3")
    assert refusal.detail == f"`{ALICE}` has epsilon 0.2 left for its lifetime, the query needs 0.3"
    (record,) = audit(bank.engine).kinds("refused")
    assert record["because"] == [refusal.title, refusal.detail]
    assert record["price"] == "3/10"


_LEFT = re.compile(r"has epsilon (?P<left>\S+) left")


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    currency=st.sampled_from(Currency),
    caps=st.tuples(*[st.fractions("1/7", 9, max_denominator=1000)] * 3),
    window=st.none() | st.fractions("1/7", 9, max_denominator=1000),
    prices=st.lists(st.fractions("1/50", 3, max_denominator=10**4), max_size=4),
)
def test_asking_for_exactly_what_is_left_succeeds(
    bank: Bank,
    currency: Currency,
    caps: tuple[Fraction, Fraction, Fraction],
    window: Fraction | None,
    prices: list[Fraction],
) -> None:
    """A refusal says what is left of the account that refused: asked at that price, that account no
    longer refuses, and after at most one refusal by each account the question is answered.
    """
    mark = bank.fresh_id()
    ledger, team, alice = (f"{kind}-{mark}" for kind in ("ledger", "team", "alice"))
    bank.open_ledger(limits(caps[0]), currency, name=ledger)
    bank.open_account(team, limits(caps[1]), parent=ledger, ledger=ledger)
    every = None if window is None else (Every.MONTH, window)
    bank.open_account(alice, limits(caps[2], window=every), parent=team, ledger=ledger)
    for price in prices:
        try:
            bank.ask(price, alice)
        except BudgetExhausted:
            break
    refusals: list[str] = []
    price = Fraction(100, 7)
    while price and len(refusals) <= 4:
        try:
            bank.ask(price, alice)
        except BudgetExhausted as refusal:
            refusals.append(refusal.detail)
            match = _LEFT.search(refusal.detail)
            assert match is not None
            price = Epsilon.parse(match["left"]).value
        else:
            break
    assert len(refusals) <= 4, refusals


def test_balance_stays_short_when_many_caps_meet_in_one_ledger(bank: Bank) -> None:
    """A balance is a fraction that everybody's questions add to: it must not grow by some digits with
    each analyst, or one day (at 4,300 digits) it cannot be written any more, and all is refused.
    """
    bank.open_ledger(limits(1000), Currency.ZCDP)
    for number in range(30):
        name = f"analyst:{number}@clinic"
        bank.open_account(name, limits(Fraction(1_000_003 + 2 * number, 10**6)))
        bank.ask("0.01", name)
    spent = audit(bank.engine).spent[CLINIC]
    assert spent.denominator < 10**60
