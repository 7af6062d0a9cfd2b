"""Accounts and balances of a journal draft: from memory, or read from the database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any

from sqlalchemy import ARRAY, Connection, Row, Text, func, literal, select, true
from sqlalchemy.dialects.postgresql import distinct_on

from gateway.budget.account import (
    EMPTY,
    WHOLE,
    Account,
    Balance,
    Currency,
    Every,
    Ledger,
    Limits,
    RateLimit,
)
from gateway.errors import Code, NotPermitted
from gateway.state.draft import Draft
from gateway.state.tables import account_limits, accounts, ledger_entries, ledger_rates, ledgers
from gateway.units import Delta, Epsilon


def path_of(draft: Draft, name: str) -> list[Account]:
    """The account and all accounts above it; the ledger's own account is last."""
    path: list[Account] = []
    up: str | None = name
    while up is not None:
        account = find_account(draft, up)
        if account is None:
            raise NotPermitted(Code.ACCOUNT_UNKNOWN, f"account `{up}` does not exist")
        path.append(account)
        up = account.parent
    return path


def find_account(draft: Draft, name: str) -> Account | None:
    account = draft.recall(("account", name), lambda connection: load_account(connection, name))
    if account is None or account.ledger.rate:
        return account
    # its rate may have been fixed since the account was remembered
    ledger = find_ledger(draft, account.ledger.name)
    return account if ledger is None else replace(account, ledger=ledger)


def find_ledger(draft: Draft, name: str) -> Ledger | None:
    return draft.recall(("ledger", name), lambda connection: load_ledger(connection, name))


def balance_of(draft: Draft, account: str) -> Balance:
    return draft.recall(("balance", account), lambda connection: load_balance(connection, account))


def chains_of(draft: Draft, account: str, cells: Sequence[str]) -> dict[str, Balance]:
    """The balances of an account's cells; those that are not in memory are read in one query."""
    found: dict[str, Balance] = {}

    def load(connection: Connection, cell: str) -> Balance:
        if not found:
            found.update(dict.fromkeys(cells, EMPTY), **load_chains(connection, account, cells))
        return found[cell]

    return {
        cell: draft.recall(("balance", account, cell), partial(load, cell=cell)) for cell in cells
    }


def spent_before(draft: Draft, account: str, start: datetime) -> Fraction:
    """The amount charged to an account before `start`, the beginning of a period."""
    balance = balance_of(draft, account)
    key = ("spent before", account, start)
    if balance.at < start:
        draft.remember(key, balance.spent)
        return balance.spent
    return draft.recall(key, lambda connection: load_spent_before(connection, account, start))


def load_ledger(connection: Connection, name: str) -> Ledger | None:
    row = connection.execute(_LEDGERS.where(ledgers.c.name == name)).one_or_none()
    if row is None:
        return None
    known = Ledger(row.name, row.source, row.unit, Currency(row.currency))
    return replace(known, rate=_rate(connection, known, row.rate))


def load_rate(connection: Connection, name: str) -> Fraction | None:
    """The rate that was fixed for a ledger, if one was."""
    query = select(ledger_rates.c.rate).where(ledger_rates.c.ledger == name)
    rate = connection.execute(query).scalar_one_or_none()
    return None if rate is None else Fraction(rate)


def _rate(connection: Connection, ledger: Ledger, fixed: str | None) -> Fraction:
    """The rate of a ledger; of one of an older version, which has none yet, that which will be fixed."""
    if fixed is not None:
        return Fraction(fixed)
    row = connection.execute(_ACCOUNTS.where(accounts.c.name == ledger.name)).one_or_none()
    return Fraction(0) if row is None else _limits(row).opening_rate(ledger.currency)


def load_account(connection: Connection, name: str) -> Account | None:
    row = connection.execute(_ACCOUNTS.where(accounts.c.name == name)).one_or_none()
    return None if row is None else _account(connection, row)


def load_accounts(connection: Connection, ledger: str | None = None) -> list[Account]:
    query = _ACCOUNTS.order_by(accounts.c.opened_at, accounts.c.name)
    if ledger is not None:
        query = query.where(accounts.c.ledger == ledger)
    return [_account(connection, row) for row in connection.execute(query).all()]


def load_balance(connection: Connection, account: str) -> Balance:
    row = connection.execute(
        select(ledger_entries)
        .where(ledger_entries.c.account == account, ledger_entries.c.cell == WHOLE)
        .order_by(ledger_entries.c.ordinal.desc())
        .limit(1)
    ).one_or_none()
    return EMPTY if row is None else _balance(row)


def load_chains(connection: Connection, account: str, cells: Sequence[str]) -> dict[str, Balance]:
    """The balances of those cells that have an entry: one index lookup for each."""
    wanted = (
        func.unnest(literal(list(cells), ARRAY(Text))).table_valued("cell").render_derived("wanted")
    )
    last = (
        select(ledger_entries)
        .where(ledger_entries.c.account == account, ledger_entries.c.cell == wanted.c.cell)
        .order_by(ledger_entries.c.ordinal.desc())
        .limit(1)
        .lateral("last")
    )
    rows = connection.execute(select(last).select_from(wanted.join(last, true())))
    return {row.cell: _balance(row) for row in rows}


def load_confined(connection: Connection) -> list[str]:
    """The accounts with charges that were confined to cells."""
    query = select(ledger_entries.c.account).where(ledger_entries.c.cell != WHOLE).distinct()
    return sorted(connection.execute(query).scalars())


def load_spent_before(connection: Connection, account: str, start: datetime) -> Fraction:
    spent = connection.execute(
        select(ledger_entries.c.spent_after)
        .where(
            ledger_entries.c.account == account,
            ledger_entries.c.cell == WHOLE,
            ledger_entries.c.at < start,
        )
        .order_by(ledger_entries.c.ordinal.desc())
        .limit(1)
    ).scalar_one_or_none()
    return Fraction(0) if spent is None else Fraction(spent)


def limits_ever(draft: Draft, account: str) -> tuple[Limits, ...]:
    """All limits that an account ever had, those in force last."""
    key = ("limits ever", account)
    return draft.recall(key, lambda connection: load_limits_ever(connection, account))


def load_limits_ever(connection: Connection, account: str) -> tuple[Limits, ...]:
    query = select(account_limits).where(account_limits.c.account == account)
    rows = connection.execute(query.order_by(account_limits.c.ordinal)).all()
    return tuple(_limits(row) for row in rows)


def load_limits_ordinal(connection: Connection, account: str) -> int:
    return (
        connection.execute(
            select(account_limits.c.ordinal)
            .where(account_limits.c.account == account)
            .order_by(account_limits.c.ordinal.desc())
            .limit(1)
        ).scalar_one_or_none()
        or 0
    )


def _balance(row: Row[Any]) -> Balance:
    return Balance(
        row.ordinal, row.at.astimezone(UTC), Fraction(row.spent_after), Fraction(row.delta_after)
    )


def _account(connection: Connection, row: Row[*tuple[Any, ...]]) -> Account:
    ledger = Ledger(row.ledger, row.source, row.unit, Currency(row.currency))
    known = replace(ledger, rate=_rate(connection, ledger, row.rate))
    return Account(row.name, known, row.parent, _limits(row))


def _limits(row: Row[*tuple[Any, ...]]) -> Limits:
    window = None
    if row.window_every is not None:
        window = RateLimit(Every(row.window_every), Epsilon.from_ratio(row.window_epsilon))
    return Limits(Epsilon.from_ratio(row.epsilon), Delta.from_ratio(row.delta), window)


_latest = (
    select(account_limits)
    .ext(distinct_on(account_limits.c.account))
    .order_by(account_limits.c.account, account_limits.c.ordinal.desc())
    .subquery("latest")
)
_ACCOUNTS = (
    select(
        accounts.c.name,
        accounts.c.ledger,
        ledgers.c.source,
        ledgers.c.unit,
        ledgers.c.currency,
        ledger_rates.c.rate,
        accounts.c.parent,
        accounts.c.opened_at,
        _latest.c.epsilon,
        _latest.c.delta,
        _latest.c.window_every,
        _latest.c.window_epsilon,
    )
    .select_from(accounts)
    .join(_latest, _latest.c.account == accounts.c.name)
    .join(ledgers, ledgers.c.name == accounts.c.ledger)
    .outerjoin(ledger_rates, ledger_rates.c.ledger == accounts.c.ledger)
)
_LEDGERS = select(ledgers, ledger_rates.c.rate).outerjoin_from(
    ledgers, ledger_rates, ledger_rates.c.ledger == ledgers.c.name
)
