"""Known sizes of regions, from released noisy counts alone.

A size is known if the region was counted by itself, if groups make it up, or if it is the difference of two
counted regions. Otherwise the tightest counted region around it gives an upper bound, and an estimate if people
are evenly spread.

INVARIANT: a size carries its noise. *Small* requires that every unit counts as 1, that the count plus twice its
deviation is below the limit, and that twice the deviation is: otherwise only a negative count could be small, which is
noise alone. *Large* requires that the count minus six times its deviation is not below the limit. Everything else is
unknown. A number with a deviation of 10¹⁵ reveals nothing, and no cheap draw opens or closes a region.
INVARIANT: three deviations are enough only for rows that an earlier table shows in groups of their own, with no more noise
than the new answer has. A difference would show them with more noise than that table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Final, TypeAlias

import numpy as np

from gateway.overlap.history import EntryPosition, Index, RegionEntry, Rows
from gateway.overlap.inner_sizes import inner_sizes
from gateway.regions.boxes import Axes, Side, box_share, hull_cells
from gateway.regions.cells import Cells, all_cells, intersection, is_empty, minus, without_null

_Box: TypeAlias = frozenset[tuple[str, Cells]]

_SURELY: Final = 6  # deviations: an analyst can draw thousands of times for almost nothing
_OPENLY: Final = 3  # deviations: the same rows can be asked for as a table, whatever their size is
_MOST_BOXES: Final = 8  # of a residual: each is tried as the part that is large
_UNLISTED: Final = 100  # groups that a key has whose values are found in the data, as `limits.expected_groups` assumes
_MOST_AROUND: Final = 24  # how many of the tightest regions around are tried


def noisy_size(entry: RegionEntry, around: Side) -> float | None:
    """The noisy size of the groups that intersect these cells; None if it is unknown."""
    counts = entry.counts
    if counts is None:
        return None
    whole = entry.sides[0] if len(entry.region.boxes) == 1 else {}
    for place, grouping in enumerate(entry.groupings):
        if grouping is None or grouping.axis.name not in around:
            continue
        cells = around[grouping.axis.name]
        if cells == whole.get(grouping.axis.name):
            continue
        counts = np.take(counts, grouping.places_within(cells), axis=place)
    return float(counts.sum())


def largest_size(entry: RegionEntry, around: Side) -> float | None:
    """An upper bound of the number of units: the count plus twice the deviation of its noise.

    None if it is unknown: a lower bound gives no upper bound.
    """
    count = noisy_size(entry, around) if entry.whole else None
    if count is None:
        return None
    return max(count + 2 * entry.deviation * sqrt(groups_in(entry, around)), 0.0)


def groups_in(
    entry: RegionEntry,
    around: Side,
    beside: frozenset[str] = frozenset(),
    *,
    meets: bool = False,
) -> int:
    """The number of groups that intersect these cells; one if it is unknown. Keys with texts in `beside` do not count.

    With `meets`, groups of several keys on one axis count only where they meet: nobody adds up the noise of the others.
    """
    found = 1
    joint = entry.joint if meets and not beside else {}
    for name, one in joint.items():
        wanted = around.get(name) or all_cells(one.axis)
        found *= 1 if one.cells is None else max(1, len(one.places_within(wanted)))
    for key, grouping in zip(entry.keys, entry.groupings, strict=True):
        if key.text in beside:
            continue
        if grouping is not None and grouping.axis.name in joint:
            continue
        if grouping is not None and grouping.axis.name in around:
            found *= max(1, len(grouping.places_within(around[grouping.axis.name])))
        else:
            found *= max(1, len(key.values or ()))
    return found


def common_groups(
    entry: RegionEntry, texts: frozenset[str], parts: Sequence[Side], axes: Axes
) -> int:
    """Into how many groups the rows are divided by the keys of the release that have these texts; NULL is no group."""
    around, found = hull_cells(parts, axes), 1
    for key, grouping in zip(entry.keys, entry.groupings, strict=True):
        if key.text not in texts:
            continue
        if key.values is None:
            found *= _UNLISTED
        elif grouping is None or grouping.cells is None:
            found *= max(1, len(key.values))
        else:
            wanted = without_null(around.get(grouping.axis.name) or all_cells(grouping.axis))
            found *= max(1, len(grouping.places_within(wanted)))
    return found


@dataclass(frozen=True, slots=True)
class KnownSize:
    """A noisy size with the deviation of its noise, and the query that released it. If not `whole`, it is a
    lower bound.

    INVARIANT: no size is both small and large; with wide noise most sizes are neither.
    """

    count: float
    deviation: float
    whole: bool
    query_id: str

    def is_small(self, least: int) -> bool:
        """True if there are certainly fewer people."""
        noise = 2 * self.deviation
        return self.whole and noise < least and self.count + noise < least

    def is_large(self, least: int) -> bool:
        """True if there are certainly as many people."""
        return self.count - _SURELY * self.deviation >= least


def _known(count: float, entry: RegionEntry, groups: int) -> KnownSize:
    """The size of so many groups. A unit may be in each of them where it does not count as 1: then it is their mean."""
    parts = 1 if entry.whole else max(groups, 1)
    wide = entry.deviation * sqrt(groups) / parts
    return KnownSize(count / parts, wide, entry.whole, entry.query_id)


def total_of(entry: RegionEntry) -> KnownSize | None:
    """The size of all its groups together."""
    total = entry.total()
    if total is None or entry.counts is None:
        return None
    return _known(total, entry, entry.counts.size)


class KnownSizes:
    """The sizes that releases of one shape give, from all indexes. `spread` is that of the new answer."""

    def __init__(self, indexes: Sequence[Index], axes: Axes, spread: float) -> None:
        self._indexes = indexes
        self._axes = axes
        self._spread = spread
        self._lying: dict[tuple[int, _Box], EntryPosition] = {}
        self._around: dict[_Box, list[RegionEntry]] = {}

    def seen(self, around: Side, lying: EntryPosition) -> None:
        """The position of an index relative to the hull of the new region, which is asked for most often."""
        self._lying[self._indexes.index(lying.index), frozenset(around.items())] = lying

    def exactly(self, parts: Sequence[Side]) -> KnownSize | None:
        """The size of these rows if exactly they were counted; of several counts the most exact."""
        found = [
            known
            for index in self._indexes
            for entry in index.exactly(parts, self._axes)
            if (known := total_of(entry)) is not None
        ]
        return min(found, key=lambda one: (one.deviation, not one.whole), default=None)

    def grouped(self, parts: Sequence[Side]) -> KnownSize | None:
        """The size of these rows if groups of one release make them up."""
        if len(parts) > 1:
            return None
        for entry in self._covering(hull_cells(parts, self._axes)):
            if entry.keys and len(entry.region.boxes) == 1 and self._fits(entry, parts[0]):
                count = noisy_size(entry, parts[0])
                if count is not None:
                    groups = groups_in(entry, parts[0])
                    return _known(count, entry, groups)
        return None

    def are_surely_large(self, parts: Sequence[Side], least: int, groups: int = 1) -> bool:
        """Whether there are certainly as many people in each of so many groups on average: in these rows, or in some of them."""
        least *= groups
        if self._are_counted_large(parts, least):
            return True
        for one in parts[:_MOST_BOXES]:
            for place in range(len(self._indexes)):
                sizes = inner_sizes(one, self._position(place, one), self._axes)
                for size in sizes:
                    openly = len(parts) == groups == 1 and size.shown <= self._spread
                    by = _OPENLY if openly else _SURELY
                    if size.count - by * size.deviation >= least:
                        return True
        known = None if self._may_miss_null(parts) else self.left(parts)
        return known is not None and known.is_large(least)

    def _are_counted_large(self, parts: Sequence[Side], least: int) -> bool:
        """The same for several boxes that were counted together.

        INVARIANT: NULL that was counted and is not in the boxes makes them no larger.
        """
        wanted = {frozenset(one.items()) for one in parts}
        return len(parts) > 1 and any(
            known.is_large(least)
            for index in self._indexes
            for entry in index.exactly(parts, self._axes)
            if {frozenset(one.items()) for one in entry.sides} == wanted
            if (known := total_of(entry)) is not None
        )

    def _may_miss_null(self, parts: Sequence[Side]) -> bool:
        """Whether the boxes leave NULL out, which the difference of two counts may contain."""
        return any(
            self._axes[name].nullable and not cells.null
            for one in parts
            for name, cells in one.items()
        )

    def left(self, parts: Sequence[Side]) -> KnownSize | None:
        """The size of these rows if they are the difference of two counted regions."""
        if len(parts) > 1:
            return None
        for entry in self._covering(hull_cells(parts, self._axes)):
            mine = total_of(entry)
            rest = None if len(entry.region.boxes) > 1 else self._rest(entry.sides[0], parts[0])
            other = self.exactly([rest]) if rest is not None else None
            if mine is not None and other is not None and mine.whole and other.whole:
                wide = hypot(mine.deviation, other.deviation)
                return KnownSize(mine.count - other.count, wide, True, entry.query_id)
        return None

    def _rest(self, whole: Side, part: Side) -> Side | None:
        """The rest of the whole as one box, if the part is smaller along one axis alone."""
        apart = [
            name
            for name, cells in part.items()
            if without_null(cells) != without_null(whole.get(name) or all_cells(self._axes[name]))
        ]
        if len(apart) != 1:
            return None
        [name] = apart
        left = minus(whole.get(name) or all_cells(self._axes[name]), part[name])
        return None if is_empty(left) else {**whole, name: left}

    def about(self, parts: Sequence[Side]) -> float | None:
        """An estimate from the tightest counted region around, if people are evenly spread in it."""
        around = hull_cells(parts, self._axes)
        for entry in self._covering(around):
            if len(entry.region.boxes) > 1 or entry.counts is None or not entry.whole:
                continue  # such a count gives no upper bound
            tight = _groups_around(entry, around)
            part = box_share(parts, [tight], self._axes)
            count = largest_size(entry, tight)
            if part is not None and count is not None:
                return count * part
        return None

    def small_around(self, box: Side, least: int) -> Iterator[tuple[KnownSize, list[Side]]]:
        """The small regions that contain the box, as far as their axes tell: counted releases, or groups of one."""
        if all(2 * index.least_deviation >= least for index in self._indexes):
            return
        for entry in self._covering(box):
            known = total_of(entry)
            if known is not None and known.is_small(least):
                yield known, entry.sides
            elif entry.keys and len(entry.region.boxes) == 1:
                count = noisy_size(entry, box)
                if count is None:
                    continue
                known = _known(count, entry, groups_in(entry, box))
                if known.is_small(least):
                    yield known, [_groups_around(entry, box)]

    def _covering(self, around: Side) -> list[RegionEntry]:
        """The counted releases around, the tightest first."""
        key = frozenset(around.items())
        known = self._around.get(key)
        if known is None:
            known = [
                one for place in range(len(self._indexes)) for one in self._tightest(place, around)
            ]
            self._around[key] = known
        return known

    def _tightest(self, place: int, around: Side) -> list[RegionEntry]:
        index = self._indexes[place]
        rows = _counted_around(index, around)
        if not len(rows):
            return []
        volume = np.zeros(len(rows))
        for name, line in index.lines.items():
            widths = line.widths.view.astype(np.float64, copy=False)
            volume += np.log(np.maximum(widths, 1.0))[index.places(name)[rows]]
        if len(rows) > _MOST_AROUND:
            least = np.partition(volume, _MOST_AROUND)[_MOST_AROUND]
            rows, volume = rows[volume <= least], volume[volume <= least]
        order = np.lexsort((rows, volume))[:_MOST_AROUND]
        return [index.entries[row] for row in rows[order]]

    def _position(self, place: int, around: Side) -> EntryPosition:
        """The position of an index relative to this box."""
        key = place, frozenset(around.items())
        lying = self._lying.get(key)
        if lying is None:
            lying = self._lying[key] = self._indexes[place].lying(around, (), self._axes)
        return lying

    def _fits(self, entry: RegionEntry, part: Side) -> bool:
        """True if whole groups make up the box."""
        if entry.counts is None:
            return False
        region = entry.sides[0]
        cut = {one.axis.name: one for one in entry.groupings if one is not None}
        for name in sorted({*region, *part}):
            wanted = part.get(name) or all_cells(self._axes[name])
            there = region.get(name) or all_cells(self._axes[name])
            if name in cut and cut[name].cells is not None:
                there = intersection(there, cut[name].groups_meeting(wanted))
            if not _alike(there, wanted):
                return False
        return True


def _counted_around(index: Index, around: Side) -> Rows:
    """The counted releases that contain this box; axes that restrict none of them are not looked at."""
    rows: Rows = np.flatnonzero(index.totals >= 0)
    for name, line in index.lines.items():
        places = index.places(name)[rows]
        if name in around or places.any():
            cells = around.get(name) or all_cells(line.axis)
            rows = rows[(line.beside(cells).alone == 0)[places]]
    return rows


def _groups_around(entry: RegionEntry, around: Side) -> Side:
    """The groups of the release that intersect these cells, as a box."""
    made = dict(entry.sides[0])
    for grouping in entry.groupings:
        if grouping is None or grouping.axis.name not in around:
            continue
        name = grouping.axis.name
        groups = grouping.groups_meeting(around[name])
        made[name] = intersection(made[name], groups) if name in made else groups
    return made


def _alike(one: Cells, other: Cells) -> bool:
    return without_null(one) == without_null(other) and (
        one.null == other.null or without_null(one) != one or without_null(other) != other
    )
