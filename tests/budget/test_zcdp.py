"""rho_star: held against the design's table, against dp_accounting, and against the formula itself.

dp_accounting is imported where it is asked: it takes a second, in every process that only collects this file.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import for_each

from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon, Rho

# 1,200 orders, each 1.4 % further above 1 than the one before: the accountant then sees the optimum
# of a smooth curve to within about 1e-5 of itself
_ORDERS = [1 + 10 ** (-3 + 7 * step / 1200) for step in range(1201)]
_TABLE = [("0.5", 0.0066), ("1", 0.0244), ("2", 0.0882), ("5", 0.463), ("10", 1.539)]

caps = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=10**6)
deltas = st.integers(2, 30).map(lambda exponent: Fraction(1, 10**exponent))


def rho_for(cap: Fraction | str, delta: Fraction | str) -> Fraction:
    return rho_star(Epsilon(Fraction(cap)), Delta(Fraction(delta))).value


def log_delta_at(alpha: Decimal, rho: Fraction, cap: Fraction) -> Decimal:
    """The bound of privacy.md §4 for one alpha, as a logarithm."""
    rho_, cap_ = (Decimal(x.numerator) / Decimal(x.denominator) for x in (rho, cap))
    over = alpha - 1
    return over * (alpha * rho_ - cap_) + alpha * (over / alpha).ln() - over.ln()


def least_log_delta(rho: Fraction, cap: Fraction) -> Decimal:
    """The bound at the best alpha, found by a search that shares nothing with the code's."""
    ten = Decimal(10)
    low, high = Decimal(-12), Decimal(15)
    for _ in range(70):
        third = (high - low) / 3
        left = log_delta_at(1 + ten ** (low + third), rho, cap)
        right = log_delta_at(1 + ten ** (high - third), rho, cap)
        low, high = (low, high - third) if left <= right else (low + third, high)
    return min(log_delta_at(1 + ten**place, rho, cap) for place in (low, (low + high) / 2, high))


def accountants_epsilon(rho: float, delta: float) -> float:
    """What Google's RDP accountant says of one Gaussian release of this rho."""
    import dp_accounting  # noqa: PLC0415  # see above

    accountant = dp_accounting.rdp.RdpAccountant(_ORDERS)
    accountant.compose(dp_accounting.GaussianDpEvent(1 / sqrt(2 * rho)))
    return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize(("cap", "expected"), _TABLE)
def test_rho_star_is_the_designs_value_at_delta_1e_6(cap: str, expected: float) -> None:
    """The five values of privacy.md §4 come out, to the digits that are printed there."""
    digits = {0.0066: 4, 0.0244: 4, 0.0882: 4, 0.463: 3, 1.539: 3}[expected]
    assert round(float(rho_for(cap, "1/1000000")), digits) == expected


@for_each("cap", ["0.1", "0.5", "1", "2", "5", "10", "20"])
@for_each("delta", ["1e-6", "1e-9", "5e-7"])
def test_rho_star_is_what_dp_accounting_allows_and_no_more(cap: str, delta: str) -> None:
    """Many small Gaussian questions that add up to rho_star stay within the cap, by another's count,
    use at least 99.99 % of it, and 2 % more would not fit.
    """
    import dp_accounting  # noqa: PLC0415  # see above

    rho = float(rho_for(cap, delta))
    parts = dp_accounting.rdp.RdpAccountant(_ORDERS)
    parts.compose(dp_accounting.GaussianDpEvent(1 / sqrt(2 * rho / 100)), 100)
    assert parts.get_epsilon(float(delta)) == pytest.approx(float(cap), rel=1e-4)
    exactly = dp_accounting.get_epsilon_gaussian(1 / sqrt(2 * rho), float(delta))
    assert exactly <= float(cap)
    assert accountants_epsilon(1.02 * rho, float(delta)) > float(cap)


@settings(max_examples=25, deadline=None)
@given(caps, deltas)
@example(Fraction(1, 1000), Fraction(1, 10**30))
@example(Fraction(1000), Fraction(1, 100))
def test_rho_star_keeps_delta_when_computed_with_80_digits(cap: Fraction, delta: Fraction) -> None:
    """At the best alpha the formula gives no more than delta, and for 0.1 % more rho it gives more."""
    rho = rho_for(cap, delta)
    with localcontext() as context:
        context.prec = 80
        wanted = (Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        assert least_log_delta(rho, cap) <= wanted
        assert least_log_delta(rho * Fraction(1001, 1000), cap) > wanted


@for_each("cap", ["1e-30", "1e-12", "1e-6", "0.9999999", "1e6", "1e12", "1e30"])
@for_each("delta", ["1e-30", "1e-40", "0.999999", "1/3"])
def test_rho_star_is_safe_when_cap_and_delta_are_extreme(cap: str, delta: str) -> None:
    """Whatever an operator writes, what comes back is below the cap and keeps its delta."""
    rho = rho_for(cap, delta)
    assert rho >= 0
    if not rho:
        return
    with localcontext() as context:
        context.prec = 120
        wanted = (Decimal(Fraction(delta).numerator) / Decimal(Fraction(delta).denominator)).ln()
        assert least_log_delta(rho, Fraction(cap)) <= wanted


def test_rho_star_of_the_extremes_is_not_merely_zero() -> None:
    """The safe answer zero is given only where there is nothing to give."""
    assert rho_for("1e6", "1e-30") > 980_000
    assert rho_for("1e-6", "1e-30") > 0
    assert rho_for("1", "1e-40") > Fraction(1, 1000)


@settings(max_examples=60, deadline=None)
@given(caps, deltas, st.fractions(min_value="1.000001", max_value=10))
def test_rho_star_grows_with_cap_and_delta(cap: Fraction, delta: Fraction, by: Fraction) -> None:
    """A larger cap or a larger delta never buys less."""
    assert rho_for(cap, delta) < rho_for(cap * by, delta)
    assert rho_for(cap, delta) < rho_for(cap, min(delta * by, Fraction(99, 100)))


@settings(max_examples=60, deadline=None)
@given(caps, st.fractions(min_value="1.000001", max_value=10))
def test_rho_star_per_epsilon_grows_with_the_cap(cap: Fraction, by: Fraction) -> None:
    """Splitting a cap into accounts never buys more than the cap: small caps are worth less each."""
    assert rho_for(cap, "1e-6") / cap < rho_for(cap * by, "1e-6") / (cap * by)


@pytest.mark.parametrize(("cap", "delta"), [("0", "1e-6"), ("1", "0"), ("0", "0")])
def test_rho_star_is_zero_when_there_is_nothing_to_convert(cap: str, delta: str) -> None:
    """Pure epsilon alone, or delta alone, buys no Gaussian noise."""
    assert rho_star(Epsilon.parse(cap), Delta.parse(delta)) == Rho.zero()
