"""Vectors: their paths agree with each other and with what is computed exactly."""

from fractions import Fraction

import pytest
from noise.streams import Stream, Written

from gateway.noise.enclosure import Decay, decay_bounds
from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.samplers import cumulative_bounds, draw_noise, is_kept, make_staircase


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 40_000])
def test_draw_gives_as_many_as_asked(count: int) -> None:
    """Rejected attempts are made up for; nothing is given beyond the count."""
    stairs = make_staircase(Decay(Fraction(10, 3), 1))
    assert len(draw_noise(stairs, count, SYSTEM_ENTROPY)) == count


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("exponent", [1, 9, 15, 40, 61, 63, 80, 200])
def test_draw_gives_integers_of_any_size_when_the_scale_is_huge(power: int, exponent: int) -> None:
    """No size is cut or wraps around: mean size and spread fit the scale."""
    scale = 10**exponent
    decay = Decay(Fraction(1, scale), 1) if power == 1 else Decay(Fraction(1, 2 * scale**2), 2)
    drawn = draw_noise(make_staircase(decay), 2000, Stream(f"{power} {exponent}"))
    assert all(type(one) is int for one in drawn)
    mean = Fraction(sum(map(abs, drawn)), len(drawn))
    assert abs(mean / scale - (1 if power == 1 else Fraction(798, 1000))) < Fraction(1, 10)
    assert abs(Fraction(sum(drawn), len(drawn)) / scale) < Fraction(2, 10)
    if exponent > 9:
        assert len(set(drawn)) == len(drawn)
        assert 800 < sum(one % 2 for one in drawn) < 1200


@pytest.mark.parametrize("decay", [Decay(Fraction(1, 5000), 1), Decay(Fraction(1, 2 * 5000**2), 2)])
def test_sure_bounds_never_keep_more_than_is_right(decay: Decay) -> None:
    """A step's bound is at most the probability to keep its last size, and close to it."""
    stairs = make_staircase(decay)
    wide = 1 << stairs.shift
    assert wide > 1
    for step in range(0, len(stairs.lows), 11):
        exponent = decay.exponent(step * wide + wide - 1) - decay.exponent(step * wide)
        _, high = decay_bounds(exponent, 63)
        assert high - 1000 <= int(stairs.sure[step]) <= high
    assert int(stairs.sure[-1]) == 0


def test_keeps_decides_as_the_exponential_does_when_the_first_bits_leave_it_open() -> None:
    """U just below and just above e^-x, alike in 63 bits, are told apart by the bits after."""
    exponent = Fraction(3, 100)
    low, high = decay_bounds(exponent, 300)
    for u, kept in ((low - 1, True), (high + 1, False)):
        first, rest = divmod(u, 1 << 237)
        assert is_kept(exponent, first, 63, Written(f"{rest:0237b}")) is kept


def test_short_words_leave_most_cells_open() -> None:
    """What the tests of distributions rely on: tables of 6 bits send most draws the long way."""
    for decay in (Decay(Fraction(1, 100), 1), Decay(Fraction(1, 5000), 2)):
        table = cumulative_bounds(decay, 6)
        assert sum(table.find(cell) is None for cell in range(64)) > 50
        assert sum(cumulative_bounds(decay, 63).find(cell << 57) is None for cell in range(64)) < 2
