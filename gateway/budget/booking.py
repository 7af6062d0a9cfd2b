"""Write a charge and its entries: the only place that adds to what was spent."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import WHOLE, Balance, ratio
from gateway.budget.charge import Idempotency, Measurement
from gateway.budget.measured import measured_text
from gateway.store.draft import Draft
from gateway.store.tables import charges, ledger_entries
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class Booking:
    """What one charge takes from each account it touches, in the ledger's currency."""

    query_id: str
    ledger: str
    amount: Fraction
    delta: Delta
    now: datetime

    def after(self, before: Balance) -> Balance:
        """An account's balance once this is taken; its clock never goes back."""
        return Balance(
            before.ordinal + 1,
            max(self.now, before.at),
            before.spent + self.amount,
            before.delta_spent + self.delta.value,
        )


def book_charge(
    draft: Draft,
    booking: Booking,
    *,
    subject: str,
    price: Epsilon,
    measurements: tuple[Measurement, ...] = (),
    once: Idempotency | None = None,
) -> None:
    draft.insert(
        charges,
        {
            "query_id": booking.query_id,
            "at": booking.now.isoformat(),
            "subject": subject,
            "ledger": booking.ledger,
            "price": price.ratio,
            "amount": ratio(booking.amount),
            "delta": booking.delta.ratio,
            "measurements": measured_text(measurements),
            "idempotency_key": once.key if once else None,
            "request_digest": once.request_digest if once else None,
        },
    )


def book_entry(draft: Draft, booking: Booking, account: str, before: Balance) -> Balance:
    """Take the booking from one account, whatever its limits: the caller has seen to them."""
    after = booking.after(before)
    draft.insert(
        ledger_entries,
        {
            "account": account,
            "cell": WHOLE,
            "ordinal": after.ordinal,
            "query_id": booking.query_id,
            "at": after.at.isoformat(),
            "amount": ratio(booking.amount),
            "spent_after": ratio(after.spent),
            "delta": booking.delta.ratio,
            "delta_after": ratio(after.delta_spent),
        },
    )
    draft.remember(("balance", account), after)
    return after


def anchored_balance(balance: Balance) -> dict[str, str | None]:
    """What the anchor keeps of a balance."""
    return {"spent": ratio(balance.spent), "delta_spent": ratio(balance.delta_spent)}
