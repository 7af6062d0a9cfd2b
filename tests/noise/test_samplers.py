"""Tables of the samplers enclose the exact distributions; vectors of draws equal single draws."""

from fractions import Fraction

import pytest
from noise.streams import Stream, Written

from gateway.noise.enclosure import Decay, decay_bounds, decay_weights
from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.samplers import (
    cumulative_bounds,
    draw_noise,
    is_kept,
    make_staircase,
    settle_draw,
)

DECAYS = [
    Decay(Fraction(10, 3), 1),
    Decay(Fraction(1, 50), 1),
    Decay(Fraction(1, 100), 1),
    Decay(Fraction(5), 2),
    Decay(Fraction(1, 2), 2),
    Decay(Fraction(1, 5000), 2),
]


def _identified(decay: Decay) -> str:
    return f"{decay.power}, {decay.rate}"


@pytest.mark.parametrize("decay", DECAYS, ids=_identified)
def test_weights_enclose_each_exponential(decay: Decay) -> None:
    """The recurrence gives bounds around what is computed directly."""
    known = decay_weights(decay, 128, 1 << 64)
    for x in range(0, len(known.lows), 7):
        low, high = decay_bounds(decay.exponent(x), 200)
        assert known.lows[x] << 72 <= high
        assert known.highs[x] << 72 >= low
        assert known.highs[x] - known.lows[x] < 1 << 32


@pytest.mark.parametrize("decay", DECAYS, ids=_identified)
def test_rest_bounds_the_weights_that_follow(decay: Decay) -> None:
    """What is not listed sums up to no more than `rest`, and not to much less."""
    few, all_ = decay_weights(decay, 128, 1 << 120), decay_weights(decay, 128, 1 << 20)
    follow = sum(all_.highs[len(few.highs) :])
    assert follow <= few.rest <= 3 * follow + (1 << 21)


@pytest.mark.parametrize("decay", DECAYS, ids=_identified)
def test_shares_of_few_bits_enclose_those_of_many(decay: Decay) -> None:
    """A table of 20 bits says nothing that a table of 200 bits contradicts."""
    rough, fine = cumulative_bounds(decay, 20), cumulative_bounds(decay, 200)
    for k, (low, high) in enumerate(zip(rough.lows, rough.highs, strict=True)):
        assert low << 180 <= fine.highs[k]
        assert high << 180 >= fine.lows[k]
        assert high - low <= 2


@pytest.mark.parametrize("bits", [1, 5, 8, 13, 63])
@pytest.mark.parametrize("decay", DECAYS, ids=_identified)
def test_inversion_finds_the_same_when_fewer_bits_are_read_first(decay: Decay, bits: int) -> None:
    """The answer depends on the bits alone, not on how many of them the first table knows."""
    first, fine = cumulative_bounds(decay, bits), cumulative_bounds(decay, 200)
    opened = 0
    for name in range(100):
        u = Stream(f"{name}").bits(200)
        known = Written(f"{u:0200b}", str(name))
        cell = known.bits(bits)
        found = first.find(cell)
        if found is None:
            opened += 1
            found = settle_draw(decay, cell, bits, known)
        assert found == fine.find(u)
    if bits == 5:
        assert opened  # else nothing was tried here


def test_inversion_finds_the_same_when_it_is_steered_into_the_open_cells() -> None:
    """Cells that the table leaves open are settled on either side of the bound, by later bits."""
    decay = Decay(Fraction(1, 50), 1)
    first, fine = cumulative_bounds(decay, 63), cumulative_bounds(decay, 400)
    open_cells = [
        (k, cell)
        for k, (low, high) in enumerate(zip(first.lows, first.highs, strict=True))
        for cell in range(low, high)
    ]
    assert len(open_cells) >= 1000
    found = set()
    for k, cell in open_cells[::60]:
        bound = fine.lows[k]
        for u in (bound - (1 << 290), bound + (1 << 290)):
            if u >> 337 == cell:
                text = f"{u:0400b}"
                settled = settle_draw(decay, cell, 63, Written(text[63:]))
                assert settled == k + (u > bound)
                found.add(settled - k)
    assert found == {0, 1}


def test_inversion_goes_beyond_the_table_when_all_bits_are_set() -> None:
    """The tail is not cut: the last cell leads to values that the first table does not have."""
    decay = Decay(Fraction(1, 3), 1)
    last = (1 << 63) - 1
    assert cumulative_bounds(decay, 63).find(last) is None
    assert settle_draw(decay, last, 63, Written("1" * 63)) > len(cumulative_bounds(decay, 63).lows)


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
