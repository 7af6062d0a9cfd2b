"""Tables: they know nothing that is not so, and give the same answer whatever they know."""

from fractions import Fraction

import pytest
from noise.streams import Stream, Written

from gateway.noise.enclosure import Decay, decay_bounds, decay_weights
from gateway.noise.samplers import cumulative_bounds, settle_draw

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
