"""zCDP conversion: the rho that an (epsilon, delta) guarantee is worth.

rho-zCDP implies (epsilon, delta)-differential privacy with, for every alpha > 1,

delta = exp((alpha - 1)(alpha·rho - epsilon)) / (alpha - 1) · (1 - 1/alpha)^alpha

(privacy.md §4). For a fixed alpha this is increasing in rho and can be solved for it:

rho(alpha) = (epsilon + (ln delta + ln(alpha - 1) - alpha·ln(1 - 1/alpha)) / (alpha - 1)) / alpha

INVARIANT: rho_star is never too large. *Every* alpha > 1 gives a valid bound, so rho(alpha) is safe for
whatever alpha the search ends with; it is evaluated with 60 digits and rounded down by more than the error of
that evaluation. The search only decides how good the bound is, never whether it holds.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import floor, inf, log, log1p

from gateway.units import Delta, Epsilon, Rho

_DIGITS = 60
_SAFETY = Decimal(10) ** -40
_GRID = 2**80
_SEARCH_STEPS = 200
_GOLDEN = (5**0.5 - 1) / 2


@lru_cache(maxsize=4096)
def rho_star(cap: Epsilon, delta: Delta) -> Rho:
    """The largest rho found whose zCDP guarantee implies (cap, delta), rounded down to a rational.

    Zero if there is nothing to convert: pure epsilon alone, or delta alone, pays for no Gaussian noise.
    """
    if not cap or not delta:
        return Rho.zero()
    alpha = _best_alpha(float(cap.value), _log_of(delta))
    with localcontext() as context:
        context.prec = _DIGITS
        exact = _rho_at(Decimal(alpha), _decimal(cap.value), _decimal(delta.value))
        safe = exact - (1 + abs(exact)) * _SAFETY
        return Rho(Fraction(max(0, floor(safe * _GRID)), _GRID))


def _best_alpha(epsilon: float, log_delta: float) -> float:
    """Golden-section search over ln(alpha - 1), where the bound has one peak."""

    def goodness(position: float) -> float:
        over = 2.0**position
        alpha = 1.0 + over
        rho = (epsilon + (log_delta + log(over) + alpha * log1p(1.0 / over)) / over) / alpha
        return rho if alpha > 1.0 else -inf

    low, high = -30.0, 60.0
    for _ in range(_SEARCH_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if goodness(left) < goodness(right):
            low = left
        else:
            high = right
    return float(1.0 + 2.0 ** ((low + high) / 2))


def _rho_at(alpha: Decimal, epsilon: Decimal, delta: Decimal) -> Decimal:
    over = alpha - 1
    return (epsilon + (delta.ln() + over.ln() - alpha * (1 - 1 / alpha).ln()) / over) / alpha


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _log_of(delta: Delta) -> float:
    """The logarithm, also of a delta that is too small for a float."""
    return log(delta.value.numerator) - log(delta.value.denominator)
