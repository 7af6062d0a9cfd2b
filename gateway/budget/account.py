"""Accounts of a ledger: their names, limits, balances, and the currency of the ledger.

Where a policy says `auto`, the currency is chosen. Gaussian noise grows with the square root of the number of
measurements, Laplace noise in proportion to it; but for few queries the conversion from rho costs more than that
saves. A ledger with cap and delta admits `cap / price` queries at its default price. Each answer changes up to G
groups of one unit, so

    queries x measurements x G > cap^2 / (4 rho*)          rho* = rho_star(cap, delta / 2)

is where n measurements, each with an equal share, get less noise from zCDP than from pure epsilon: n Laplace
measurements have variance 2 (n G / cap)^2 each, n Gaussian ones n G / (2 rho*); the second is less when n G >
cap^2 / (4 rho*). One measurement a query is assumed, the smallest number, so that zCDP is taken only where it is
certainly better.

The choice is about noise alone: the ledger's guarantee is the same in either currency.

INVARIANT: every amount of one ledger is in one currency, fixed when the ledger was opened.
INVARIANT: one epsilon costs the same in one ledger, whoever asks and whenever: the ledger's `rate`. It is fixed when the
ledger has a cap for the first time, so caps can change and neither a price nor a quota moves. docs/proofs/budget.md.
INVARIANT: a cap can be changed, the amount spent cannot: there is no reset.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Final

from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon

HALF: Final = Fraction(1, 2)
_GRID: Final = 2**96


class Currency(StrEnum):
    """The unit of a ledger: epsilon (Laplace, exponential mechanism) or rho (Gaussian)."""

    PURE = "pure"
    ZCDP = "zcdp"


class Every(StrEnum):
    """Calendar periods, in UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def start(self, moment: datetime) -> datetime:
        """The start of the period that contains `moment`."""
        midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if self is Every.WEEK:
            return midnight - timedelta(days=midnight.weekday())
        return midnight.replace(day=1) if self is Every.MONTH else midnight

    def next_start(self, moment: datetime) -> datetime:
        """The start of the period after the one that contains `moment`."""
        longest = {Every.DAY: 1, Every.WEEK: 7, Every.MONTH: 31}[self]
        return self.start(self.start(moment) + timedelta(days=longest))


@dataclass(frozen=True)
class RateLimit:
    """A rate limit: at most `epsilon` in each period. The privacy guarantee is the cap, not the rate limit."""

    every: Every
    epsilon: Epsilon


@dataclass(frozen=True)
class Limits:
    """The limits of an account: its lifetime cap and its rate limit."""

    epsilon: Epsilon
    delta: Delta
    window: RateLimit | None = None

    def cap(self, currency: Currency) -> Fraction:
        """The lifetime cap of a ledger in its own currency: the largest amount whose guarantee implies these limits."""
        return self.epsilon.value * self.opening_rate(currency)

    def opening_rate(self, currency: Currency) -> Fraction:
        """The rate of a ledger that is opened with these limits; zero if they allow no Gaussian noise."""
        return Fraction(1) if currency is Currency.PURE else self.rho_per_epsilon

    @cached_property
    def rho_per_epsilon(self) -> Fraction:
        """The rho that one epsilon of this cap is worth, rounded down to a grid.

        The grid keeps balances short: without it, the denominator of a ledger's balance would be the product of
        all caps below it. Rounding down means a little more noise, never less.
        """
        if not self.epsilon:
            return Fraction(0)
        exact = rho_star(self.epsilon, self.delta * HALF).value / self.epsilon.value
        return Fraction(floor(exact * _GRID), _GRID)

    @cached_property
    def for_thresholds(self) -> Delta:
        """The half of delta that the conversion does not use."""
        return self.delta * HALF


@dataclass(frozen=True)
class Ledger:
    """One source and one privacy unit, for which the privacy guarantee holds.

    `rate` is the cost of one epsilon, in the ledger's currency; zero while the ledger never had a cap. It follows from
    how the ledger was opened, so two values of one ledger are equal without it.
    """

    name: str
    source: str
    unit: str
    currency: Currency
    rate: Fraction = field(default=Fraction(0), compare=False)

    def cost(self, price: Epsilon) -> Fraction:
        """What a query at this price costs."""
        return price.value * self.rate


@dataclass(frozen=True)
class Account:
    """A node of the tree; the ledger's own account has no parent."""

    name: str
    ledger: Ledger
    parent: str | None
    limits: Limits

    @cached_property
    def cap(self) -> Fraction:
        """The lifetime cap in the ledger's currency: of the ledger what its promise allows, of others a quota of prices."""
        if self.parent is None:
            return self.limits.cap(self.ledger.currency)
        return self.ledger.cost(self.limits.epsilon)

    def as_epsilon(self, amount: Fraction) -> Fraction:
        """The prices of queries that cost this amount of the ledger's currency together."""
        return amount / self.ledger.rate if self.ledger.rate else Fraction(0)

    @cached_property
    def definition(self) -> Mapping[str, str | None]:
        """The fields that the anchor stores of an account, besides its balance."""
        window = self.limits.window
        return {
            "ledger": self.ledger.name,
            "parent": self.parent,
            "epsilon": self.limits.epsilon.ratio,
            "delta": self.limits.delta.ratio,
            "window_every": window.every if window else None,
            "window_epsilon": window.epsilon.ratio if window else None,
        }


@dataclass(frozen=True, slots=True)
class Amounts:
    """An amount of the ledger's currency and an amount of delta."""

    cost: Fraction
    delta: Fraction

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(self.cost + other.cost, self.delta + other.delta)

    def __bool__(self) -> bool:
        return bool(self.cost or self.delta)


@dataclass(frozen=True)
class Balance:
    """The amount an account has been charged so far, in the ledger's currency; `ordinal` counts its entries."""

    ordinal: int
    at: datetime
    spent: Fraction
    delta_spent: Fraction

    def plus(self, amounts: "Amounts", now: datetime) -> "Balance":
        """The balance after one more charge; its clock never goes back."""
        return Balance(
            self.ordinal + 1,
            max(now, self.at),
            self.spent + amounts.cost,
            self.delta_spent + amounts.delta if amounts.delta else self.delta_spent,
        )

    @property
    def spent_text(self) -> str:
        return ratio_text(self.spent)

    @property
    def delta_text(self) -> str:
        return ratio_text(self.delta_spent)


EMPTY: Final = Balance(0, datetime(1970, 1, 1, tzinfo=UTC), Fraction(0), Fraction(0))
NOTHING: Final = Amounts(Fraction(0), Fraction(0))
WHOLE: Final = "*"  # the cell that stands for an account as a whole
RESTORED: Final = "#"  # the chain that counts how often cells were begun anew


def ratio_text(amount: Fraction) -> str:
    """An amount of the ledger's currency in the form in which it is stored."""
    return f"{amount.numerator}/{amount.denominator}"


def ledger_name(dataset: str) -> str:
    return f"dataset:{dataset}"


def analyst_account(subject: str, dataset: str) -> str:
    return f"analyst:{subject}@{dataset}"


def team_account(team: str, dataset: str) -> str:
    return f"team:{team}@{dataset}"


_MEASUREMENTS: Final = 1


def choose_currency(cap: Epsilon, delta: Delta, price: Epsilon, groups: int) -> Currency:
    """The currency with less noise at this price until the cap is spent: pure epsilon or zCDP."""
    rho = rho_star(cap, delta * HALF)
    if not rho:
        return Currency.PURE
    questions = cap / price
    gaussian = questions * _MEASUREMENTS * groups > cap.value**2 / (4 * Fraction(rho.value))
    return Currency.ZCDP if gaussian else Currency.PURE
