"""Which currency a ledger counts in, when its policy leaves that open.

Gaussian noise grows with the square root of what is measured, Laplace noise in proportion to it; but for
few questions the conversion from rho costs more than that saves. A ledger with cap and delta holds
`cap / price` questions at its default price. Answering each changes up to G groups of one unit, so

    questions x measurements x G > cap^2 / (4 rho*)        rho* = rho_star(cap, delta / 2)

is where n measurements, each with an equal share, get less noise from zCDP than from pure epsilon:
n Laplace measurements have variance 2 (n G / cap)^2 each, n Gaussian ones n G / (2 rho*); the second is
less when n G > cap^2 / (4 rho*). One measurement a question is counted, the fewest there are, so that
zCDP is taken when it is better for sure.

The choice is about noise alone: in either currency the ledger's promise is the same.
"""

from fractions import Fraction
from typing import Final

from gateway.budget.account import HALF, Currency
from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon

_MEASUREMENTS: Final = 1


def better_currency(cap: Epsilon, delta: Delta, price: Epsilon, groups: int) -> Currency:
    """Pure epsilon or zCDP, whichever gives the better answers at this price until the cap is spent."""
    rho = rho_star(cap, delta * HALF)
    if not rho:
        return Currency.PURE
    questions = cap / price
    gaussian = questions * _MEASUREMENTS * groups > cap.value**2 / (4 * Fraction(rho.value))
    return Currency.ZCDP if gaussian else Currency.PURE
