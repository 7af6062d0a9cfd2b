"""Enclosures contain the exact value and are narrow; tables of distributions are cached."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import erfc, sqrt

import pytest
from laws import for_each

from gateway.noise.enclosure import Decay, TableCache, decay_bounds, normal_tail_within, pi_bounds

_PI = 314159265358979323846264338327950288419716939937510582097494459


def _decayed(exponent: Fraction, bits: int) -> Decimal:
    """e^-exponent·2^bits, to 120 digits."""
    return (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp() * Decimal(2) ** bits


@for_each("bits", [4, 16, 63, 127, 256])
@for_each(
    "exponent",
    ["0", "1/1000000000000", "1/8", "1/7", "1/2", "1", "355/113", "10", "50/3", "61", "200", "1e9"],
)
def test_decay_bounds_enclose_the_exponential_closely(exponent: str, bits: int) -> None:
    """The value lies between bounds that are at most two apart."""
    low, high = decay_bounds(Fraction(exponent), bits)
    with localcontext() as context:
        context.prec = 120
        assert low <= _decayed(Fraction(exponent), bits) <= high
    assert high - low <= 2


def test_decay_bounds_exclude_the_neighbours_of_the_exponential() -> None:
    """Negative control: a value that is 2^-100 off is outside the bounds of 128 bits."""
    low, high = decay_bounds(Fraction(1, 3), 128)
    with localcontext() as context:
        context.prec = 120
        off = Decimal(2) ** -100
        assert not low <= _decayed(Fraction(1, 3), 128) * (1 + off) <= high
        assert not low <= _decayed(Fraction(1, 3), 128) * (1 - off) <= high


@pytest.mark.parametrize("bits", [8, 64, 200])
def test_pi_bounds_enclose_pi(bits: int) -> None:
    """Every digit that is known of π is between the bounds."""
    low, high = pi_bounds(bits)
    pi = Fraction(_PI, 10**62)
    assert low <= pi * 2**bits <= high
    assert high - low < 1 << 13


@pytest.mark.parametrize("distance", [0, 1, 50, 164, 196, 500, 1000, 1500])
def test_normal_tail_is_within_a_limit_exactly_from_its_value_on(distance: int) -> None:
    """A limit a little above the tail is proven, one a little below is not."""
    tail = Fraction(erfc(distance / (100 * sqrt(2))) / 2)
    little = Fraction(1, 10**9)
    assert normal_tail_within(distance, Fraction(10_000), tail * (1 + little), 400)
    assert not normal_tail_within(distance, Fraction(10_000), tail * (1 - little), 400)


def _decay(number: int) -> Decay:
    return Decay(Fraction(1, number), 1)


def test_a_distribution_is_known_when_it_comes_again() -> None:
    """The first time it is new, ever after it is not."""
    asked_again = TableCache()
    assert [asked_again(_decay(7)), asked_again(_decay(7)), asked_again(_decay(8))] == [
        False,
        True,
        False,
    ]
    assert asked_again(_decay(7))


def test_distributions_that_nobody_asks_for_are_forgotten() -> None:
    """So prices that never come again take no more memory than a thousand of them."""
    asked_again = TableCache(2)
    for number in (1, 2, 1, 3):
        asked_again(_decay(number))
    assert asked_again(_decay(1))
    assert not asked_again(_decay(2))
