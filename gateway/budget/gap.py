"""Charge what a restored state does not know of, and set the limits that were set since.

The anchor says how much each account had given; the restored state says less. The difference is
charged, whether it fits or not: those answers are out. An account that the state has never heard of
is opened, so that what it gave is not forgotten either; and a cap that was changed after the backup
is changed again, so that restoring gives nobody back what an administrator took away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import Account, Currency, Every, Ledger, Limits, Window
from gateway.budget.administration import Act, open_account, open_ledger, set_limits
from gateway.budget.booking import Booking, book_charge, book_entry
from gateway.budget.charge import Withdrawal
from gateway.budget.remembered import balance_of, find_account, find_ledger
from gateway.store.anchor import Fact
from gateway.store.draft import Draft
from gateway.units import Delta, Epsilon

_ACCOUNT, _LEDGER = "account:", "ledger:"
_Definition = Mapping[str, str | None]
_NOTHING = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Filled:
    """What it took to bring a state up to its anchor."""

    acts: tuple[Act, ...]
    withdrawals: tuple[Withdrawal, ...]


def charge_gap(
    draft: Draft,
    facts: Mapping[str, Fact],
    *,
    query_id: str,
    actor: str,
    now: datetime,
    unseen: Mapping[str, tuple[Fraction, Fraction]] | None = None,
) -> Filled:
    """Bring every account up to what the anchor says of it.

    `unseen` is what each account was charged since this state and the anchor's parted: it is in the
    balances, the anchor knows nothing of it, and it must not make up for what was lost. Limits were
    then set on both sides, nobody can say which are newer, and of each kind the tighter one is set.
    """
    accounts, ledgers = _named(facts, _ACCOUNT), _named(facts, _LEDGER)
    acts: list[Act] = []
    for name, fact in ledgers.items():
        if find_ledger(draft, name) is None:
            limits = _limits(accounts[name])
            acts += open_ledger(draft, _ledger(name, fact), limits, actor=actor, now=now)
    for account in _parents_first(accounts):
        if find_account(draft, account.name) is None:
            acts += open_account(draft, account, actor=actor, now=now)
        else:
            lost, present = account.limits, _present(draft, account)
            limits = lost if unseen is None else _tighter(lost, present)
            acts += set_limits(draft, account.name, limits, actor=actor, now=now)
    taken = (
        _charge_one(
            draft,
            name,
            fact,
            f"{query_id}-{name}",
            now=now,
            unseen=(unseen or {}).get(name, _NOTHING),
        )
        for name, fact in accounts.items()
    )
    return Filled(tuple(acts), tuple(one for one in taken if one is not None))


def _parents_first(accounts: Mapping[str, _Definition]) -> list[Account]:
    """The anchored accounts, each after the one above it."""

    def depth(name: str | None) -> int:
        fact = accounts.get(name) if name is not None else None
        return 0 if fact is None else 1 + depth(fact["parent"])

    return [
        Account(name, str(fact["ledger"]), fact["parent"], _limits(fact))
        for name, fact in sorted(accounts.items(), key=lambda each: depth(each[0]))
    ]


def _present(draft: Draft, account: Account) -> Limits:
    present = find_account(draft, account.name)
    if present is None:
        raise AssertionError("asked of accounts that are open")
    return present.limits


def _tighter(one: Limits, other: Limits) -> Limits:
    windows = [limits.window for limits in (one, other) if limits.window is not None]
    return Limits(
        min(one.epsilon, other.epsilon),
        min(one.delta, other.delta),
        min(windows, key=_pace, default=None),
    )


def _pace(window: Window) -> Fraction:
    """Epsilon a day, at most."""
    return window.epsilon.value / {Every.DAY: 1, Every.WEEK: 7, Every.MONTH: 31}[window.every]


def _charge_one(
    draft: Draft,
    name: str,
    fact: _Definition,
    query_id: str,
    *,
    now: datetime,
    unseen: tuple[Fraction, Fraction],
) -> Withdrawal | None:
    balance = balance_of(draft, name)
    seen, seen_delta = balance.spent - unseen[0], balance.delta_spent - unseen[1]
    amount = max(Fraction(0), Fraction(str(fact["spent"])) - seen)
    delta = max(Fraction(0), Fraction(str(fact["delta_spent"])) - seen_delta)
    if not amount and not delta:
        return None
    booking = Booking(query_id, str(fact["ledger"]), amount, Delta(delta), now)
    book_charge(draft, booking, subject="gateway", price=Epsilon.zero())
    return book_entry(draft, booking, name, booking.after(balance))


def _named(facts: Mapping[str, Fact], prefix: str) -> dict[str, _Definition]:
    return {
        name.removeprefix(prefix): fact.value
        for name, fact in facts.items()
        if name.startswith(prefix)
    }


def _ledger(name: str, fact: _Definition) -> Ledger:
    return Ledger(name, str(fact["source"]), str(fact["unit"]), Currency(str(fact["currency"])))


def _limits(fact: _Definition) -> Limits:
    window = None
    if fact["window_every"] is not None:
        window = Window(
            Every(fact["window_every"]), Epsilon.from_ratio(str(fact["window_epsilon"]))
        )
    return Limits(
        Epsilon.from_ratio(str(fact["epsilon"])), Delta.from_ratio(str(fact["delta"])), window
    )
