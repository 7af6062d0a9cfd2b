"""The guarantee of an account: what its quota promises, and what was released to it amounts to.

A quota is an amount of the ledger's currency that was set before the queries. What is released under it is (epsilon,
delta)-differentially private: in pure epsilon the quota itself, in zCDP the least epsilon that the quota implies at the
half of delta that thresholds do not use. So a quota of 1 in a ledger of 10 is 2.7.

A spend is no quota: when to stop asking may depend on answers. So the spend so far is told by rungs that were set before,

    quota, quota / 2, quota / 4, ...    16 of them, each converted at a sixteenth of that half,

and the least rung that covers the spend holds, whichever it is: the chances to fail of all rungs add up to the half. In pure
epsilon a bound on the likelihood ratio holds for every sequence of answers, so the spend itself is told.

INVARIANT: a guarantee follows from the largest limits that the account ever had. A limit that was lowered may rest on
answers, as a spend does, and what was released under the larger one stays released.
INVARIANT: a guarantee is never an error. Where no epsilon holds, it has none.

See docs/proofs/budget.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gateway.budget.account import HALF, Account, Balance, Currency, Limits
from gateway.budget.group_privacy import epsilon_of
from gateway.units import Delta, Epsilon, Rho

RUNGS: Final = 16


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy for one unit; without an epsilon nothing is guaranteed."""

    epsilon: Epsilon | None
    delta: Delta


@dataclass(frozen=True)
class LargestLimits:
    """The largest quota and the largest delta that an account ever had; they cover what it was charged.

    The quota is an amount of the ledger's currency. The delta is a plain number, because after a restore it can reach one.
    """

    quota: Fraction
    delta: Fraction


def largest_limits(account: Account, earlier: Iterable[Limits], balance: Balance) -> LargestLimits:
    """Of the limits in force and those before.

    A restore can charge more than every limit that it knows. Then the next power of two takes the place of the limit: it
    covers the charges, and tells no more about them than their size.
    """
    every = [account.limits, *earlier]
    quota = max(replace(account, limits=one).cap for one in every)
    delta = max(one.delta.value for one in every)
    return LargestLimits(_covering(quota, balance.spent), _covering(delta, 2 * balance.delta_spent))


def quota_guarantee(account: Account, largest: LargestLimits) -> Guarantee:
    """What everything that the account may ever be given amounts to; it follows from limits alone."""
    ledger, limits = account.ledger, account.limits
    told = account.parent is None or ledger.currency is Currency.PURE or not largest.quota
    if told and account.cap >= largest.quota:
        return _guarantee(account, largest, limits.epsilon)
    if ledger.currency is Currency.PURE:
        return _guarantee(account, largest, Epsilon(largest.quota))
    return _guarantee(account, largest, _converted(largest.quota, largest.delta * HALF))


def released_guarantee(account: Account, spent: Fraction, largest: LargestLimits) -> Guarantee:
    """What was released for `spent` amounts to, which is at most the largest quota."""
    if account.ledger.currency is Currency.PURE or not spent:
        return _guarantee(account, largest, Epsilon(spent))
    rung = largest.quota
    for _ in range(RUNGS - 1):
        if rung / 2 < spent:
            break
        rung /= 2
    return _guarantee(account, largest, _converted(rung, largest.delta * (HALF / RUNGS)))


def _guarantee(account: Account, largest: LargestLimits, epsilon: Epsilon | None) -> Guarantee:
    if largest.delta >= 1:
        return Guarantee(None, account.limits.delta)
    return Guarantee(epsilon, Delta(largest.delta))


def _converted(rho: Fraction, delta: Fraction) -> Epsilon | None:
    """The epsilon of a rho above zero; none without a delta, or with one that is no delta."""
    return epsilon_of(Rho(rho), Delta(delta)) if 0 < delta < 1 else None


def _covering(limit: Fraction, amount: Fraction) -> Fraction:
    """The limit, or if that is less than the amount, the least power of two that is not."""
    if amount <= limit:
        return limit
    power = Fraction(2) ** (amount.numerator.bit_length() - amount.denominator.bit_length() - 1)
    while power < amount:
        power *= 2
    return power
