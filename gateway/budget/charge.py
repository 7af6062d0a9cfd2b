"""Charges: the request to the ledger, its receipt, and the withdrawals and entries behind it.

A charge is stored together with its measurements.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from gateway.budget.account import EMPTY, WHOLE, Amounts, Balance, ratio_text
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class ChargedMeasurement:
    """One noisy measurement: its share of the statement's price, and its delta if thresholded."""

    name: str
    mechanism: str
    share: Fraction
    delta: Delta

    def json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "mechanism": self.mechanism,
            "share": ratio_text(self.share),
            "delta": self.delta.ratio,
        }


@dataclass(frozen=True)
class Idempotency:
    """A key that the client repeats when it received no answer, and a digest of its request."""

    key: str
    request_digest: str


@dataclass(frozen=True)
class CachedMeasurement:
    """A cached measurement that the ledger paid for earlier, and its cost for each account that has not paid
    yet.

    `cost` is in the ledger's currency. `touched` is as in the request that paid for it.
    """

    cost: Fraction
    delta: Fraction
    paid: frozenset[str]
    touched: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.cost < 0 or self.delta < 0:
            raise ValueError("what is owed is not negative")


@dataclass(frozen=True)
class CopiedDraw:
    """A measured part that copies an earlier draw; `by` are the accounts that were charged for that draw.

    These accounts and the ledger's own are charged nothing for it. It is confined to the cells of the whole
    charge.
    """

    cost: Fraction
    delta: Fraction
    by: frozenset[str]

    def __post_init__(self) -> None:
        if self.cost < 0 or self.delta < 0:
            raise ValueError("what is held is not negative")


@dataclass(frozen=True)
class ChargeRequest:
    """The price of a query's whole statement, before anything runs.

    `price` is that of the measured part; it may be zero if only cached measurements are charged. `touched`
    names the cells of an immutable partition that the measured part is confined to; None: it is not confined.
    Cells are named `<digest of the partition>:<values>`, with the digest in letters and digits. `held` are
    parts that some accounts paid for before.

    INVARIANT: the shares of the measurements add up to at most one, so the cost of the noise is never above the
    charge.
    """

    query_id: str
    subject: str
    account: str
    price: Epsilon
    measurements: tuple[ChargedMeasurement, ...]
    idempotency: Idempotency | None = None
    owed: tuple[CachedMeasurement, ...] = ()
    touched: tuple[str, ...] | None = None
    held: tuple[CopiedDraw, ...] = ()

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
        """The delta of all thresholds of the statement."""
        return Delta(sum((m.delta.value for m in self.measurements if m.delta), Fraction(0)))


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of the ledger: the amount added to a cell of an account, and the balance after it."""

    cell: str
    amount: Fraction
    delta: Fraction
    after: Balance


@dataclass(frozen=True)
class Withdrawal:
    """The amount one account was charged, and its balance after that, in the ledger's currency.

    `amount` and `delta` are those of the account as a whole. For a charge that was confined to cells, that is
    the increase of the fullest cell, and `cells` has the amount added to each.
    """

    account: str
    amount: Fraction
    delta: Fraction
    after: Balance
    cells: tuple[LedgerEntry, ...] = ()
    cell: ClassVar[str] = WHOLE

    @property
    def entries(self) -> "tuple[Withdrawal | LedgerEntry, ...]":
        """All entries of the ledger: that of the account as a whole, and those of its cells."""
        return (self, *self.cells)

    @property
    def largest(self) -> Amounts:
        """The largest amount in any of the entries, and the largest delta."""
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
    """A completed charge. A repeated idempotency key returns the first receipt's id.

    `cost` is that of the measured part, in the ledger's currency: the limit for the cost of its noise.
    `withdrawals` are in the order of the path; an account that was charged nothing has none. `price_taken` is
    the epsilon charged to the analyst's own account: the decrease of its remaining epsilon, where this account
    binds. A repeated key is charged nothing.
    """

    query_id: str
    price: Epsilon
    cost: Fraction
    withdrawals: tuple[Withdrawal, ...]
    repeated: bool = False
    price_taken: Epsilon = field(default_factory=Epsilon.zero)
    at: datetime = EMPTY.at


def measurements_text(measurements: tuple[ChargedMeasurement, ...]) -> str:
    return json.dumps([one.json() for one in measurements], separators=(",", ":"))
