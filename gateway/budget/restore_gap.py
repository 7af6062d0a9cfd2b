"""Restore gap: charges and limits that the anchor knows and a restored state does not.

The anchor says how much each account had been charged; the restored state says less. The difference is charged,
whether it fits or not, because those answers were released. An account that the state does not know is opened,
so that its charges are not forgotten. A cap that was changed after the backup is changed again, so that a
restore undoes no act of an administrator.

The anchor knows no cells. The lost charges may have filled a cell that was not the fullest, which no balance
shows; so the cells of every account begin anew, and all earlier charges count for every unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import (
    NOTHING,
    Account,
    Amounts,
    Balance,
    Currency,
    Every,
    Ledger,
    Limits,
    RateLimit,
)
from gateway.budget.balances import balance_of, find_account, find_ledger, load_confined
from gateway.budget.charge import Receipt, Withdrawal
from gateway.budget.entries import write_charge
from gateway.budget.limits import Act, fix_rate, open_account, open_ledger, set_limits
from gateway.budget.parallel_composition import close_cells
from gateway.state.anchor import Fact
from gateway.state.draft import Draft
from gateway.units import Delta, Epsilon

_ACCOUNT, _LEDGER = "account:", "ledger:"
_Definition = Mapping[str, str | None]
_NOTHING_UNSEEN = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class GapCharges:
    """The acts and charges that brought a state up to its anchor."""

    acts: tuple[Act, ...]
    withdrawals: tuple[Withdrawal, ...]


def charge_gap(  # noqa: PLR0913 - all that a restore knows
    draft: Draft,
    facts: Mapping[str, Fact],
    *,
    query_id: str,
    actor: str,
    now: datetime,
    cells_known: bool,
    unseen: Mapping[str, tuple[Fraction, Fraction]] | None = None,
) -> GapCharges:
    """Bring every account up to the anchor.

    `cells_known` says that no charge can be missing, so that cells stay as they are.

    `unseen` is the amount charged to each account since this state and the anchor's parted. It is in the
    balances, the anchor does not know it, and it must not make up for lost charges. Limits were then set on
    both sides, and nobody can say which are newer, so the tighter one of each kind is set.
    """
    accounts, ledgers = _named(facts, _ACCOUNT), _named(facts, _LEDGER)
    acts: list[Act] = []
    for name, fact in ledgers.items():
        if find_ledger(draft, name) is None:
            limits = _limits(accounts[name])
            acts += open_ledger(draft, _ledger(name, fact), limits, actor=actor, now=now)
        elif fact.get("rate") is not None:
            limits = _limits(accounts[name])
            acts += fix_rate(draft, _ledger(name, fact), limits, actor=actor, now=now)
    for account in _parents_first(draft, accounts):
        if find_account(draft, account.name) is None:
            acts += open_account(draft, account, actor=actor, now=now)
        else:
            then, present = account.limits, _open(draft, account.name).limits
            limits = then if unseen is None else _tighter(then, present)
            acts += set_limits(draft, account.name, limits, actor=actor, now=now, is_restore=True)
    confined = set() if cells_known else set(draft.recall("accounts with cells", load_confined))
    taken = []
    for name in dict.fromkeys([*accounts, *sorted(confined)]):
        lost = NOTHING
        if name in accounts:
            gone = (unseen or {}).get(name, _NOTHING_UNSEEN)
            lost = _lost(balance_of(draft, name), accounts[name], gone)
        taken.append(
            _charge_one(
                draft,
                _open(draft, name),
                f"{query_id}-{name}",
                lost=lost,
                confined=name in confined,
                now=now,
            )
        )
    return GapCharges(tuple(acts), tuple(one for one in taken if one is not None))


def _parents_first(draft: Draft, accounts: Mapping[str, _Definition]) -> list[Account]:
    """The anchor's accounts, each after the one above it."""

    def depth(name: str | None) -> int:
        fact = accounts.get(name) if name is not None else None
        return 0 if fact is None else 1 + depth(fact["parent"])

    return [
        Account(name, _open_ledger(draft, str(fact["ledger"])), fact["parent"], _limits(fact))
        for name, fact in sorted(accounts.items(), key=lambda each: depth(each[0]))
    ]


def _open_ledger(draft: Draft, name: str) -> Ledger:
    ledger = find_ledger(draft, name)
    if ledger is None:
        raise AssertionError("the ledgers of the anchor are opened first")
    return ledger


def _open(draft: Draft, name: str) -> Account:
    account = find_account(draft, name)
    if account is None:
        raise AssertionError("asked of accounts that are open")
    return account


def _tighter(one: Limits, other: Limits) -> Limits:
    windows = [limits.window for limits in (one, other) if limits.window is not None]
    return Limits(
        min(one.epsilon, other.epsilon),
        min(one.delta, other.delta),
        min(windows, key=_pace, default=None),
    )


def _pace(window: RateLimit) -> Fraction:
    """The highest epsilon per day."""
    return window.epsilon.value / {Every.DAY: 1, Every.WEEK: 7, Every.MONTH: 31}[window.every]


def _lost(balance: Balance, fact: _Definition, unseen: tuple[Fraction, Fraction]) -> Amounts:
    """The amount that the anchor has for an account and its balance has not."""
    seen, seen_delta = balance.spent - unseen[0], balance.delta_spent - unseen[1]
    return Amounts(
        max(Fraction(0), Fraction(str(fact["spent"])) - seen),
        max(Fraction(0), Fraction(str(fact["delta_spent"])) - seen_delta),
    )


def _charge_one(
    draft: Draft, account: Account, query_id: str, *, lost: Amounts, confined: bool, now: datetime
) -> Withdrawal | None:
    """Charge the lost amount to the account as a whole, and begin its cells anew."""
    if not lost and not confined:
        return None
    balance = balance_of(draft, account.name)
    cells = (close_cells(draft, account.name, max(now, balance.at)),) if confined else ()
    after = balance.plus(lost, now)
    withdrawal = Withdrawal(account.name, lost.cost, lost.delta, after, cells)
    receipt = Receipt(query_id, Epsilon.zero(), lost.cost, (withdrawal,), at=now)
    write_charge(draft, receipt, subject="gateway", ledger=account.ledger.name)
    return withdrawal


def _named(facts: Mapping[str, Fact], prefix: str) -> dict[str, _Definition]:
    return {
        name.removeprefix(prefix): fact.value
        for name, fact in facts.items()
        if name.startswith(prefix)
    }


def _ledger(name: str, fact: _Definition) -> Ledger:
    # an anchor of an older version has no rate
    rate = Fraction(fact.get("rate") or 0)
    currency = Currency(str(fact["currency"]))
    return Ledger(name, str(fact["source"]), str(fact["unit"]), currency, rate)


def _limits(fact: _Definition) -> Limits:
    window = None
    if fact["window_every"] is not None:
        window = RateLimit(
            Every(fact["window_every"]), Epsilon.from_ratio(str(fact["window_epsilon"]))
        )
    return Limits(
        Epsilon.from_ratio(str(fact["epsilon"])), Delta.from_ratio(str(fact["delta"])), window
    )
