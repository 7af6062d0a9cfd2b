"""Accounts as a person reads them: in epsilon, linear in what the questions were asked at."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from sqlalchemy import Connection

from gateway.budget.account import Account, Currency, Window
from gateway.budget.remembered import (
    load_accounts,
    load_balance,
    load_ledger,
    load_spent_before,
)
from gateway.budget.shortfall import in_epsilon
from gateway.units import Delta, Epsilon

_PREFIX = "dataset:"


@dataclass(frozen=True)
class WindowStanding:
    every: str
    epsilon_limit: Epsilon
    epsilon_spent: Epsilon
    epsilon_remaining: Epsilon
    reopens_at: datetime


@dataclass(frozen=True)
class Standing:
    """One account; what remains is what the next question may cost."""

    account: str
    dataset: str
    epsilon_limit: Epsilon
    epsilon_spent: Epsilon
    epsilon_remaining: Epsilon
    delta_limit: Delta
    window: WindowStanding | None


def standings(
    connection: Connection, now: datetime, *, dataset: str | None = None
) -> list[Standing]:
    """Every account (of one dataset), in the order in which they were opened."""
    ledger = None if dataset is None else f"{_PREFIX}{dataset}"
    return [_standing(connection, account, now) for account in load_accounts(connection, ledger)]


def standings_of(connection: Connection, now: datetime, subject: str) -> list[Standing]:
    """The accounts that this analyst's questions are charged to, in every dataset."""
    accounts = {account.name: account for account in load_accounts(connection)}
    on_path: set[str] = set()
    for account in accounts.values():
        if account.name.startswith(f"analyst:{subject}@"):
            up: str | None = account.name
            while up is not None:
                on_path.add(up)
                up = accounts[up].parent
    return [_standing(connection, accounts[name], now) for name in accounts if name in on_path]


def _standing(connection: Connection, account: Account, now: datetime) -> Standing:
    ledger = load_ledger(connection, account.ledger)
    if ledger is None:
        raise AssertionError("a foreign key ties every account to its ledger")
    balance = load_balance(connection, account.name)
    spent = in_epsilon(account, ledger.currency, balance.spent)
    limits = account.limits
    return Standing(
        account.name,
        account.ledger.removeprefix(_PREFIX),
        limits.epsilon,
        Epsilon(spent),
        _left(limits.epsilon, spent),
        limits.delta,
        None
        if limits.window is None
        else _window(connection, account, ledger.currency, limits.window, max(now, balance.at)),
    )


def _window(
    connection: Connection, account: Account, currency: Currency, window: Window, moment: datetime
) -> WindowStanding:
    before = load_spent_before(connection, account.name, window.every.start(moment))
    since = load_balance(connection, account.name).spent - before
    spent = in_epsilon(account, currency, since)
    return WindowStanding(
        window.every,
        window.epsilon,
        Epsilon(spent),
        _left(window.epsilon, spent),
        window.every.next_start(moment),
    )


def _left(limit: Epsilon, spent: Fraction) -> Epsilon:
    """Nothing, not less than nothing, when a cap was lowered below what is spent."""
    return Epsilon(max(Fraction(0), limit.value - spent))
