"""The values that a quantile can have: the points of a lattice, or equal stretches of it where they are too many.

INVARIANT: buckets depend on the declared domain and on a limit of the policy, never on rows. Every point of
the lattice is in exactly one bucket, and buckets are in the order of their values.
"""

from dataclasses import dataclass
from fractions import Fraction

from gateway.sensitivity.lattice import Lattice

MOST_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Buckets:
    """Each of `width` points of the lattice, the last one perhaps of fewer."""

    lattice: Lattice
    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError("a bucket has at least one point")

    @property
    def count(self) -> int:
        return self.lattice.width // self.width + 1

    def bucket(self, point: int) -> int:
        """In which one a point of the lattice is; the source computes the same."""
        return (point - self.lattice.low) // self.width

    def ends(self, bucket: int) -> tuple[int, int]:
        """Its first and its last point."""
        if not 0 <= bucket < self.count:
            raise ValueError("there is no such bucket")
        first = self.lattice.low + bucket * self.width
        return first, min(first + self.width - 1, self.lattice.high)

    def value(self, bucket: int) -> Fraction:
        """What is answered for it: its middle point, so the true value is half a bucket away at most."""
        first, last = self.ends(bucket)
        return (first + last) // 2 * self.lattice.step


def buckets_of(lattice: Lattice, most: int = MOST_BUCKETS) -> Buckets:
    """As many buckets as there may be, or one for each point where there are fewer points."""
    if most < 1:
        raise ValueError("there is at least one bucket")
    points = lattice.width + 1
    return Buckets(lattice, -(-points // most))
