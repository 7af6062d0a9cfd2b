"""Charge a question to every account on its path, or refuse it.

INVARIANT: a charge fits the lifetime cap, the threshold delta and the window of every account from
the analyst's to the ledger's, or nothing is taken from any of them.
INVARIANT: what is taken is never given back; amounts cannot be negative (units.py), and an entry
that does not add to its predecessor is refused by the database (migration 0001).
INVARIANT: an account's clock only moves forward. Its entries carry the later of now and the entry
before, and the window is the one of that moment: a clock set back opens no window again.
"""

from datetime import datetime
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.budget.account import Account, Balance, Currency, cost_on_path
from gateway.budget.booking import Booking, anchored_balance, book_charge, book_entry
from gateway.budget.charge import ChargeRequest, Idempotency, Receipt, Withdrawal
from gateway.budget.remembered import balance_of, ledger_of, path_of, spent_before
from gateway.budget.shortfall import exhausted, thresholds_exhausted, window_exhausted
from gateway.errors import Code, SyntaxRefused
from gateway.store.draft import Draft
from gateway.store.tables import charges, ledger_entries
from gateway.units import Epsilon


def charge(draft: Draft, request: ChargeRequest, now: datetime) -> Receipt:
    """Take the price of `request` from its account and all above it."""
    once = request.idempotency
    if once is not None and (earlier := _earlier(draft, request.subject, once)) is not None:
        for taken in earlier.withdrawals:  # the anchor may have missed it
            account = path_of(draft, taken.account)[0]
            _tell_anchor(draft, account, balance_of(draft, account.name))
        return earlier
    path = path_of(draft, request.account)
    ledger = ledger_of(draft, path[0])
    for account in path:
        if not account.limits.cost(ledger.currency):
            balance = balance_of(draft, account.name)
            raise exhausted(account, ledger.currency, balance, request.price.value)
    cost = cost_on_path(request.price, ledger.currency, [account.limits for account in path])
    booking = Booking(request.query_id, ledger.name, cost, request.delta, now)
    afters = [_fitting(draft, account, ledger.currency, booking) for account in path]
    book_charge(
        draft,
        booking,
        subject=request.subject,
        price=request.price,
        measurements=request.measurements,
        once=once,
    )
    withdrawals = tuple(
        _withdraw(draft, account, booking, after)
        for account, after in zip(path, afters, strict=True)
    )
    receipt = Receipt(request.query_id, request.price, cost, withdrawals)
    if once is not None:
        draft.remember(("idempotency", request.subject, once.key), (once.request_digest, receipt))
    return receipt


def _fitting(draft: Draft, account: Account, currency: Currency, booking: Booking) -> Balance:
    """The account's balance after the charge, if its cap, its delta and its window allow it."""
    balance = balance_of(draft, account.name)
    after = booking.after(balance)
    limits, cap = account.limits, account.limits.cost(currency).value
    if after.spent > cap:
        raise exhausted(account, currency, balance, booking.amount)
    if after.delta_spent > limits.for_thresholds.value:
        raise thresholds_exhausted(account, balance, booking.delta)
    if limits.window is not None:
        since = after.spent - spent_before(draft, account.name, limits.window.every.start(after.at))
        worth = limits.epsilon.value / cap
        if since * worth > limits.window.epsilon.value:
            given, needs = (since - booking.amount) * worth, booking.amount * worth
            raise window_exhausted(account, limits.window, given, needs, after.at)
    return after


def _withdraw(draft: Draft, account: Account, booking: Booking, after: Balance) -> Withdrawal:
    _tell_anchor(draft, account, after)
    return book_entry(draft, booking, account.name, after)


def _tell_anchor(draft: Draft, account: Account, balance: Balance) -> None:
    fact = {**account.definition, **anchored_balance(balance)}
    draft.state_fact(f"account:{account.name}", fact)


def _earlier(draft: Draft, subject: str, once: Idempotency) -> Receipt | None:
    """The receipt of the first request with this key, if there was one."""
    known = draft.recall(
        ("idempotency", subject, once.key),
        lambda connection: _load_earlier(connection, subject, once.key),
    )
    if known is None:
        return None
    digest, receipt = known
    if digest != once.request_digest:
        raise SyntaxRefused(Code.IDEMPOTENCY_MISMATCH, hint="use a new key for a new question")
    return Receipt(
        receipt.query_id, receipt.price, receipt.cost, receipt.withdrawals, repeated=True
    )


def _load_earlier(connection: Connection, subject: str, key: str) -> tuple[str, Receipt] | None:
    found = connection.execute(
        select(charges).where(charges.c.subject == subject, charges.c.idempotency_key == key)
    ).one_or_none()
    if found is None:
        return None
    entries = connection.execute(
        select(ledger_entries).where(ledger_entries.c.query_id == found.query_id)
    )
    withdrawals = tuple(
        Withdrawal(
            entry.account,
            Fraction(entry.amount),
            Fraction(entry.delta),
            Balance(
                entry.ordinal, entry.at, Fraction(entry.spent_after), Fraction(entry.delta_after)
            ),
        )
        for entry in entries
    )
    price = Epsilon.from_ratio(found.price)
    receipt = Receipt(found.query_id, price, Fraction(found.amount), withdrawals)
    return found.request_digest, receipt
