"""Values of the auditor: a part of the new query, and an earlier answer as trackers see it."""

from dataclasses import dataclass
from fractions import Fraction

from gateway.overlap.group_cuts import Grouping, grouping_of
from gateway.overlap.history import Entry, Index, Lying
from gateway.overlap.inputs import Concerned
from gateway.regions.boxes import Axes, Side, hull, sides_of


@dataclass(frozen=True, slots=True)
class Part:
    """`around` is the hull of its boxes on each axis; `keys` are the groupings whose groups are known."""

    sides: tuple[Side, ...]
    around: Side
    keys: tuple[Grouping, ...]
    texts: frozenset[str]  # of all keys
    axes: Axes
    spread: Fraction


def part_of(concerned: Concerned, indexes: tuple[Index, ...]) -> Part:
    """The part, with all axes that it and the releases of its shape have."""
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
    """The releases of one index, and their positions relative to the part."""

    index: Index
    lying: Lying


def near_of(part: Part, index: Index) -> Near:
    return Near(index, index.lying(part.around, part.keys, part.axes))


@dataclass(frozen=True, slots=True)
class Told:
    """A region, or groups of one, with the variance by which it shows one person and its likely number of
    people.
    """

    sides: tuple[Side, ...]
    variance: float
    count: float | None
    entry: Entry
