"""Ledgers and accounts: opening them and changing their limits, as recorded acts.

INVARIANT: a ledger keeps its source, unit and currency for ever; the amount spent under one unit says nothing
about another unit. INVARIANT: this module writes no amounts spent.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, select

from gateway.budget.account import Account, Ledger, Limits
from gateway.budget.balances import (
    balance_of,
    find_account,
    find_ledger,
    load_limits_ordinal,
)
from gateway.budget.entries import balance_fact
from gateway.errors import Code, OperatorError
from gateway.state.draft import Draft
from gateway.state.tables import account_limits, accounts, ledgers


@dataclass(frozen=True)
class LedgerOpened:
    ledger: Ledger


@dataclass(frozen=True)
class AccountOpened:
    account: Account


@dataclass(frozen=True)
class LimitsSet:
    """A change of limits; `before` and `after` are for auditors."""

    account: str
    before: Limits
    after: Limits


Act = LedgerOpened | AccountOpened | LimitsSet


def open_ledger(
    draft: Draft, ledger: Ledger, limits: Limits, *, actor: str, now: datetime
) -> list[Act]:
    """Make sure this ledger is open with these limits. Returns the acts this took; none if nothing changed."""
    known = find_ledger(draft, ledger.name) or _ledger_on(draft, ledger)
    if known is None:
        draft.insert(
            ledgers,
            {
                "name": ledger.name,
                "source": ledger.source,
                "unit": ledger.unit,
                "currency": ledger.currency,
                "opened_at": now.isoformat(),
            },
        )
        draft.remember(("ledger", ledger.name), ledger)
        draft.remember(("ledger on", ledger.source, ledger.unit), ledger)
        draft.state_fact(
            f"ledger:{ledger.name}",
            {"source": ledger.source, "unit": ledger.unit, "currency": ledger.currency},
        )
        account = Account(ledger.name, ledger, None, limits)
        return [LedgerOpened(ledger), *open_account(draft, account, actor=actor, now=now)]
    if known != ledger:
        raise _changed(known, ledger)
    return open_account(draft, Account(ledger.name, ledger, None, limits), actor=actor, now=now)


def open_account(draft: Draft, account: Account, *, actor: str, now: datetime) -> list[Act]:
    """Make sure this account is open with these limits. Returns the acts this took; none if nothing changed."""
    known = find_account(draft, account.name)
    if known is not None:
        if (known.ledger, known.parent) != (account.ledger, account.parent):
            raise OperatorError(
                Code.LEDGER_CHANGED,
                f"`{account.name}` is below `{known.parent}` of `{known.ledger.name}`"
                " and cannot be moved, because its spending cannot be moved",
            )
        return set_limits(draft, account.name, account.limits, actor=actor, now=now)
    if account.parent is not None:
        parent = find_account(draft, account.parent)
        if parent is None or parent.ledger != account.ledger:
            raise OperatorError(
                Code.LEDGER_CHANGED,
                f"`{account.name}` needs an open account `{account.parent}` in `{account.ledger.name}`",
            )
    _require_usable(account)
    draft.insert(
        accounts,
        {
            "name": account.name,
            "ledger": account.ledger.name,
            "parent": account.parent,
            "opened_at": now.isoformat(),
        },
    )
    _write_limits(draft, account, actor, now)
    return [AccountOpened(account)]


def set_limits(draft: Draft, name: str, limits: Limits, *, actor: str, now: datetime) -> list[Act]:
    """Raise or lower the limits of an account. The amount already charged stays."""
    account = find_account(draft, name)
    if account is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"account `{name}` does not exist",
            "`gateway budget show` lists all accounts",
        )
    if account.limits == limits:
        return []
    changed = replace(account, limits=limits)
    _require_usable(changed)
    _write_limits(draft, changed, actor, now)
    return [LimitsSet(name, account.limits, limits)]


def _write_limits(draft: Draft, account: Account, actor: str, now: datetime) -> None:
    key = ("limits ordinal", account.name)
    ordinal = (
        draft.recall(key, lambda connection: load_limits_ordinal(connection, account.name)) + 1
    )
    window = account.limits.window
    draft.insert(
        account_limits,
        {
            "account": account.name,
            "ordinal": ordinal,
            "at": now.isoformat(),
            "actor": actor,
            "epsilon": account.limits.epsilon.ratio,
            "delta": account.limits.delta.ratio,
            "window_every": window.every if window else None,
            "window_epsilon": window.epsilon.ratio if window else None,
        },
    )
    draft.remember(key, ordinal)
    draft.remember(("account", account.name), account)
    fact = {**account.definition, **balance_fact(balance_of(draft, account.name))}
    draft.state_fact(f"account:{account.name}", fact)


def _require_usable(account: Account) -> None:
    """Refuse a cap that is worth nothing in the ledger's currency, unless it is zero."""
    if account.limits.epsilon and not account.cap:
        raise OperatorError(
            Code.LEDGER_CHANGED,
            f"`{account.name}` has epsilon {account.limits.epsilon} but its delta"
            f" {account.limits.delta} allows no Gaussian noise",
            "give the account a delta above zero, or the ledger `mechanism: laplace`",
        )


def _ledger_on(draft: Draft, ledger: Ledger) -> Ledger | None:
    """The ledger that this source and unit already have, under any name."""

    def load(connection: Connection) -> Ledger | None:
        name = connection.execute(
            select(ledgers.c.name).where(
                ledgers.c.source == ledger.source, ledgers.c.unit == ledger.unit
            )
        ).scalar_one_or_none()
        return None if name is None else find_ledger(draft, name)

    return draft.recall(("ledger on", ledger.source, ledger.unit), load)


def _changed(known: Ledger, wanted: Ledger) -> OperatorError:
    return OperatorError(
        Code.LEDGER_CHANGED,
        f"ledger `{known.name}` is open for unit `{known.unit}` in currency `{known.currency}`,"
        f" not for `{wanted.name}` with unit `{wanted.unit}` in `{wanted.currency}`",
        "spending cannot be moved to another ledger; keep the name, unit and mechanism",
    )
