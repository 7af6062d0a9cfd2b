"""Limits of time windows hold whatever the clock does."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial

import pytest
from charges import charge_question
from fix_ledger import (
    ALICE,
    BOB,
    BOTH,
    CLINIC,
    NOON,
    Bank,
    ask_until_refused,
    asked,
    audit,
    commit_together,
    limits,
    open_tree,
    question,
    refused,
)
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.budget.account import Currency, Every
from gateway.budget.charge import Receipt
from gateway.budget.report import QuotaBalance, quota_left
from gateway.errors import Code
from gateway.units import Epsilon

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
def test_window_reopens_at_its_utc_boundary_and_not_before(bank: Bank, currency: Currency) -> None:
    """A period gives its epsilon once; the next one begins on the dot, leap years included."""
    bank.open_ledger(limits(1000), currency)
    for place, (every, last, step) in enumerate(_BOUNDARIES):
        name = f"analyst:{place}@clinic"
        bank.open_account(name, limits(10, window=(every, "0.3")))
        reopens = last + step
        bank.now = every.start(last)
        assert ask_until_refused(bank, "0.1", name) == 3
        bank.now = reopens - timedelta(microseconds=1)
        refusal = refused(bank, "0.1", name)
        assert refusal.code is Code.WINDOW_EXHAUSTED
        assert f"{reopens:%Y-%m-%d %H:%M} UTC" in refusal.hint
        window = bank.standing(name).window
        assert window is not None
        assert (window.epsilon_remaining, window.reopens_at) == (Epsilon.zero(), reopens)
        bank.now = reopens
        assert ask_until_refused(bank, "0.1", name) == 3


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


@BOTH
def test_quota_that_is_left_is_that_of_the_balance(bank: Bank, currency: Currency) -> None:
    """Of the lifetime limit and of the window, in the currency's epsilon; an account that is not open has none."""
    bank.open_ledger(limits(1000), currency)
    bank.open_account(ALICE, limits(10, window=(Every.MONTH, "0.5")))

    def left(name: str) -> QuotaBalance | None:
        return bank.journal.read(lambda draft: quota_left(draft, bank.now, name))

    for asked_so_far in range(5):
        quota, standing = left(ALICE), bank.standing(ALICE)
        assert quota is not None
        assert quota.window == standing.window
        assert (quota.epsilon_limit, quota.epsilon_remaining) == (
            standing.epsilon_limit,
            standing.epsilon_remaining,
        )
        assert quota.epsilon_remaining.value == 10 - Fraction(asked_so_far, 10)
        bank.ask("0.1", ALICE)
    assert left(BOB) is None
    bank.open_account(BOB, limits(3))
    other = left(BOB)
    assert other is not None
    assert (str(other.epsilon_remaining), other.window) == ("3", None)
