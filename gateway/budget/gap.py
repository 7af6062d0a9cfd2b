"""Charge what a restored state does not know of.

The anchor says how much each account had given; the restored state says less. The difference is
charged, whether it fits or not: those answers are out. An account that the state has never heard of
is opened with the limits the anchor knows, so that what it gave is not forgotten either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import Account, Currency, Every, Ledger, Limits, Window
from gateway.budget.administration import open_account, open_ledger
from gateway.budget.booking import Booking, book_charge, book_entry
from gateway.budget.remembered import balance_of, find_account, find_ledger
from gateway.store.anchor import Fact
from gateway.store.draft import Draft
from gateway.units import Delta, Epsilon

_ACCOUNT, _LEDGER = "account:", "ledger:"


@dataclass(frozen=True)
class Gap:
    """What one account gave that the state did not know, in the ledger's currency."""

    account: str
    amount: Fraction
    delta: Fraction
    spent: Fraction
    delta_spent: Fraction


def charge_gap(
    draft: Draft, facts: Mapping[str, Fact], *, query_id: str, actor: str, now: datetime
) -> list[Gap]:
    """Bring every account up to what the anchor says it gave; the differences that were charged."""
    definitions = {
        name.removeprefix(_ACCOUNT): fact.value
        for name, fact in facts.items()
        if name.startswith(_ACCOUNT)
    }
    _open_missing(draft, facts, definitions, actor, now)
    return [
        gap
        for name, fact in definitions.items()
        if (gap := _charge_one(draft, name, fact, f"{query_id}-{name}", now)) is not None
    ]


def _open_missing(
    draft: Draft,
    facts: Mapping[str, Fact],
    definitions: Mapping[str, Mapping[str, str | None]],
    actor: str,
    now: datetime,
) -> None:
    for name, fact in facts.items():
        if name.startswith(_LEDGER) and find_ledger(draft, name.removeprefix(_LEDGER)) is None:
            ledger = _ledger(name.removeprefix(_LEDGER), fact.value)
            limits = _limits(definitions[ledger.name])
            open_ledger(draft, ledger, limits, actor=actor, now=now)
    missing = [name for name in definitions if find_account(draft, name) is None]
    while missing:
        name = next(
            candidate for candidate in missing if definitions[candidate]["parent"] not in missing
        )
        missing.remove(name)
        definition = definitions[name]
        account = Account(
            name, str(definition["ledger"]), definition["parent"], _limits(definition)
        )
        open_account(draft, account, actor=actor, now=now)


def _charge_one(
    draft: Draft, name: str, fact: Mapping[str, str | None], query_id: str, now: datetime
) -> Gap | None:
    balance = balance_of(draft, name)
    amount = max(Fraction(0), Fraction(str(fact["spent"])) - balance.spent)
    delta = max(Fraction(0), Fraction(str(fact["delta_spent"])) - balance.delta_spent)
    if not amount and not delta:
        return None
    booking = Booking(query_id, str(fact["ledger"]), amount, Delta(delta), now)
    book_charge(draft, booking, subject="gateway", price=Epsilon.zero())
    after = book_entry(draft, booking, name, balance)
    return Gap(name, amount, delta, after.spent, after.delta_spent)


def _ledger(name: str, fact: Mapping[str, str | None]) -> Ledger:
    return Ledger(name, str(fact["source"]), str(fact["unit"]), Currency(str(fact["currency"])))


def _limits(fact: Mapping[str, str | None]) -> Limits:
    window = None
    if fact["window_every"] is not None:
        window = Window(
            Every(fact["window_every"]), Epsilon.from_ratio(str(fact["window_epsilon"]))
        )
    return Limits(
        Epsilon.from_ratio(str(fact["epsilon"])), Delta.from_ratio(str(fact["delta"])), window
    )
