"""What the ledger is asked for and what it answers.

A charge's measurements as they are stored beside it.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from gateway.budget.account import EMPTY, WHOLE, Amounts, Balance, ratio
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
class Owed:
    """An answer that the ledger paid for before, and what each account gives for it that has not paid yet.

    `cost` is in the ledger's currency. `touched` is as in the request that bought it.
    """

    cost: Fraction
    delta: Fraction
    paid: frozenset[str]
    touched: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.cost < 0 or self.delta < 0:
            raise ValueError("what is owed is not negative")


@dataclass(frozen=True)
class Held:
    """A part of what is bought that was drawn before: `by` are the accounts that gave for that draw.

    These and the ledger's own give nothing for it. It is confined to the cells of the whole charge.
    """

    cost: Fraction
    delta: Fraction
    by: frozenset[str]

    def __post_init__(self) -> None:
        if self.cost < 0 or self.delta < 0:
            raise ValueError("what is held is not negative")


@dataclass(frozen=True)
class ChargeRequest:
    """A question's whole statement, priced, before anything runs.

    `price` is that of what is bought; it may be zero when answers are owed for and nothing is bought.
    `touched` names the cells of an immutable partition that what is bought is confined to; None: it is
    not. Cells are named `<digest of the partition>:<values>`, the digest in letters and digits. `held` are parts of what
    is bought that some accounts gave for before.

    INVARIANT: the shares of the measurements add up to at most one, so what the noise will cost is
    never more than what is charged.
    """

    query_id: str
    subject: str
    account: str
    price: Epsilon
    measurements: tuple[Measurement, ...]
    idempotency: Idempotency | None = None
    owed: tuple[Owed, ...] = ()
    touched: tuple[str, ...] | None = None
    held: tuple[Held, ...] = ()

    def __post_init__(self) -> None:
        if not self.price:
            if not self.owed:
                raise ValueError("a charge has a price above zero")
            if self.measurements:
                raise ValueError("a charge without a price has no measurements")
            return
        if not self.measurements or any(m.share <= 0 for m in self.measurements):
            raise ValueError("a charge has measurements, each with a share above zero")
        if sum(m.share for m in self.measurements) > 1:
            raise ValueError("the measurements cost more than the charge")

    @cached_property
    def delta(self) -> Delta:
        """What the thresholds of the statement take together."""
        return Delta(sum((m.delta.value for m in self.measurements if m.delta), Fraction(0)))


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: what was added to a cell of an account, and how that stands then."""

    cell: str
    amount: Fraction
    delta: Fraction
    after: Balance


@dataclass(frozen=True)
class Withdrawal:
    """What one account gave to a charge and how it stands after that, in the ledger's currency.

    `amount` and `delta` are what the account as a whole gave. Of a charge that was confined to cells
    that is by how much the fullest cell became fuller, and `cells` has what was added to each.
    """

    account: str
    amount: Fraction
    delta: Fraction
    after: Balance
    cells: tuple[Entry, ...] = ()
    cell: ClassVar[str] = WHOLE

    @property
    def entries(self) -> "tuple[Withdrawal | Entry, ...]":
        """All lines of the ledger: this one, of the account as a whole, and those of its cells."""
        return (self, *self.cells)

    @property
    def largest(self) -> Amounts:
        """The largest amount in any of the lines, and the largest delta."""
        return Amounts(
            max(each.amount for each in self.entries), max(each.delta for each in self.entries)
        )

    @property
    def spent(self) -> Fraction:
        return self.after.spent

    @property
    def delta_spent(self) -> Fraction:
        return self.after.delta_spent


@dataclass(frozen=True)
class Receipt:
    """A charge that was made. A repeated idempotency key brings back the first receipt's id.

    `cost` is that of what was bought, in the ledger's currency: what its noise may cost. `withdrawals`
    are in the order of the path; an account that gave nothing has none. `price_taken` is what the
    analyst's own account gave, in epsilon: by so much its remaining epsilon went down, where it is the
    account that binds. Who repeats a key gives nothing.
    """

    query_id: str
    price: Epsilon
    cost: Fraction
    withdrawals: tuple[Withdrawal, ...]
    repeated: bool = False
    price_taken: Epsilon = field(default_factory=Epsilon.zero)
    at: datetime = EMPTY.at


def measured_text(measurements: tuple[Measurement, ...]) -> str:
    return json.dumps([measured(one) for one in measurements], separators=(",", ":"))


def measured(one: Measurement) -> dict[str, str]:
    return {
        "name": one.name,
        "mechanism": one.mechanism,
        "share": ratio(one.share),
        "delta": one.delta.ratio,
    }
