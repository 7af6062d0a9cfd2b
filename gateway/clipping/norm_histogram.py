"""A released histogram of norms: how many units have how many rows, in noisy integers, and what can be read from it.

Takes the noisy integers of the buckets that `gateway/sensitivity/norm_buckets.py` defines, with the noise that they were
drawn with. Gives the units, norms and rows of each bucket as estimates, and which buckets stand out of the noise.

INVARIANT: nothing here reads anything but released integers and their noise, so all that follows is post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Final

from gateway.noise.mechanism import DiscreteGaussian, Mechanism
from gateway.sensitivity.norm_buckets import BUCKETS, UNIT

_SEEN: Final = Fraction(135, 100_000)
"""A bucket stands out that noise alone exceeds so rarely: three standard deviations of a Gaussian."""
_SEEN_APART: Final = Fraction(3, 100_000)
"""The same behind empty buckets, of which there are many: four standard deviations."""
_GAP: Final = 2
_EVEN: Final = 0.5
_NEAR: Final = 0.5
"""What a bucket beside says of a spread, beside the bucket itself."""


@dataclass(frozen=True, slots=True)
class NormBucket:
    """Units with about one norm: how many there are, their norm, and the rows of each, as estimates."""

    units: float
    norm: float
    rows: float


@dataclass(frozen=True)
class NormHistogram:
    """Noisy integers by bucket: `units`, and `spreads` where noise is Gaussian. All have the same `noise`."""

    units: tuple[int, ...]
    spreads: tuple[int, ...] | None
    noise: Mechanism

    def __post_init__(self) -> None:
        if len(self.units) != BUCKETS or len(self.spreads or self.units) != BUCKETS:
            raise ValueError(f"a histogram of norms has {BUCKETS} buckets")
        if (self.spreads is None) is isinstance(self.noise, DiscreteGaussian):
            raise ValueError("spreads are counted where noise is Gaussian")

    @property
    def unit(self) -> int:
        """What one unit adds to its bucket."""
        return 1 if self.spreads is None else UNIT

    @cached_property
    def std(self) -> float:
        """The standard deviation of the noise of a bucket, in units."""
        return self.noise.std / self.unit

    @cached_property
    def seen(self) -> float:
        """So many units of a bucket stand out of its noise."""
        return self.noise.reach(_SEEN) / self.unit

    @cached_property
    def visible(self) -> int:
        """How many buckets there are up to the last one that stands out of its noise."""
        apart = self.noise.reach(_SEEN_APART) / self.unit
        count = 0
        for place, units in enumerate(self._units):
            if units >= (self.seen if place - count < _GAP else apart):
                count = place + 1
        return count

    @cached_property
    def buckets(self) -> tuple[NormBucket, ...]:
        """The buckets that are visible; a number of units may be below 0."""
        return tuple(
            NormBucket(units, norm_of(place), self.rows_of(place))
            for place, units in enumerate(self._units[: self.visible])
        )

    def rows_of(self, place: int) -> float:
        """The rows of a unit in this bucket; beyond the visible ones rows spread as in the last of these."""
        return float(norm_of(place) ** (1 + self._spread[min(place, max(0, self.visible - 1))]))

    @cached_property
    def _units(self) -> Sequence[float]:
        return [each / self.unit for each in self.units]

    @cached_property
    def _spread(self) -> Sequence[float]:
        """The mean spread of units in the visible buckets, those around it included: fewer the farther, since one alone is noisy."""
        if self.spreads is None:
            return [0.0] * BUCKETS
        found = [_EVEN] * BUCKETS
        for place in range(1, self.visible):
            near = [(one, _NEAR ** abs(one - place)) for one in range(1, self.visible)]
            units = sum(weight * max(0.0, self._units[one]) for one, weight in near)
            above = sum(weight * self.spreads[one] / self.unit for one, weight in near)
            if units > 0:
                found[place] = min(1.0, max(0.0, above / units + _EVEN))
        return found


def norm_of(place: int) -> float:
    """The norm of a unit in a bucket: exact for one or two rows, else the middle of the bucket."""
    return sqrt(2.0**place) if place <= 1 else sqrt(2.0 ** (place - 0.5))


def largest_norm(place: int) -> float:
    """The largest norm of a unit in a bucket; beyond it, in the last one."""
    return sqrt(2.0**place)


def has_above(place: int, square: int) -> bool:
    """Whether a unit in the bucket may have a norm above c, where c² is the `square`."""
    return square < 1 << place or place == BUCKETS - 1


def has_below(place: int, square: int) -> bool:
    """Whether a unit in the bucket may have a norm of c or less: exact, since the squares of norms are integers."""
    return place == 0 or square > 1 << (place - 1)
