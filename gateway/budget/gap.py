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


@dataclass(frozen=True)
class Filled:
    """What it took to bring a state up to its anchor."""

    acts: tuple[Act, ...]
    withdrawals: tuple[Withdrawal, ...]


def charge_gap(
    draft: Draft, facts: Mapping[str, Fact], *, query_id: str, actor: str, now: datetime
) -> Filled:
    """Bring every account up to what the anchor says of it."""
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
            acts += set_limits(draft, account.name, account.limits, actor=actor, now=now)
    taken = (
        _charge_one(draft, name, fact, f"{query_id}-{name}", now) for name, fact in accounts.items()
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


def _charge_one(
    draft: Draft, name: str, fact: _Definition, query_id: str, now: datetime
) -> Withdrawal | None:
    balance = balance_of(draft, name)
    amount = max(Fraction(0), Fraction(str(fact["spent"])) - balance.spent)
    delta = max(Fraction(0), Fraction(str(fact["delta_spent"])) - balance.delta_spent)
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
