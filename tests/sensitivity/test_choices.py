"""Buckets: every point of the lattice in one of them, and a value for each."""

from fractions import Fraction

import pytest
from laws import for_each

from gateway.ranges.lattice import Lattice
from gateway.sensitivity.choices import MOST_BUCKETS, Buckets, buckets_of

LATTICES = [
    Lattice(Fraction(1), 0, 9),
    Lattice(Fraction(1, 100), -7, 1_000),
    Lattice(Fraction(5), -20, -3),
    Lattice(Fraction(1), 3, 3),
]


@for_each("most", [1, 2, 7, 10, 100, 10_000])
@for_each("lattice", LATTICES, ids=str)
def test_buckets_hold_every_point_once_and_in_order(lattice: Lattice, most: int) -> None:
    """The ends of the buckets are those that the division gives, without a gap, and never more than allowed."""
    buckets = buckets_of(lattice, most)
    assert buckets.count <= most
    points: list[int] = []
    for bucket in range(buckets.count):
        first, last = buckets.ends(bucket)
        points += range(first, last + 1)
        assert {buckets.bucket(point) for point in range(first, last + 1)} == {bucket}
    assert points == list(range(lattice.low, lattice.high + 1))


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_bucket_is_answered_by_its_middle_point(lattice: Lattice) -> None:
    """A single point is itself; of a stretch, no point is further away than half of it."""
    for most in (3, 10_000):
        buckets = buckets_of(lattice, most)
        for bucket in range(buckets.count):
            first, last = buckets.ends(bucket)
            value = buckets.value(bucket)
            assert first * lattice.step <= value <= last * lattice.step
            assert (value / lattice.step).denominator == 1
            assert 2 * (last * lattice.step - value) <= buckets.width * lattice.step


def test_buckets_are_points_until_they_would_be_too_many() -> None:
    """The usual limit is 10,000."""
    assert buckets_of(Lattice(Fraction(1), 1, MOST_BUCKETS)).width == 1
    assert buckets_of(Lattice(Fraction(1), 0, MOST_BUCKETS)).width == 2
    assert buckets_of(Lattice(Fraction(1), -(2**29), 2**29)).count <= MOST_BUCKETS


def test_buckets_refuse_what_is_none() -> None:
    """No bucket, an empty one, and one beyond the last are mistakes of the caller."""
    lattice = LATTICES[0]
    with pytest.raises(ValueError, match="at least one bucket"):
        buckets_of(lattice, 0)
    with pytest.raises(ValueError, match="at least one point"):
        Buckets(lattice, 0)
    for bucket in (-1, 10):
        with pytest.raises(ValueError, match="no such bucket"):
            buckets_of(lattice).ends(bucket)
