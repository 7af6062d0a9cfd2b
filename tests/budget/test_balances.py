"""Balances in the journal's memory equal those in the database."""

from datetime import UTC, datetime, timedelta

from fix_ledger import ALICE, BOB, BOTH, CLINIC, ONCOLOGY, Bank, limits, open_tree
from fix_state import AUDIT_SECRET

from gateway.budget.account import Currency, Every
from gateway.budget.report import AccountBalance, standings, standings_on_paths
from gateway.config import Settings
from gateway.state.open import open_state

_LATE = datetime(2026, 3, 18, 23, 59, 59, tzinfo=UTC)


def _remembered(bank: Bank, *names: str) -> list[AccountBalance]:
    now = bank.now
    return bank.journal.commit(lambda draft: standings_on_paths(draft, now, names))


def _read(bank: Bank) -> list[AccountBalance]:
    """In the order of a path: from the analyst's own account upwards."""
    with bank.engine.connect() as connection:
        found = {one.account: one for one in standings(connection, bank.now)}
    return [found[name] for name in (ALICE, ONCOLOGY, CLINIC)]


@BOTH
def test_remembered_accounts_are_those_of_the_database(bank: Bank, currency: Currency) -> None:
    """After every charge, grant and turn of a period both ways of reading tell the same."""
    bank.now = _LATE
    _open(bank, currency)
    assert _remembered(bank, ALICE) == _read(bank)
    for price, passed in (("0.1", 0), ("0.2", 1), ("0.3", 3600), ("0.05", 86_400)):
        bank.now += timedelta(seconds=passed)
        assert _remembered(bank, ALICE) == _read(bank)
        bank.ask(price)
        assert _remembered(bank, ALICE) == _read(bank)
    bank.set_limits(ALICE, limits(7, window=(Every.WEEK, "1")))
    assert _remembered(bank, ALICE) == _read(bank)


@BOTH
def test_looking_at_a_period_beforehand_changes_nothing_of_it(
    bank: Bank, currency: Currency
) -> None:
    """A charge that falls late into the old period is no part of what the new one gives."""
    bank.now = _LATE
    _open(bank, currency)
    bank.ask("0.1")
    bank.now += timedelta(seconds=1)
    assert _remembered(bank, ALICE) == _read(bank)
    bank.now -= timedelta(microseconds=1)
    bank.ask("0.4")
    bank.now += timedelta(microseconds=1)
    assert _remembered(bank, ALICE) == _read(bank)
    bank.ask("0.5")
    assert _remembered(bank, ALICE) == _read(bank)


@BOTH
def test_remembered_accounts_have_the_charges_of_another_gateway_after_the_next_commit(
    bank: Bank, currency: Currency, state_settings: Settings
) -> None:
    """What this process commits tells it of what others did, and an answer is told after a commit."""
    _open(bank, currency)
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, bank.trail, other.engine, bank.now)
        elsewhere.ask("0.2", query_id="elsewhere")
        assert _remembered(bank, ALICE) != _read(bank)  # the control: nothing was committed yet
        bank.ask("0.1")
        assert _remembered(bank, ALICE) == _read(bank)


@BOTH
def test_accounts_of_several_datasets_are_told_once_each(bank: Bank, currency: Currency) -> None:
    """A name without an account is passed over, and what two paths share is there once."""
    _open(bank, currency)
    told = _remembered(bank, ALICE, "analyst:alice@nowhere", BOB)
    assert [one.account for one in told] == [ALICE, ONCOLOGY, CLINIC, BOB]


def _open(bank: Bank, currency: Currency) -> None:
    open_tree(bank, currency, limits(100), alice=limits(5, window=(Every.DAY, "0.5")))
