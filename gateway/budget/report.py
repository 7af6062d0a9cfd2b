"""Account balances for display: in epsilon, as the sum of the prices of the queries, and as guarantees."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import partial

from sqlalchemy import Connection

from gateway.budget.account import Account, Balance, Limits, RateLimit
from gateway.budget.balances import (
    balance_of,
    find_account,
    limits_ever,
    load_accounts,
    load_balance,
    load_limits_ever,
    load_spent_before,
    path_of,
    spent_before,
)
from gateway.budget.guarantees import (
    Guarantee,
    LargestLimits,
    largest_limits,
    quota_guarantee,
    released_guarantee,
)
from gateway.state.draft import Draft
from gateway.units import Delta, Epsilon

_PREFIX = "dataset:"


@dataclass(frozen=True)
class RateLimitBalance:
    every: str
    epsilon_limit: Epsilon
    epsilon_spent: Epsilon
    epsilon_remaining: Epsilon
    reopens_at: datetime


@dataclass(frozen=True)
class AccountBalance:
    """One account; `remaining` is the highest price of the next query.

    Limit and spending are sums of prices. `promised` is what the quota guarantees, `released` what was given so far amounts
    to. `owner` and `largest`, the largest limits that the account ever had, are what they follow from.
    """

    account: str
    dataset: str
    epsilon_limit: Epsilon
    epsilon_spent: Epsilon
    epsilon_remaining: Epsilon
    delta_limit: Delta
    window: RateLimitBalance | None
    promised: Guarantee
    released: Guarantee
    owner: Account
    largest: LargestLimits


@dataclass(frozen=True)
class QuotaBalance:
    """What is left of one account: of its lifetime limit, and of its window if it has one."""

    epsilon_limit: Epsilon
    epsilon_remaining: Epsilon
    window: RateLimitBalance | None


def quota_left(draft: Draft, now: datetime, name: str) -> QuotaBalance | None:
    """The account of this name as it stands in the journal; None if it is not open."""
    account = find_account(draft, name)
    if account is None:
        return None
    balance = balance_of(draft, name)
    limit = Epsilon(account.as_epsilon(account.cap))
    left = _left(limit, account.as_epsilon(balance.spent))
    window = _window_of(account, balance, partial(_spent_before, draft, account, balance), now)
    return QuotaBalance(limit, left, window)


def standings(
    connection: Connection, now: datetime, *, dataset: str | None = None
) -> list[AccountBalance]:
    """Every account (of one dataset), in the order in which they were opened."""
    ledger = None if dataset is None else f"{_PREFIX}{dataset}"
    return [_standing(connection, account, now) for account in load_accounts(connection, ledger)]


def standings_of(connection: Connection, now: datetime, subject: str) -> list[AccountBalance]:
    """The accounts that are charged for this analyst's queries, in every dataset."""
    accounts = {account.name: account for account in load_accounts(connection)}
    on_path: set[str] = set()
    for account in accounts.values():
        if account.name.startswith(f"analyst:{subject}@"):
            up: str | None = account.name
            while up is not None:
                on_path.add(up)
                up = accounts[up].parent
    return [_standing(connection, accounts[name], now) for name in accounts if name in on_path]


def standings_on_paths(draft: Draft, now: datetime, names: Iterable[str]) -> list[AccountBalance]:
    """The open accounts with these names, each followed by those above it.

    Balances are those of the journal: as of the last commit of this process, or newer.
    """
    paths = [path_of(draft, name) for name in names if find_account(draft, name) is not None]
    accounts = {account.name: account for path in paths for account in path}
    return [_remembered(draft, account, now) for account in accounts.values()]


def _standing(connection: Connection, account: Account, now: datetime) -> AccountBalance:
    def before(start: datetime) -> Fraction:
        return load_spent_before(connection, account.name, start)

    balance = load_balance(connection, account.name)
    return _shown(account, balance, before, now, load_limits_ever(connection, account.name))


def _remembered(draft: Draft, account: Account, now: datetime) -> AccountBalance:
    balance = balance_of(draft, account.name)

    before = partial(_spent_before, draft, account, balance)
    return _shown(account, balance, before, now, limits_ever(draft, account.name))


def _spent_before(draft: Draft, account: Account, balance: Balance, start: datetime) -> Fraction:
    # a period without a charge is not in memory: a late charge may still fall before it
    return balance.spent if balance.at < start else spent_before(draft, account.name, start)


def _shown(
    account: Account,
    balance: Balance,
    before: Callable[[datetime], Fraction],
    now: datetime,
    ever: tuple[Limits, ...],
) -> AccountBalance:
    spent = account.as_epsilon(balance.spent)
    # of the ledger's account this differs from the epsilon of its cap where that was changed
    limit = account.as_epsilon(account.cap)
    largest = largest_limits(account, ever, balance)
    return AccountBalance(
        account.name,
        account.ledger.name.removeprefix(_PREFIX),
        Epsilon(limit),
        Epsilon(spent),
        _left(Epsilon(limit), spent),
        account.limits.delta,
        _window_of(account, balance, before, now),
        quota_guarantee(account, largest),
        released_guarantee(account, balance.spent, largest),
        account,
        largest,
    )


def _window_of(
    account: Account, balance: Balance, before: Callable[[datetime], Fraction], now: datetime
) -> RateLimitBalance | None:
    window = account.limits.window
    if window is None:
        return None
    moment = max(now, balance.at)
    given = balance.spent - before(window.every.start(moment))
    return _window(window, account.as_epsilon(given), moment)


def _window(window: RateLimit, spent: Fraction, moment: datetime) -> RateLimitBalance:
    return RateLimitBalance(
        window.every,
        window.epsilon,
        Epsilon(spent),
        _left(window.epsilon, spent),
        window.every.next_start(moment),
    )


def _left(limit: Epsilon, spent: Fraction) -> Epsilon:
    """Zero, not less, if a cap was lowered below the amount spent."""
    return Epsilon(max(Fraction(0), limit.value - spent))
