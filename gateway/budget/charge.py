"""What the ledger is asked for and what it answers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from gateway.budget.account import Balance
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class Measurement:
    """One noisy measurement: its share of the statement's price, and its delta if thresholded."""

    name: str
    mechanism: str
    share: Fraction
    delta: Delta


@dataclass(frozen=True)
class Idempotency:
    """A key the client repeats when it does not know whether we heard it, and what it asked."""

    key: str
    request_digest: str


@dataclass(frozen=True)
class ChargeRequest:
    """A question's whole statement, priced, before anything runs.

    INVARIANT: the shares of the measurements add up to at most one, so what the noise will cost is
    never more than what is charged.
    """

    query_id: str
    subject: str
    account: str
    price: Epsilon
    measurements: tuple[Measurement, ...]
    idempotency: Idempotency | None = None

    def __post_init__(self) -> None:
        if not self.price:
            raise ValueError("a charge has a price above zero")
        if not self.measurements or any(m.share <= 0 for m in self.measurements):
            raise ValueError("a charge has measurements, each with a share above zero")
        if sum(m.share for m in self.measurements) > 1:
            raise ValueError("the measurements cost more than the charge")

    @cached_property
    def delta(self) -> Delta:
        """What the thresholds of the statement take together."""
        return Delta(sum((m.delta.value for m in self.measurements), Fraction(0)))


@dataclass(frozen=True)
class Withdrawal:
    """What one account gave to a charge and how it stands after that, in the ledger's currency."""

    account: str
    amount: Fraction
    delta: Fraction
    after: Balance

    @property
    def spent(self) -> Fraction:
        return self.after.spent

    @property
    def delta_spent(self) -> Fraction:
        return self.after.delta_spent


@dataclass(frozen=True)
class Receipt:
    """A charge that was made. A repeated idempotency key brings back the first receipt's id."""

    query_id: str
    price: Epsilon
    cost: Fraction
    withdrawals: tuple[Withdrawal, ...]
    repeated: bool = False
