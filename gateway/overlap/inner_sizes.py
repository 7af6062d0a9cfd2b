"""Lower bounds of a region's size: counted rows that lie within the region, such as the whole days of a window.

Takes one box and the counted releases of its shape. Gives up to four sizes, each of rows of the box alone: of a
release that lies within it, or of those of its groups that do. Equal rows of several releases are one size, the mean of
all draws. A unit can be in several groups, so a size is the mean of the groups, not their sum, unless every unit is in
one group alone.

INVARIANT: which sizes are given follows from regions and deviations, never from a count. So nobody gains by drawing
until one of many counts is large.
INVARIANT: every counted row is in the box. NULL counts as a cell here: a count of a day *or NULL* says nothing of the day.

INVARIANT: `shown` is finite only if groups of one release are the whole box, cell by cell, and neither the query's keys nor
its conditions cut them. Then a table shows each person of the box in a group of its own, with that variance.

See docs/proofs/overlap.md, "What the part of a region says" and "What an earlier table showed openly".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import Final

import numpy as np

from gateway.overlap.group_cuts import KeyGrouping
from gateway.overlap.history import EntryPosition, RegionEntry, as_float
from gateway.regions.boxes import Axes, Side, box_share
from gateway.regions.cells import Cells, all_cells, intersection, is_empty, minus, union

_MOST_ENTRIES: Final = 64  # the releases that cover most of the box
_MOST_SIZES: Final = 4


@dataclass(frozen=True, slots=True)
class InnerSize:
    """A noisy number that is not above the number of units of the box, apart from noise with this deviation.

    `shown` is the least variance with which one table shows each person of the box in its groups; infinite if none does.
    """

    count: float
    deviation: float
    shown: float


@dataclass(frozen=True, slots=True)
class _Counted:
    """The groups of one release that lie within the box: the rows that they cover together, and their number.

    `openly`: they are the whole box, and nothing that the query chose cuts them.
    """

    entry: RegionEntry
    cover: Side
    groups: int
    total: float
    openly: bool

    @property
    def parts(self) -> int:
        """Of how many groups a unit can be in each."""
        return 1 if self.entry.whole else self.groups

    @property
    def count(self) -> float:
        return self.total / self.parts

    @property
    def deviation(self) -> float:
        return self.entry.deviation * sqrt(self.groups) / self.parts


def inner_sizes(box: Side, lying: EntryPosition, axes: Axes) -> Iterator[InnerSize]:
    """The sizes of counted rows within the box, those that cover most of it first."""
    found: dict[tuple[frozenset[tuple[str, Cells]], int], list[_Counted]] = {}
    for row in _rows(lying):
        counted = _inside(lying.index.entries[row], box, axes)
        if counted is not None:
            key = frozenset(counted.cover.items()), counted.parts
            found.setdefault(key, []).append(counted)
    order = sorted(found.values(), key=lambda draws: _rank(draws, box, axes))
    for draws in order[:_MOST_SIZES]:
        yield _mean(draws)


def _rows(lying: EntryPosition) -> list[int]:
    """The counted releases that may have groups within the box; a limited number, those that share most with it."""
    index, rows = lying.index, lying.inside()
    rows = rows[index.totals[rows] >= 0]
    shared = np.zeros(len(rows))
    for name in lying.lines:
        shared -= np.log(np.maximum(lying.plain[name].shared, 1.0))[index.places(name)[rows]]
    kept: list[int] = rows[np.lexsort((-rows, shared))[:_MOST_ENTRIES]].tolist()
    return kept


def _inside(entry: RegionEntry, box: Side, axes: Axes) -> _Counted | None:
    """The groups of the release within the box; None if there are none, or nothing was counted."""
    if entry.counts is None or len(entry.region.boxes) != 1:
        return None
    region, cover = entry.sides[0], dict(entry.sides[0])
    taken: list[list[int] | None] = [None] * len(entry.keys)
    openly = bool(entry.keys) and not any(one is None or one.chosen for one in entry.groupings)
    for name in sorted({*region, *box}):
        wanted = box.get(name) or all_cells(axes[name])
        there = region.get(name) or all_cells(axes[name])
        if is_empty(minus(there, wanted)):
            openly = openly and is_empty(minus(wanted, there))
            continue
        covered = None
        for place, grouping, groups in _groups_along(entry, name):
            within = wanted if covered is None else covered
            # only those that intersect can lie within, and their ends tell them from thousands that do not
            near = [(place, groups[place]) for place in grouping.places_within(within)]
            taken[place], covered = _groups_within(near, there, within)
            if covered is None:
                return None
            openly = openly and all(is_empty(minus(groups[at], there)) for at in taken[place] or ())
        if covered is None:
            return None
        cover[name] = covered
        openly = openly and is_empty(minus(wanted, covered))
    counts = entry.counts
    for place, places in enumerate(taken):
        if places is not None:
            counts = np.take(counts, places, axis=place)
    if not counts.size:
        return None
    return _Counted(entry, cover, prod(counts.shape), float(counts.sum()), openly)


def _groups_along(
    entry: RegionEntry, name: str
) -> Iterator[tuple[int, KeyGrouping, Sequence[Cells]]]:
    """The keys that divide the axis and their groups, by their places, the one with the most groups first."""
    found = [
        (place, one, one.cells)
        for place, one in enumerate(entry.groupings)
        if one is not None and one.axis.name == name and one.cells is not None
    ]
    yield from sorted(found, key=lambda one: -len(one[2]))


def _groups_within(
    groups: Sequence[tuple[int, Cells]], there: Cells, wanted: Cells
) -> tuple[list[int], Cells | None]:
    """The places of the groups whose rows are all wanted, and the cells of these groups together."""
    places: list[int] = []
    covered: Cells | None = None
    for place, group in groups:
        held = intersection(group, there)
        if not is_empty(held) and is_empty(minus(held, wanted)):
            places.append(place)
            covered = held if covered is None else union(covered, held)
    return places, covered


def _rank(draws: Sequence[_Counted], box: Side, axes: Axes) -> tuple[float, int, float, int]:
    one = draws[0]
    share = box_share([one.cover], [box], axes)
    least = min(each.deviation for each in draws)
    return -(share or 0.0), one.parts, least, one.entry.order


def _mean(draws: Sequence[_Counted]) -> InnerSize:
    """The mean of draws of equal rows, weighted by the inverse of their variances."""
    exact = [one for one in draws if not one.deviation]
    shown = min((as_float(one.entry.spread) for one in draws if one.openly), default=inf)
    if exact:
        return InnerSize(exact[0].count, 0.0, shown)
    weights = [one.deviation**-2 for one in draws]
    count = sum(one.count * by for one, by in zip(draws, weights, strict=True)) / sum(weights)
    return InnerSize(count, sum(weights) ** -0.5, shown)
