"""A part of the new question, as the auditor looks at it.

An earlier answer, as trackers look at it.
"""

from dataclasses import dataclass
from fractions import Fraction

from gateway.overlap.group_cuts import Grouping, grouping_of
from gateway.overlap.history import Entry, Index, Lying
from gateway.overlap.inputs import Concerned
from gateway.regions.boxes import Axes, Side, hull, sides_of


@dataclass(frozen=True, slots=True)
class Part:
    """`around` is what its boxes have on each axis; `keys` those of its groupings whose groups are known."""

    sides: tuple[Side, ...]
    around: Side
    keys: tuple[Grouping, ...]
    texts: frozenset[str]  # of all keys
    axes: Axes
    spread: Fraction


def part_of(concerned: Concerned, indexes: tuple[Index, ...]) -> Part:
    """With all axes that it and the releases of its shape have."""
    ground = concerned.ground
    axes = {name: axis for index in indexes for name, axis in index.axes.items()}
    axes |= {one.axis.name: one.axis for one in ground.keys if one.axis is not None}
    axes |= {one.name: one for one in ground.region.axes}
    sides = tuple(sides_of(ground.region))
    keys = tuple(one for key in ground.keys if (one := grouping_of(key)) is not None)
    texts = frozenset(one.text for one in ground.keys)
    return Part(sides, hull(sides, axes), keys, texts, axes, concerned.spread)


@dataclass(frozen=True, slots=True)
class Near:
    """The releases of one place, and how they lie to the part."""

    index: Index
    lying: Lying


def near_of(part: Part, index: Index) -> Near:
    return Near(index, index.lying(part.around, part.keys, part.axes))


@dataclass(frozen=True, slots=True)
class Told:
    """A region, or groups of one, how exactly one person was seen in it, and how many are likely there."""

    sides: tuple[Side, ...]
    variance: float
    count: float | None
    entry: Entry
