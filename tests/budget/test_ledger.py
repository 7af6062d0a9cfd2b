"""What an account gives: linear, to the last unit, and never again what it gave."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial

import pytest
from fix_ledger import (
    ALICE,
    BOB,
    CLINIC,
    NOON,
    ONCOLOGY,
    Amount,
    Bank,
    asked,
    audit,
    commit_together,
    limits,
    question,
)
from fix_state import AUDIT_SECRET
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gateway.administering import declare_ledger
from gateway.budget.account import Currency, Every, Ledger, Limits
from gateway.budget.charge import ChargeRequest, Idempotency, Measurement, Receipt
from gateway.charging import charge_question
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code, NotPermitted, OperatorError, Refusal
from gateway.store.state import open_state
from gateway.trail.append import Trail
from gateway.units import Delta, Epsilon, UnitError

BOTH = pytest.mark.parametrize("currency", list(Currency))


def open_tree(
    bank: Bank,
    currency: Currency,
    ledger: Limits,
    team: Limits | None = None,
    alice: Limits | None = None,
) -> None:
    """Ledger → team → alice, and bob directly below the ledger."""
    plenty = limits(1000, "1/2")
    bank.open_ledger(ledger, currency)
    bank.open_account(ONCOLOGY, team or plenty)
    bank.open_account(ALICE, alice or plenty, parent=ONCOLOGY)
    bank.open_account(BOB, plenty)


def ask_until_refused(bank: Bank, price: Amount, account: str = ALICE) -> int:
    for count in range(10_000):
        try:
            bank.ask(price, account)
        except BudgetExhausted:
            return count
    raise AssertionError("the budget has no end")


def refused(bank: Bank, price: Amount, account: str = ALICE, delta: Amount = 0) -> Refusal:
    with pytest.raises(Refusal) as caught:
        bank.ask(price, account, delta=delta)
    return caught.value


# ---- linear shares ----


@BOTH
@pytest.mark.parametrize(
    ("cap", "price", "fit"),
    [
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
    ],
)
def test_ledger_answers_cap_over_price_questions_exactly(
    bank: Bank, currency: Currency, cap: str, price: str, fit: int
) -> None:
    """floor(cap / price) questions fit, in both currencies, and not one more."""
    open_tree(bank, currency, limits(cap))
    assert fit == Fraction(cap) // Fraction(price)
    assert ask_until_refused(bank, price) == fit
    assert bank.standing(CLINIC).epsilon_spent == Epsilon(fit * Fraction(price))
    assert len(audit(bank.engine).charges) == fit


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


# ---- paths ----


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


# ---- thresholds ----


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
        Measurement(name, "laplace", Fraction(1, 3), Delta(Fraction(1, 8000)))
        for name in ("count", "sum", "units")
    )
    request = ChargeRequest("q", "alice", ALICE, Epsilon.parse("0.1"), parts)
    receipt = charge_question(bank.journal, bank.trail, asked(request), request, bank.now)
    assert {taken.delta for taken in receipt.withdrawals} == {Fraction(3, 8000)}


# ---- windows ----

_BOUNDARIES = [
    (Every.DAY, datetime(2026, 3, 18, 23, 59, 59, 999999, UTC), timedelta(microseconds=1)),
    (Every.DAY, datetime(2024, 2, 28, 23, 59, tzinfo=UTC), timedelta(minutes=1)),
    (Every.WEEK, datetime(2026, 3, 22, 23, 59, tzinfo=UTC), timedelta(minutes=1)),
    (Every.WEEK, datetime(2026, 12, 28, tzinfo=UTC), timedelta(days=7)),
    (Every.MONTH, datetime(2024, 2, 29, 23, 59, tzinfo=UTC), timedelta(minutes=1)),
    (Every.MONTH, datetime(2023, 2, 28, 23, 59, tzinfo=UTC), timedelta(minutes=1)),
    (Every.MONTH, datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=31)),
    (Every.MONTH, datetime(2025, 12, 31, 23, 59, tzinfo=UTC), timedelta(minutes=1)),
]


@BOTH
@pytest.mark.parametrize(("every", "last", "step"), _BOUNDARIES)
def test_window_reopens_at_its_utc_boundary_and_not_before(
    bank: Bank, currency: Currency, every: Every, last: datetime, step: timedelta
) -> None:
    """A period gives its epsilon once; the next one begins on the dot, leap years included."""
    open_tree(bank, currency, limits(100), alice=limits(10, window=(every, "0.3")))
    reopens = last + step
    first = every.start(last)
    bank.now = first
    assert ask_until_refused(bank, "0.1") == 3
    bank.now = reopens - timedelta(microseconds=1)
    refusal = refused(bank, "0.1")
    assert refusal.code is Code.WINDOW_EXHAUSTED
    assert f"{reopens:%Y-%m-%d %H:%M} UTC" in refusal.hint
    window = bank.standing(ALICE).window
    assert window is not None
    assert (window.epsilon_remaining, window.reopens_at) == (Epsilon.zero(), reopens)
    bank.now = reopens
    assert ask_until_refused(bank, "0.1") == 3


def test_windows_are_calendar_periods_in_utc() -> None:
    """Days, weeks from Monday and months, whatever the time zone of the moment."""
    moment = datetime.fromisoformat("2024-03-01T00:30:00+02:00")
    assert Every.DAY.start(moment) == datetime(2024, 2, 29, tzinfo=UTC)
    assert Every.DAY.next_start(moment) == datetime(2024, 3, 1, tzinfo=UTC)
    assert Every.MONTH.start(moment) == datetime(2024, 2, 1, tzinfo=UTC)
    assert Every.MONTH.next_start(moment) == datetime(2024, 3, 1, tzinfo=UTC)
    assert Every.WEEK.start(moment) == datetime(2024, 2, 26, tzinfo=UTC)
    assert Every.WEEK.next_start(moment) == datetime(2024, 3, 4, tzinfo=UTC)


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(9990, 1, 1)))  # noqa: DTZ001  # UTC is given below
@example(datetime(2000, 2, 29, 12))  # noqa: DTZ001  # see above
@example(datetime(2100, 2, 28, 23, 59))  # noqa: DTZ001  # see above
def test_windows_tile_time(moment: datetime) -> None:
    """Every moment lies in exactly one period, and the next begins where it ends."""
    moment = moment.replace(tzinfo=UTC)
    for every in Every:
        start, after = every.start(moment), every.next_start(moment)
        assert start <= moment < after
        assert every.start(after) == after
        assert every.start(after - timedelta(microseconds=1)) == start


@BOTH
@pytest.mark.parametrize(
    "clock",
    [
        [0, -1, -40, -400, 0],
        [0, 40, 0, -40, 40, 41],
        [400, 0, 1, 399],
        [0, 31, -31, 31, 0, 62, 31],
    ],
)
def test_window_gives_nothing_again_when_the_clock_is_set_back(
    bank: Bank, currency: Currency, clock: list[int]
) -> None:
    """In whatever order the clock jumps, each later period opens once and no earlier one opens
    again: a period is new only when the clock is further than it ever was.
    """
    open_tree(bank, currency, limits(1000), alice=limits(100, window=(Every.MONTH, "0.2")))
    furthest: datetime | None = None
    for days in clock:
        bank.now = NOON + timedelta(days=days)
        is_new = furthest is None or Every.MONTH.start(bank.now) > Every.MONTH.start(furthest)
        assert ask_until_refused(bank, "0.1") == (2 if is_new else 0)
        furthest = max(bank.now, furthest or bank.now)


def test_window_of_a_shared_account_is_kept_by_its_own_clock(bank: Bank) -> None:
    """Bob's question from next month does not open alice's window, nor hers his."""
    windowed = limits(10, window=(Every.MONTH, "0.2"))
    bank.open_ledger(limits(10, window=(Every.MONTH, "0.5")))
    bank.open_account(ALICE, windowed)
    bank.open_account(BOB, windowed)
    bank.ask("0.2")
    bank.now = NOON + timedelta(days=31)
    bank.ask("0.2", BOB)
    bank.now = NOON
    assert refused(bank, "0.1").detail.startswith(f"`{ALICE}`")
    assert refused(bank, "0.1", BOB).detail.startswith(f"`{BOB}`")
    standing = bank.standing(CLINIC).window
    assert standing is not None
    assert standing.epsilon_spent == Epsilon.parse("0.2")


def test_window_boundary_within_one_batch_is_kept(bank: Bank) -> None:
    """Questions from both sides of midnight in one commit are counted where they belong, also when
    the earlier one comes after the later one.
    """
    open_tree(bank, Currency.PURE, limits(10), alice=limits(5, window=(Every.DAY, "0.2")))
    yesterday, today = NOON, NOON + timedelta(days=1)
    outcomes = ask_in_one_batch(
        bank, [yesterday, yesterday, yesterday, today, yesterday, today, today, yesterday]
    )
    assert outcomes == [True, True, False, True, True, False, False, False]
    assert audit(bank.engine).spent[ALICE] == Fraction(4, 10)


def test_window_set_within_a_batch_counts_what_was_given_before(bank: Bank) -> None:
    """A window that is set later looks back into the period that is running."""
    open_tree(bank, Currency.PURE, limits(10))
    bank.ask("0.3")
    bank.set_limits(ALICE, limits(10, window=(Every.DAY, "0.5")))
    bank.ask("0.2")
    assert refused(bank, "0.1").code is Code.WINDOW_EXHAUSTED
    bank.set_limits(ALICE, limits(10, window=(Every.MONTH, "0.6")))
    bank.ask("0.1")
    assert refused(bank, "0.1").code is Code.WINDOW_EXHAUSTED


def ask_in_one_batch(bank: Bank, moments: list[datetime]) -> list[bool]:
    """Ask at these moments, in this order, all within the journal's next commit."""

    def ask(place: int) -> Receipt:
        request = question("0.1", query_id=f"batch-{place}")
        return charge_question(bank.journal, bank.trail, asked(request), request, moments[place])

    calls = [partial(ask, place) for place in range(len(moments))]
    return [isinstance(one, Receipt) for one in commit_together(bank.journal, calls)]


# ---- caps that change ----


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
    assert left == bank.standing(CLINIC).epsilon_remaining.value
    bank.ask(left)
    assert refused(bank, "1e-20").code is Code.BUDGET_EXHAUSTED


@BOTH
def test_lowering_delta_below_what_is_spent_stops_thresholds(
    bank: Bank, currency: Currency
) -> None:
    """A smaller delta gives less to thresholds at once; what was taken is not given back."""
    open_tree(bank, currency, limits(5, "1/1000"))
    bank.ask("0.1", delta="1/4000")
    bank.set_limits(CLINIC, limits(5, "1/3000"))
    assert refused(bank, "0.1", delta="1e-30").code is Code.THRESHOLDS_EXHAUSTED
    bank.set_limits(CLINIC, limits(5, "1/1000"))
    bank.ask("0.1", delta="1/4000")
    assert refused(bank, "0.1", delta="1e-30").code is Code.THRESHOLDS_EXHAUSTED


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
        declare_ledger(bank.journal, bank.trail, ledger, limits(9), actor="dave", now=bank.now)
    assert caught.value.code is Code.LEDGER_CHANGED
    assert refused(bank, "0.1").code is Code.BUDGET_EXHAUSTED


def test_charges_cannot_be_negative_or_free() -> None:
    """No request can be built that would refill an account or cost nothing."""
    for price in ("-1", "-0", "0"):
        with pytest.raises((UnitError, ValueError)):
            question(Epsilon.parse(price).value, query_id="q")
    half = Measurement("a", "laplace", Fraction(1, 2), Delta.zero())
    for measurements in (
        (),
        (half, half, half),
        (Measurement("a", "x", Fraction(-1), half.delta),),
    ):
        with pytest.raises(ValueError, match="measurements"):
            ChargeRequest("q", "alice", ALICE, Epsilon.parse("1"), measurements)


# ---- idempotency ----

ONCE = Idempotency("key-1", "digest-1")


def same_but_repeated(first: Receipt, second: Receipt) -> bool:
    return (
        second.repeated
        and not first.repeated
        and (first.query_id, first.price, first.cost)
        == (second.query_id, second.price, second.cost)
        and sorted(first.withdrawals, key=lambda taken: taken.account)
        == sorted(second.withdrawals, key=lambda taken: taken.account)
    )


@BOTH
def test_idempotency_key_is_charged_once(bank: Bank, currency: Currency) -> None:
    """The second request with a key gets the first one's receipt, and pays nothing."""
    open_tree(bank, currency, limits(1))
    first = bank.ask("0.75", once=ONCE)
    second = bank.ask("0.75", once=ONCE)
    assert same_but_repeated(first, second)
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_is_charged_once_when_repeated_in_another_process(
    bank: Bank, state_settings: Settings, trail: Trail
) -> None:
    """A gateway that was not there when the key was first used finds it in the state."""
    open_tree(bank, Currency.ZCDP, limits(1))
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, trail, other.engine)
        assert elsewhere.ask("0.1", query_id="warm").cost
        first = bank.ask("0.5", query_id="here", once=ONCE)
        second = elsewhere.ask("0.5", query_id="there", once=ONCE)
        third = bank.ask("0.5", query_id="here again", once=ONCE)
    assert same_but_repeated(first, second)
    assert same_but_repeated(first, third)
    assert len(audit(bank.engine).charges) == 2


def test_idempotency_key_is_charged_once_when_both_are_in_one_batch(bank: Bank) -> None:
    """Two requests with one key that are committed together make one charge."""
    open_tree(bank, Currency.PURE, limits(1))
    outcomes = commit_together(bank.journal, [partial(bank.ask, "0.6", once=ONCE)] * 5)
    receipts = [one for one in outcomes if isinstance(one, Receipt)]
    assert sorted(receipt.repeated for receipt in receipts) == [False, True, True, True, True]
    assert len({receipt.query_id for receipt in receipts}) == 1
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_of_another_request_is_refused(bank: Bank) -> None:
    """A key means one request: with another it is an error, and nothing is charged."""
    open_tree(bank, Currency.PURE, limits(1))
    bank.ask("0.1", once=ONCE)
    with pytest.raises(Refusal) as caught:
        bank.ask("0.1", once=Idempotency(ONCE.key, "digest-2"))
    assert caught.value.code is Code.IDEMPOTENCY_MISMATCH
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_belongs_to_its_subject(bank: Bank) -> None:
    """Bob's key that reads like alice's is bob's: he neither gets her receipt nor her error."""
    open_tree(bank, Currency.PURE, limits(1))
    mine = bank.ask("0.1", once=ONCE)
    his = bank.ask("0.1", BOB, subject="bob", once=ONCE)
    bank.ask("0.1", BOB, subject="bob", once=Idempotency("key-2", "digest-2"))
    assert not his.repeated
    assert mine.query_id != his.query_id
    assert len(audit(bank.engine).charges) == 3


def test_idempotency_key_of_a_refused_request_may_be_used_again(bank: Bank) -> None:
    """A refusal is not an answer: after a grant the same request with the same key is charged."""
    open_tree(bank, Currency.PURE, limits("0.1"))
    with pytest.raises(BudgetExhausted):
        bank.ask("0.5", once=ONCE)
    bank.set_limits(CLINIC, limits(1))
    assert not bank.ask("0.5", once=ONCE).repeated
    assert bank.ask("0.5", once=ONCE).repeated


# ---- what a refusal says ----


@BOTH
def test_refusal_says_account_need_left_and_is_recorded(bank: Bank, currency: Currency) -> None:
    """The text names the account, what the question takes and what is left; the trail has it too."""
    open_tree(bank, currency, limits(1), alice=limits("0.5"))
    bank.ask("0.3")
    refusal = refused(bank, "0.3")
    assert refusal.detail == f"`{ALICE}` has epsilon 0.2 left for ever, the question takes 0.3"
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
    while True:
        try:
            bank.ask(price, alice)
        except BudgetExhausted as refusal:
            refusals.append(refusal.detail)
            match = _LEFT.search(refusal.detail)
            assert match is not None
            price = Epsilon.parse(match["left"]).value
        else:
            break
        if not price:
            break
    assert len(refusals) <= 4, refusals
