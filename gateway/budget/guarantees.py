"""The guarantee of an account: what its quota promises, and what was released to it amounts to.

A quota is an amount of the ledger's currency that was set before the queries. What is released under it is (epsilon,
delta)-differentially private: in pure epsilon the quota itself, in zCDP the least epsilon that the quota implies at the
half of delta that thresholds do not use. So a quota of 1 in a ledger of 10 is 2.7.

A spend is no quota: when to stop asking may depend on answers. So the spend so far is told by rungs that were set before,

    quota, quota / 2, quota / 4, ...    16 of them, each converted at a sixteenth of that half,

and the least rung that covers the spend holds, whichever it is: the chances to fail of all rungs add up to the half. In pure
epsilon a bound on the likelihood ratio holds for every sequence of answers, so the spend itself is told.

See docs/proofs/budget.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from gateway.budget.account import HALF, Account, Currency
from gateway.budget.group_privacy import epsilon_of
from gateway.units import Delta, Epsilon, Rho

RUNGS: Final = 16


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy for one unit."""

    epsilon: Epsilon
    delta: Delta


def quota_guarantee(account: Account) -> Guarantee:
    """What everything that the account may ever be given amounts to."""
    limits, ledger = account.limits, account.ledger
    if account.parent is None or ledger.currency is Currency.PURE or not account.cap:
        return Guarantee(limits.epsilon, limits.delta)
    return Guarantee(epsilon_of(Rho(account.cap), limits.delta * HALF), limits.delta)


def released_guarantee(account: Account, spent: Fraction, largest: Fraction) -> Guarantee:
    """What was released for `spent` amounts to; `largest` is the largest quota that the account ever had.

    A quota that was lowered below the spend promises nothing about it, so there the largest takes its place.
    """
    delta = account.limits.delta
    if account.ledger.currency is Currency.PURE:
        return Guarantee(Epsilon(spent), delta)
    if not spent:
        return Guarantee(Epsilon.zero(), delta)
    rung = account.cap if spent <= account.cap else max(largest, spent)
    for _ in range(RUNGS - 1):
        if rung / 2 < spent:
            break
        rung /= 2
    return Guarantee(epsilon_of(Rho(rung), delta * (HALF / RUNGS)), delta)
