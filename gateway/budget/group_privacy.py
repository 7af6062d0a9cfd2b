"""Group privacy: the guarantee of a price for several units together, such as a family when the unit is a
person.

An answer that is epsilon-DP for one unit is k·epsilon-DP for k units. An answer that is rho-zCDP is k²·rho-zCDP
for k units, which is then converted at the delta that a budget keeps for conversion. Converting for one unit
first and multiplying afterwards would give a weaker guarantee.

INVARIANT: a converted epsilon is rounded up: `rho_star` says that it is worth at least the rho.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import log, sqrt
from typing import Final

from gateway.budget.account import HALF, Currency, Limits
from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon, Rho

MANY: Final = (1, 2, 5, 10)
_DIGITS: Final = 3


@dataclass(frozen=True)
class GroupGuarantee:
    """For so many units: the epsilon of one query, if it costs something, and of the whole budget."""

    units: int
    question: Epsilon | None
    budget: Epsilon


def group_guarantees(
    limits: Limits, currency: Currency, cost: Fraction | None
) -> tuple[GroupGuarantee, ...]:
    """The guarantees of a query of this cost, and of the whole budget, for one, two, five and ten units."""
    whole = limits.cap(currency)
    delta = limits.delta * HALF
    return tuple(
        GroupGuarantee(
            units,
            None if cost is None else _together(cost, currency, delta, units),
            _together(whole, currency, delta, units),
        )
        for units in MANY
    )


@lru_cache(maxsize=4096)
def epsilon_of(rho: Rho, delta: Delta) -> Epsilon:
    """The least epsilon of three digits such that rho is within (epsilon, delta)."""
    if not rho:
        return Epsilon.zero()
    if not delta:
        raise ValueError("rho is worth no epsilon without a delta")
    # more than enough: Bun and Steinke, 2016
    chance = log(delta.value.denominator) - log(delta.value.numerator)
    enough = float(rho.value) + 2 * sqrt(float(rho.value) * chance)
    step = Fraction(Decimal(1).scaleb(Decimal(enough).adjusted() - _DIGITS + 1))
    low, high = 0, 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        if rho_star(Epsilon(middle * step), delta) >= rho:
            high = middle
        else:
            low = middle
    return Epsilon(high * step)


def _together(cost: Fraction, currency: Currency, delta: Delta, units: int) -> Epsilon:
    if currency is Currency.PURE:
        return Epsilon(cost * units)
    return epsilon_of(Rho(cost * units**2), delta)
