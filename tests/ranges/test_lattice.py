"""Lattices: fine enough to be exact where that is possible, small enough that nothing overflows."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws
from sensitivity.analyses import span

from gateway.functions.range_arithmetic import Range
from gateway.ranges.lattice import lattice_of

_numbers = st.fractions(-(10**12), 10**12, max_denominator=10_000)


@settings(max_examples=draws(500), deadline=None, derandomize=True)
@given(_numbers, _numbers, st.one_of(st.none(), st.integers(1, 10_000)))
def test_lattice_is_small_and_a_multiple_of_the_step(
    one: Fraction, other: Fraction, per: int | None
) -> None:
    """Every whole number is below 2^30, those of rows that weigh 2^30 fit a bigint, and low is not above high."""
    low, high = sorted((one, other))
    step = None if per is None else Fraction(1, per)
    found = lattice_of(Range(low, high, step))
    assert found.low <= found.high
    assert max(abs(found.low), abs(found.high)) < 2**30
    assert max(found.width, 1) * 2**30 < 2**63
    if step is not None:
        assert (found.step / step).denominator == 1
    finer = found.step - step if step is not None else found.step / 2
    if finer > 0 and max(abs(low), abs(high)):
        # the least one: one step finer is too large
        assert max(abs(low), abs(high)) / finer > 2**30 - 1


def test_lattice_is_the_step_itself_when_that_is_coarse_enough() -> None:
    """Cents from 0 to 5000 are counted in cents."""
    found = lattice_of(span(0, 5_000, Fraction(1, 100)))
    assert (found.step, found.low, found.high) == (Fraction(1, 100), 0, 500_000)


def test_lattice_lies_within_the_range_when_its_ends_are_between_steps() -> None:
    """From 0.5 to 9.5 whole numbers go from 1 to 9."""
    found = lattice_of(span(0.5, 9.5, Fraction(1)))
    assert (found.low, found.high) == (1, 9)


def test_lattice_is_one_point_when_the_range_is_narrower_than_a_step() -> None:
    """What cannot be told apart is one value; what is measured of it is how many there are."""
    found = lattice_of(Range(Fraction(10**15), Fraction(10**15) + 1, Fraction(1)))
    assert found.width == 0
    assert abs(found.low * found.step - 10**15) <= found.step
