"""The ledger: a charge fits every account on its path, or it is refused.

A refusal says which account is exhausted, what the query needs, what is left, and when to try again. All its
amounts are in epsilon, the unit in which people plan: one epsilon costs the ledger's rate, whoever asks.

INVARIANT: a charge fits the lifetime cap, the threshold delta and the rate limit of every charged account from the
analyst's to the ledger's, or no account is charged.
INVARIANT: if some accounts paid for a part before, the charge must fit as if they had not: no refusal, and no
missing refusal, reveals that a cached draw exists.
INVARIANT: a charge is never returned; amounts cannot be negative (units.py), and the database refuses an entry
that does not add to its predecessor (migration 0001).
INVARIANT: an account's clock only moves forward. Its entries carry the later of now and the entry before, and that
moment selects the period of the rate limit: a clock that is set back opens no period again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.budget.account import (
    WHOLE,
    Account,
    Balance,
    RateLimit,
)
from gateway.budget.balances import balance_of, path_of, spent_before
from gateway.budget.charge import ChargeRequest, Idempotency, LedgerEntry, Receipt, Withdrawal
from gateway.budget.entries import balance_fact, write_charge
from gateway.budget.parallel_composition import (
    AccountShare,
    account_shares,
    cell_entries,
    shares_beside_copies,
)
from gateway.errors import BudgetExhausted, Code, SyntaxRefused
from gateway.state.draft import Draft
from gateway.state.tables import charges, ledger_entries
from gateway.units import Delta, Epsilon, format_decimal, format_down

_FREE = "repeating an answered query is free"


def budget_exhausted(account: Account, balance: Balance, needs: Fraction) -> BudgetExhausted:
    """The refusal of a query that needs so much epsilon of an account."""
    left = max(Fraction(0), account.as_epsilon(account.cap - balance.spent))
    return BudgetExhausted(
        Code.BUDGET_EXHAUSTED,
        f"`{account.name}` has epsilon {format_down(left)} left for its lifetime, the query needs"
        f" {format_decimal(needs)}",
        f"use a lower epsilon, or ask an administrator to raise the limit; {_FREE}",
    )


def thresholds_exhausted(account: Account, balance: Balance, delta: Delta) -> BudgetExhausted:
    left = max(Fraction(0), account.limits.for_thresholds.value - balance.delta_spent)
    return BudgetExhausted(
        Code.THRESHOLDS_EXHAUSTED,
        f"`{account.name}` has delta {format_down(left)} left for thresholds, the query needs {delta}",
        f"group by columns with a declared domain, which need no threshold; {_FREE}",
    )


def window_exhausted(
    account: Account, window: RateLimit, given: Fraction, needs: Fraction, moment: datetime
) -> BudgetExhausted:
    left = max(Fraction(0), window.epsilon.value - given)
    reopens = window.every.next_start(moment)
    return BudgetExhausted(
        Code.WINDOW_EXHAUSTED,
        f"`{account.name}` has epsilon {format_down(left)} left in this {window.every}, the query needs"
        f" {format_decimal(needs)}",
        f"the next {window.every} begins at {reopens:%Y-%m-%d %H:%M} UTC; {_FREE}",
    )


def charge(draft: Draft, request: ChargeRequest, now: datetime) -> Receipt:
    """Charge the price of `request` to its account and all above it, and cached measurements to those that owe
    for them.
    """
    once = request.idempotency
    if once is not None and (earlier := earlier_charge(draft, request.subject, once)) is not None:
        for taken in earlier.withdrawals:  # the anchor may have missed it
            account = path_of(draft, taken.account)[0]
            _tell_anchor(draft, account, balance_of(draft, account.name))
        return earlier
    path = path_of(draft, request.account)
    cost = _cost(draft, request, path)
    gifts = account_shares(request, path, cost)
    withdrawals = tuple(_fitting(draft, gift, now) for gift in gifts)
    if request.held:
        # it fits as if nothing had been paid before; now every account is charged for what it has not paid
        gifts = shares_beside_copies(request, path, cost)
        withdrawals = tuple(_fitting(draft, gift, now) for gift in gifts)
    for gift, withdrawal in zip(gifts, withdrawals, strict=True):
        _tell_anchor(draft, gift.account, withdrawal.after)
    receipt = Receipt(
        request.query_id,
        request.price,
        cost,
        withdrawals,
        price_taken=_price_taken(request, cost, withdrawals, path),
        at=now,
    )
    write_charge(
        draft,
        receipt,
        subject=request.subject,
        ledger=path[0].ledger.name,
        measurements=request.measurements,
        once=once,
    )
    if once is not None:
        draft.remember(("idempotency", request.subject, once.key), (once.request_digest, receipt))
    return receipt


def _cost(draft: Draft, request: ChargeRequest, path: Sequence[Account]) -> Fraction:
    """The cost of the measured part of the statement, in the ledger's currency."""
    if not request.price:
        return Fraction(0)
    for account in path:
        if not account.limits.epsilon:
            balance = balance_of(draft, account.name)
            raise budget_exhausted(account, balance, request.price.value)
    return path[0].ledger.cost(request.price)


def _fitting(draft: Draft, gift: AccountShare, now: datetime) -> Withdrawal:
    """The withdrawal from the account, if its cap, its delta and its rate limit allow it."""
    account, amounts, cells = gift.account, gift.whole, tuple[LedgerEntry, ...]()
    balance = balance_of(draft, account.name)
    if gift.confined:
        at = max(now, balance.at)
        rise, cells = cell_entries(draft, account.name, gift.confined, at)
        amounts += rise
    after, limits = balance.plus(amounts, now), account.limits
    taken = Withdrawal(account.name, amounts.cost, amounts.delta, after, cells)
    cap = account.cap
    # an account above its cap is charged nothing, not even in a cell that would not raise its total
    if after.spent > cap:
        raise budget_exhausted(account, balance, account.as_epsilon(_needs(taken)))
    if after.delta_spent > limits.for_thresholds.value:
        raise thresholds_exhausted(account, balance, Delta(taken.delta or taken.largest.delta))
    if limits.window is not None and cap:
        since = after.spent - spent_before(draft, account.name, limits.window.every.start(after.at))
        if since > account.ledger.cost(limits.window.epsilon):
            given, needs = since - taken.amount, _needs(taken)
            raise window_exhausted(
                account,
                limits.window,
                account.as_epsilon(given),
                account.as_epsilon(needs),
                after.at,
            )
    return taken


def _needs(taken: Withdrawal) -> Fraction:
    return taken.amount or taken.largest.cost


def _price_taken(
    request: ChargeRequest,
    cost: Fraction,
    withdrawals: Sequence[Withdrawal],
    path: Sequence[Account],
) -> Epsilon:
    """The epsilon charged to the analyst's own account."""
    if not withdrawals or withdrawals[0].account != request.account:
        return Epsilon.zero()
    amount = withdrawals[0].amount
    return request.price if amount == cost else Epsilon(path[0].as_epsilon(amount))


def _tell_anchor(draft: Draft, account: Account, balance: Balance) -> None:
    fact = {**account.definition, **balance_fact(balance)}
    draft.state_fact(f"account:{account.name}", fact)


def earlier_charge(draft: Draft, subject: str, once: Idempotency) -> Receipt | None:
    """The receipt of the first request with this key, if there was one."""
    known = draft.recall(
        ("idempotency", subject, once.key),
        lambda connection: _load_earlier(connection, subject, once.key),
    )
    if known is None:
        return None
    digest, receipt = known
    if digest != once.request_digest:
        raise SyntaxRefused(Code.IDEMPOTENCY_MISMATCH, hint="use a new key for a new query")
    return replace(receipt, repeated=True, price_taken=Epsilon.zero())


def _load_earlier(connection: Connection, subject: str, key: str) -> tuple[str, Receipt] | None:
    found = connection.execute(
        select(charges).where(charges.c.subject == subject, charges.c.idempotency_key == key)
    ).one_or_none()
    if found is None:
        return None
    rows = connection.execute(
        select(ledger_entries).where(ledger_entries.c.query_id == found.query_id)
    )
    entries: dict[str, list[LedgerEntry]] = {}
    for row in rows:
        after = Balance(row.ordinal, row.at, Fraction(row.spent_after), Fraction(row.delta_after))
        entry = LedgerEntry(row.cell, Fraction(row.amount), Fraction(row.delta), after)
        entries.setdefault(row.account, []).append(entry)
    withdrawals = tuple(_withdrawn(account, lines) for account, lines in entries.items())
    # the ledger's own account has its name, is charged for every measurement, and owes nothing for cached ones
    costs = [one.largest.cost for one in withdrawals if one.account == found.ledger]
    price = Epsilon.from_ratio(found.price)
    receipt = Receipt(found.query_id, price, sum(costs, Fraction(0)), withdrawals, at=found.at)
    return found.request_digest, receipt


def _withdrawn(account: str, lines: Sequence[LedgerEntry]) -> Withdrawal:
    """A withdrawal read back from its entries."""
    [whole] = (line for line in lines if line.cell == WHOLE)
    cells = sorted((line for line in lines if line.cell != WHOLE), key=lambda line: line.cell)
    return Withdrawal(account, whole.amount, whole.delta, whole.after, tuple(cells))
