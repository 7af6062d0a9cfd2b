"""Groups of a key on its axis, and the sum of groups that comes nearest to given cells.

An analyst who has the groups has every sum of them. The sum that can come nearest to a part of the axis is that
of the groups that lie more inside of it than outside; if that one is not near, none is.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.lru_cache import LruCache
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import (
    BOUNDLESS,
    AxisMismatch,
    Cells,
    NameCells,
    StepCells,
    axis_width,
    clip_cells,
    intersection,
    is_empty,
    minus,
    union,
)
from gateway.regions.chosen_bounds import has_chosen_bounds
from gateway.regions.scope import GroupKey

Wholes: TypeAlias = NDArray[np.int64]

_FEW: Final = 4
_FAR: Final = 2**61


@dataclass(frozen=True, slots=True, eq=False)
class OrderedCells:
    """Groups of one range each, in order, with their places in the enumeration; `null` are those of NULL alone.

    `gapless`: every group begins where the previous one ends. `starts` and `ends` are `firsts` and `lasts`, for questions
    about one cell: an array takes ten times as long to answer one.
    """

    groups: tuple[Cells, ...]
    places: tuple[int, ...]
    firsts: Wholes
    lasts: Wholes
    null: tuple[tuple[int, Cells], ...]
    gapless: bool
    starts: tuple[int, ...] = field(init=False)
    ends: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", tuple(self.firsts.tolist()))
        object.__setattr__(self, "ends", tuple(self.lasts.tolist()))

    def met_by(self, wanted: StepCells) -> list[tuple[int, Cells]]:
        """The groups that intersect these cells, with their places."""
        found: list[tuple[int, Cells]] = []
        for low, high in wanted.ranges:
            start, after = self._from(low, high)
            if found and start < after and found[-1][0] == self.places[start]:
                start += 1
            found += zip(self.places[start:after], self.groups[start:after], strict=True)
        return [*found, *(self.null if wanted.null else ())]

    def between(self, low: int, high: int) -> tuple[list[Cells], StepCells] | None:
        """The groups at both ends, and all groups between them as one; None if there are gaps, or few groups."""
        start, after = self._from(low, high)
        if not self.gapless or after - start <= _FEW:
            return None
        whole = (int(self.firsts[start + 1]), int(self.lasts[after - 2]))
        return [self.groups[start], self.groups[after - 1]], StepCells((whole,))

    def _from(self, low: int, high: int) -> tuple[int, int]:
        start = bisect_left(self.ends, low)
        return start, max(start, bisect_right(self.starts, high))

    def around_one(self, cell: int) -> tuple[int, int]:
        """The same as `around` for one cell."""
        place = bisect_left(self.ends, cell)
        if place == len(self.ends) or self.starts[place] > cell:
            return cell, cell
        return self.starts[place], self.ends[place]

    def around(self, cells: Wholes) -> tuple[Wholes, Wholes]:
        """First and last cell of the group of each cell; the cell itself if it is in no group."""
        if not self.groups:
            return cells, cells
        place = np.searchsorted(self.firsts, cells, side="right") - 1
        place = np.clip(place, 0, len(self.firsts) - 1)
        first, last = self.firsts[place], self.lasts[place]
        within = (first <= cells) & (cells <= last)
        return np.where(within, first, cells), np.where(within, last, cells)


@dataclass(frozen=True, slots=True, eq=False)
class KeyGrouping:
    """One key on its axis. `cells` of None: every cell is a group of its own. `chosen`: the query chose the boundaries.

    `parts` are the keys of which it is made if it stands for several (`joint_keys`).
    """

    text: str
    axis: RegionAxis
    cells: tuple[Cells, ...] | None
    ordered: OrderedCells | None
    parts: tuple["KeyGrouping", ...] = ()
    chosen: bool = field(init=False)

    def __post_init__(self) -> None:
        chosen = [one.chosen for one in self.parts] or [has_chosen_bounds(self.text)]
        object.__setattr__(self, "chosen", any(chosen))

    @property
    def texts(self) -> frozenset[str]:
        """The texts of the keys that it stands for."""
        return frozenset(one.text for one in self.parts) or frozenset({self.text})

    def nearest(self, there: Cells, wanted: Cells) -> Cells:
        """The groups, restricted to `there`, that lie more inside of `wanted` than outside."""
        return _NEAREST.get((self, there, wanted), lambda: self._nearest(there, wanted))

    def _nearest(self, there: Cells, wanted: Cells) -> Cells:
        inside = intersection(there, wanted)
        if self.cells is None:
            return inside
        if (
            self.ordered is not None
            and isinstance(inside, StepCells)
            and isinstance(wanted, StepCells)
            and min(len(inside.ranges), len(self.ordered.groups)) > _FEW
            and is_bounded(self.axis)
        ):
            return self._nearest_of_many(self.ordered, there, inside, wanted)
        groups, whole = self._met_by(inside)
        parts = [intersection(group, there) for group in groups]
        kept = [part for part in parts if not is_empty(part) and self._is_inside(part, wanted)]
        if whole is not None:
            kept.append(intersection(whole, there))
        return _together(kept, inside)

    def _nearest_of_many(
        self, ordered: OrderedCells, there: Cells, inside: StepCells, wanted: StepCells
    ) -> Cells:
        """The same for all groups at once: a month of hours has as many ranges as groups."""
        outside = minus(there, wanted)
        within = widths_between(inside, self.axis, ordered.firsts, ordered.lasts)
        without = widths_between(outside, self.axis, ordered.firsts, ordered.lasts)
        near = np.flatnonzero((within > 0) & (within >= without))
        kept = [ordered.groups[place] for place in near.tolist()]
        if inside.null:
            kept += [one for _, one in ordered.null]
        return intersection(_together(kept, inside), there)

    def groups_meeting(self, wanted: Cells) -> Cells:
        """The whole groups that intersect these cells."""
        if self.cells is None:
            return wanted
        groups, whole = self._met_by(wanted)
        return _together(groups if whole is None else [*groups, whole], wanted)

    def places_within(self, wanted: Cells) -> list[int]:
        """The places of the groups that intersect these cells, where groups are listed."""
        if self.ordered is not None and isinstance(wanted, StepCells):
            return sorted(place for place, _ in self.ordered.met_by(wanted))
        return [
            place
            for place, group in enumerate(self.cells or ())
            if not is_empty(intersection(group, wanted))
        ]

    def _is_inside(self, part: Cells, wanted: Cells) -> bool:
        within, without = intersection(part, wanted), minus(part, wanted)
        return _wide(within, self.axis) >= _wide(without, self.axis)

    def _met_by(self, wanted: Cells) -> tuple[list[Cells], Cells | None]:
        """The groups that intersect these cells; if there are many, those at the ends, and the others as one."""
        if self.ordered is None or not isinstance(wanted, StepCells):
            groups = self.cells or ()
            return [one for one in groups if not is_empty(intersection(one, wanted))], None
        if len(wanted.ranges) == 1:
            [(low, high)] = wanted.ranges
            between = self.ordered.between(low, high)
            if between is not None:
                ends, whole = between
                null = [one for _, one in self.ordered.null] if wanted.null else []
                return [*ends, *null], whole
        return [one for _, one in self.ordered.met_by(wanted)], None


def _size(cells: Cells) -> int:
    return 1 + len(cells.ranges if isinstance(cells, StepCells) else cells.values)


_NEAREST: Final[LruCache[tuple[KeyGrouping, Cells, Cells], Cells]] = LruCache(
    200_000, lambda key, found: _size(key[1]) + _size(key[2]) + _size(found)
)
"""Nearest sums of groups, which the scopes of a statement have in common; all hold so many ranges and names together."""


def grouping_of(key: GroupKey) -> KeyGrouping | None:
    """The groups of the key on its axis; None if they are not known."""
    if key.axis is None:
        return None
    if key.cells is not None:
        order = grouping_in_order(key.cells)
        return KeyGrouping(key.text, key.axis, key.cells, order)
    if key.text == key.axis.name:
        return KeyGrouping(key.text, key.axis, None, None)
    return None


def grouping_in_order(cells: tuple[Cells, ...]) -> OrderedCells | None:
    """The groups in their order along the axis; None if one has several ranges, or several have a cell in common."""
    groups: list[tuple[tuple[int, int], int]] = []
    null: list[tuple[int, Cells]] = []
    for place, one in enumerate(cells):
        if not isinstance(one, StepCells) or len(one.ranges) > 1 or (one.ranges and one.null):
            return None
        if one.ranges:
            groups.append((one.ranges[0], place))
        else:
            null.append((place, one))
    groups.sort()
    firsts = np.array([first for (first, _), _ in groups], dtype=np.int64)
    lasts = np.array([last for (_, last), _ in groups], dtype=np.int64)
    if np.any(lasts[:-1] >= firsts[1:]):
        return None
    places = tuple(place for _, place in groups)
    gapless = bool(np.all(lasts[:-1] + 1 == firsts[1:]))
    in_order = tuple(cells[place] for place in places)
    return OrderedCells(in_order, places, firsts, lasts, tuple(null), gapless)


def missed_sums(mine: KeyGrouping, theirs: KeyGrouping, most: int) -> list[Cells]:
    """The groups of the first that come nearest to a sum of groups of the second without being one; a limited
    number.
    """
    if mine.ordered is None or theirs.ordered is None or not mine.ordered.groups:
        return list(mine.cells or ())[:most] if mine.ordered is None else []
    low, high = mine.ordered.firsts, mine.ordered.lasts
    begin, end = theirs.ordered.around(low)
    begin_2, end_2 = theirs.ordered.around(high)
    missed = np.minimum(_far(begin, low), _far(low, end + 1))
    missed += np.minimum(_far(high, end_2), _far(begin_2, high + 1))
    order = np.argsort(missed, kind="stable")
    return [mine.ordered.groups[place] for place in order[: 4 * most] if missed[place]][:most]


def _far(one: Wholes, other: Wholes) -> NDArray[np.float64]:
    return np.asarray(np.subtract(other, one, dtype=np.float64))


def is_bounded(axis: RegionAxis) -> bool:
    """Whether the values of an axis of numbers are known to lie between two ends that are not far apart."""
    return (
        axis.kind is AxisKind.STEPS
        and axis.size is not None
        and axis.low is not None
        and axis.high is not None
        and axis.high - axis.low < _FAR
    )


def widths_between(cells: Cells, axis: RegionAxis, firsts: Wholes, lasts: Wholes) -> Wholes:
    """For each of these ranges, in order, as many values as `cell_count` finds of the cells in it, without NULL."""
    there = clip_cells(cells, axis)
    if not isinstance(there, StepCells) or axis.low is None or axis.high is None:
        raise AxisMismatch
    low, high = axis.low, axis.high
    begin = np.array([low if one == FIRST else one for one, _ in there.ranges], dtype=np.int64)
    end = np.array([high if one == LAST else one for _, one in there.ranges], dtype=np.int64)
    if not len(begin):
        return np.zeros(len(firsts), dtype=np.int64)

    def width(first: Wholes, last: Wholes) -> Wholes:
        on = (last - low) // axis.stride - (first - 1 - low) // axis.stride
        return np.asarray(np.maximum(on, 1))

    summed = np.concatenate([[0], np.cumsum(width(begin, end))])
    start = np.searchsorted(end, firsts, side="left")
    after = np.searchsorted(begin, lasts, side="right")
    some = start < after
    left, right = np.minimum(start, len(begin) - 1), np.maximum(after - 1, 0)
    found = np.where(some, summed[after] - summed[np.minimum(start, after)], 0)
    # the ranges at both ends are cut
    first, last = np.maximum(begin[left], firsts), np.minimum(end[left], lasts)
    found = found - np.where(some, width(begin[left], end[left]) - width(first, last), 0)
    first, last = np.maximum(begin[right], firsts), np.minimum(end[right], lasts)
    several = some & (right > left)
    return np.asarray(
        found - np.where(several, width(begin[right], end[right]) - width(first, last), 0)
    )


def _wide(cells: Cells, axis: RegionAxis) -> float:
    if is_empty(cells):
        return 0
    found = axis_width(cells, axis)
    return BOUNDLESS if found is None else found


def _together(several: list[Cells], like: Cells) -> Cells:
    if several and all(isinstance(one, StepCells) for one in several):
        return _steps([one for one in several if isinstance(one, StepCells)])
    made: Cells = StepCells(()) if isinstance(like, StepCells) else NameCells(frozenset())
    for one in several:
        made = union(made, one)
    return made


def _steps(several: list[StepCells]) -> Cells:
    made: list[tuple[int, int]] = []
    for first, last in sorted(part for one in several for part in one.ranges):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return StepCells(tuple(made), any(one.null for one in several))
