"""Ledgers and accounts: opening them and changing their limits, as recorded acts.

INVARIANT: a ledger keeps its source, unit, currency and rate for ever; the amount spent under one unit says nothing
about another unit. INVARIANT: this module writes no amounts spent.
INVARIANT: the cap of a ledger is never lowered below what is spent; what is promised stays that of the largest cap.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, select

from gateway.budget.account import Account, Ledger, Limits, ratio_text
from gateway.budget.balances import (
    balance_of,
    find_account,
    find_ledger,
    limits_ever,
    load_limits_ordinal,
    load_rate,
)
from gateway.budget.entries import balance_fact
from gateway.errors import Code, OperatorError
from gateway.state.draft import Draft
from gateway.state.tables import account_limits, accounts, ledger_rates, ledgers


@dataclass(frozen=True)
class LedgerOpened:
    ledger: Ledger


@dataclass(frozen=True)
class RateFixed:
    """From now on one epsilon costs `ledger.rate` in this ledger, which was opened without a cap or by an older version."""

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


Act = LedgerOpened | RateFixed | AccountOpened | LimitsSet


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
        _state_ledger(draft, ledger, None)
        fix_rate(draft, ledger, limits, actor=actor, now=now)
        opened = _open_ledger(draft, ledger)
        account = Account(ledger.name, opened, None, limits)
        return [LedgerOpened(opened), *open_account(draft, account, actor=actor, now=now)]
    if known != ledger:
        raise _changed(known, ledger)
    # of a ledger of an older version by the cap in force until now, before it is changed
    before = find_account(draft, known.name)
    acts = fix_rate(draft, known, before.limits if before else limits, actor=actor, now=now)
    account = Account(known.name, _open_ledger(draft, known), None, limits)
    return [*acts, *open_account(draft, account, actor=actor, now=now)]


def fix_rate(
    draft: Draft, ledger: Ledger, limits: Limits, *, actor: str, now: datetime
) -> list[Act]:
    """Fix what one epsilon costs, if it is not fixed: what the ledger says, or what its limits allow; never zero."""
    if draft.recall(("rate", ledger.name), lambda there: load_rate(there, ledger.name)) is not None:
        return []
    rate = ledger.rate or limits.opening_rate(ledger.currency)
    if not rate:
        return []
    fixed = replace(ledger, rate=rate)
    written = ratio_text(rate)
    draft.insert(
        ledger_rates,
        {"ledger": ledger.name, "at": now.isoformat(), "actor": actor, "rate": written},
    )
    draft.remember(("rate", ledger.name), rate)
    draft.remember(("ledger", ledger.name), fixed)
    draft.remember(("ledger on", ledger.source, ledger.unit), fixed)
    _state_ledger(draft, fixed, written)
    return [RateFixed(fixed)]


def _state_ledger(draft: Draft, ledger: Ledger, rate: str | None) -> None:
    about = {"source": ledger.source, "unit": ledger.unit, "currency": ledger.currency}
    draft.state_fact(f"ledger:{ledger.name}", {**about, "rate": rate})


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
    account = replace(account, ledger=_open_ledger(draft, account.ledger))
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


def set_limits(
    draft: Draft,
    name: str,
    limits: Limits,
    *,
    actor: str,
    now: datetime,
    is_restore: bool = False,
) -> list[Act]:
    """Raise or lower the limits of an account. The amount already charged stays.

    A restore sets limits that were set before, also below what it charges for what was lost.
    """
    account = find_account(draft, name)
    if account is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"account `{name}` does not exist",
            "`gateway budget show` lists all accounts",
        )
    if account.limits == limits:
        return []
    acts: list[Act] = []
    if account.parent is None and not account.limits.epsilon:
        acts = fix_rate(draft, account.ledger, limits, actor=actor, now=now)
    changed = replace(account, limits=limits, ledger=_open_ledger(draft, account.ledger))
    _require_usable(changed)
    if account.parent is None and not is_restore:
        _require_covered(draft, account, changed)
    _write_limits(draft, changed, actor, now)
    return [*acts, LimitsSet(name, account.limits, limits)]


def _open_ledger(draft: Draft, ledger: Ledger) -> Ledger:
    return find_ledger(draft, ledger.name) or ledger


def _require_covered(draft: Draft, before: Account, after: Account) -> None:
    """Refuse a cap of the whole ledger that no longer covers what was released under it."""
    spent = balance_of(draft, after.name)
    less = after.cap < before.cap and spent.spent > after.cap
    thresholds = after.limits.for_thresholds.value
    less |= after.limits.delta < before.limits.delta and spent.delta_spent > thresholds
    if less:
        raise OperatorError(
            Code.LEDGER_CHANGED,
            f"`{after.name}` has spent more than epsilon {after.limits.epsilon} and delta"
            f" {after.limits.delta} allow, and what was released cannot be taken back",
            "set limits that cover the spending, or lower the limits of teams and analysts",
        )


def _write_limits(draft: Draft, account: Account, actor: str, now: datetime) -> None:
    key = ("limits ordinal", account.name)
    ordinal = (
        draft.recall(key, lambda connection: load_limits_ordinal(connection, account.name)) + 1
    )
    window = account.limits.window
    earlier = limits_ever(draft, account.name)
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
    draft.remember(("limits ever", account.name), (*earlier, account.limits))
    fact = {**account.definition, **balance_fact(balance_of(draft, account.name))}
    draft.state_fact(f"account:{account.name}", fact)


def _require_usable(account: Account) -> None:
    """Refuse limits that imply no guarantee of the ledger's currency, unless they are zero."""
    if account.limits.epsilon and not account.limits.opening_rate(account.ledger.currency):
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
