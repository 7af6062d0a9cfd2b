"""Clipping: the norm of what a unit adds over all groups, and the weight that keeps it within a limit.

n is the number of a unit's rows in a group, N their sum over its groups, and Q the sum of their squares. Every row
adds at most Δ to a measurement, so n rows add at most n·Δ. All that the unit adds is multiplied by one whole number,
its weight W: the largest one up to 2^f for which

    W²·Q ≤ B    where noise is Gaussian,    W·N ≤ isqrt(B)    where it is Laplace's,    B = 4^f·c².

So c is the norm that counts in full: measurements are in 2^f-ths, and one unit moves all groups together by no more
than c rows would. Counts of units have weights of their own: there every group of a unit counts as one row. Histograms that
choices are made from have the weights of rows.

Where the total of all groups is measured with them, its noise has q times their variance, and the total counts too:

    W²·(16·Q + ⌈N²/G⌉) ≤ 17·4^f·c²    with q = 16·G,    so W²·(Q + N²/q) ≤ B = 4^f·c²·17/16.

A unit in at most G groups has N² ≤ G·Q, so it counts in full up to the same norm c.

INVARIANT: what one unit moves is at most B·Δ² in the sum of squares (Gaussian), isqrt(B)·Δ in the sum (Laplace),
and isqrt(B)·Δ in one group (both), for every c and every content of the tables. A total adds its square divided by q
to the sum of squares. docs/proofs/clipping.md, docs/proofs/levels.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isqrt
from typing import Final

from gateway.sensitivity.choices import Choice
from gateway.sensitivity.measurement import Different, Measurement, Norm, Slot, Units

_BITS: Final = 16
_MOST_BITS: Final = 30  # isqrt(B) is at most 2^30: lattices leave room for that
LARGEST_CLIP: Final = 1 << 14  # the largest under which a weight has 16 bits
MOST_ROWS: Final = 2**31 - 1  # whoever has more rows counts nowhere
TOTAL_PARTS: Final = 16
"""What cells pay for their total: a part in so many of their own price. q is so many times G."""
_FEWEST: Final = 50


def weight_bits(square: int) -> int:
    """f: how many bits the weights of a clip have. c·2^f is at most 2^30."""
    return min(_BITS, _MOST_BITS - ((square - 1).bit_length() + 1) // 2)


@dataclass(frozen=True, slots=True)
class Clip:
    """`square` is c², `bits` is f. `squares`: the sum of squares is bounded, for Gaussian noise; else the sum.

    `total` is q where the total of all groups is measured too, else 0.
    """

    square: int
    squares: bool
    bits: int = _BITS
    total: int = 0

    def __post_init__(self) -> None:
        if self.total and not self.squares:
            raise ValueError("a total is measured with its groups under Gaussian noise alone")
        if self.total % TOTAL_PARTS:
            raise ValueError("the noise of a total has a multiple of 16 times the variance")
        if not 1 <= self.bits <= _BITS or not 1 <= self.limit <= 4**_MOST_BITS:
            raise ValueError("a clip is at least 1, and small enough for the bits of its weights")

    @property
    def whole(self) -> int:
        """2^f: the weight of a unit that counts in full."""
        return 1 << self.bits

    @property
    def bound(self) -> int:
        """B, rounded down."""
        return self.limit // TOTAL_PARTS if self.total else self.limit

    @property
    def limit(self) -> int:
        """What the square of a weight times a norm is compared to: B, or 16·B with a total."""
        whole = self.square << 2 * self.bits
        return whole * (TOTAL_PARTS + 1) if self.total else whole

    @property
    def groups(self) -> int:
        """G, where a total is measured too."""
        return self.total // TOTAL_PARTS

    @property
    def most(self) -> int:
        """What the weighted rows of one unit come to in one group, at most."""
        return isqrt(self.bound)

    @property
    def norm_of_rows(self) -> int:
        """What the weighted rows of one unit come to over all groups, in the norm that is bounded, as a whole number.

        It is above `most` where noise is Gaussian and B is no square: the squares of all groups may sum to B.
        """
        return isqrt(self.bound - 1) + 1 if self.squares else self.most

    def weight(self, counts: Iterable[int]) -> int:
        """W of a unit with so many rows in each of its groups."""
        there = tuple(counts)
        rows = sum(there)
        if rows > MOST_ROWS:
            return 0
        if self.squares:
            norm = sum(one * one for one in there)
            if self.total:
                norm = TOTAL_PARTS * norm + -(-(rows**2) // self.groups)
            return min(self.whole, isqrt(self.limit // max(norm, 1)))
        return min(self.whole, self.most // max(rows, 1))

    def lowers(self, groups: int) -> bool:
        """Whether one row in each of so many groups would weigh less than in full."""
        return self.weight((1,) * groups) < self.whole

    def with_total(self, total: int) -> "Clip":
        """The clip of groups that are measured with their total; 0: without it."""
        if not total:
            return self
        return replace(self, bits=weight_bits(self.square * (TOTAL_PARTS + 1)), total=total)

    def norm(self, row: int) -> Norm:
        """What a unit moves over all groups where one row moves its group by `row`."""
        if self.total:
            return Norm(None, -(-self.limit * row * row // TOTAL_PARTS))
        return Norm(None if self.squares else self.most * row, self.bound * row * row)


@dataclass(frozen=True, slots=True)
class Clips:
    """The two families of a release. `units` is None where no unit is in so many groups that it would weigh less."""

    rows: Clip
    units: Clip | None


@dataclass(frozen=True, slots=True)
class ClipRule:
    """c² of a release: `square`, or where that is None the norm that the policy declares, and no more than `largest`."""

    square: int | None = None
    largest: int = LARGEST_CLIP**2

    def of_rows(self, rows: int, groups: int, *, squares: bool) -> Clip:
        """The clip of rows. A unit is declared to have so many `rows` in each of so many `groups`."""
        square = self.square
        if square is None:
            added = rows * groups
            square = min(rows * added if squares else added * added, self.largest)
        return Clip(square, squares, weight_bits(square))


DECLARED_CLIP: Final = ClipRule()


def units_clip(clip: Clip, groups: int) -> Clip:
    """The clip of counts of units that are in at most so many groups: no norm is above that of all groups."""
    return replace(clip, square=min(clip.square, groups if clip.squares else groups * groups))


def clip_slot(slot: Slot, rows: Clip, units: Clip) -> Slot:
    """The slot of weighted contributions, where `slot` says how far one row moves it, or one unit.

    Kept values are no sum over units, so a count of different ones has no weight.
    """
    first = slot.measurements[0].quantity
    if isinstance(first, Different):
        return slot
    clip, most = (units, units.whole) if isinstance(first, Units) else (rows, rows.most)
    measurements = tuple(
        Measurement(one.quantity, one.most * most, clip.whole) for one in slot.measurements
    )
    return Slot(measurements, slot.most * most, clip.norm(slot.most), clip.total)


def clip_choice(choice: Choice, rows: Clip) -> Choice:
    """The choice from weighted counts, whatever it was from."""
    return replace(choice, rows=rows.norm_of_rows, whole=rows.whole)


def total_of(cells: int, groups: int) -> int:
    """The multiple q for so many cells, of which a unit is in at most so many `groups`; 0 where a total would gain too little."""
    ratio = TOTAL_PARTS * groups
    return ratio if cells >= max(_FEWEST, ratio) else 0
