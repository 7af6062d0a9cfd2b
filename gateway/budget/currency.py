"""Choice of a ledger's currency, where its policy says `auto`.

Gaussian noise grows with the square root of the number of measurements, Laplace noise in proportion to it; but
for few queries the conversion from rho costs more than that saves. A ledger with cap and delta admits `cap /
price` queries at its default price. Each answer changes up to G groups of one unit, so

queries x measurements x G > cap^2 / (4 rho*)        rho* = rho_star(cap, delta / 2)

is where n measurements, each with an equal share, get less noise from zCDP than from pure epsilon: n Laplace
measurements have variance 2 (n G / cap)^2 each, n Gaussian ones n G / (2 rho*); the second is less when n G >
cap^2 / (4 rho*). One measurement a query is assumed, the smallest number, so that zCDP is taken only where it
is certainly better.

The choice is about noise alone: the ledger's guarantee is the same in either currency.
"""

from fractions import Fraction
from typing import Final

from gateway.budget.account import HALF, Currency
from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon

_MEASUREMENTS: Final = 1


def choose_currency(cap: Epsilon, delta: Delta, price: Epsilon, groups: int) -> Currency:
    """The currency with less noise at this price until the cap is spent: pure epsilon or zCDP."""
    rho = rho_star(cap, delta * HALF)
    if not rho:
        return Currency.PURE
    questions = cap / price
    gaussian = questions * _MEASUREMENTS * groups > cap.value**2 / (4 * Fraction(rho.value))
    return Currency.ZCDP if gaussian else Currency.PURE
