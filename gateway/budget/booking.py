"""Write a charge and its entries: the only place that adds to what was spent."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import WHOLE, Balance, ratio
from gateway.budget.charge import Idempotency, Measurement, Withdrawal
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

    @property
    def amount_text(self) -> str:
        return ratio(self.amount)

    @property
    def delta_text(self) -> str:
        return self.delta.ratio

    def after(self, before: Balance) -> Balance:
        """An account's balance once this is taken; its clock never goes back."""
        return Balance(
            before.ordinal + 1,
            max(self.now, before.at),
            before.spent + self.amount,
            before.delta_spent + self.delta.value if self.delta else before.delta_spent,
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
            "amount": booking.amount_text,
            "delta": booking.delta_text,
            "measurements": measured_text(measurements),
            "idempotency_key": once.key if once else None,
            "request_digest": once.request_digest if once else None,
        },
    )


def book_entry(draft: Draft, booking: Booking, account: str, after: Balance) -> Withdrawal:
    """Take the booking from one account, whatever its limits: the caller has seen to them."""
    draft.insert(
        ledger_entries,
        {
            "account": account,
            "cell": WHOLE,
            "ordinal": after.ordinal,
            "query_id": booking.query_id,
            "at": after.at.isoformat(),
            "amount": booking.amount_text,
            "spent_after": after.spent_text,
            "delta": booking.delta_text,
            "delta_after": after.delta_text,
        },
    )
    draft.remember(("balance", account), after)
    return Withdrawal(account, booking.amount, booking.delta.value, after)


def anchored_balance(balance: Balance) -> dict[str, str | None]:
    """What the anchor keeps of a balance."""
    return {"spent": balance.spent_text, "delta_spent": balance.delta_text}
