"""The partition of an axis by the keys of a scope, indexed for lookup.

INVARIANT: pieces of one axis are disjoint, because a key is a function of the axis. No piece is empty.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.lru_cache import LruCache
from gateway.regions.axis import RegionAxis
from gateway.regions.cells import (
    Cells,
    NameCells,
    StepCells,
    all_cells,
    clip_cells,
    intersection,
    is_empty,
    merge_ranges,
    minus,
    union,
)
from gateway.regions.scope import GroupKey

Numbers: TypeAlias = NDArray[np.int64]
_MOST_REMEMBERED: Final = 64_000_000
_PIECE: Final = 400  # about so many bytes


@dataclass(frozen=True, eq=False, slots=True)
class Stretches:
    """Pieces that are one stretch of steps each, by place: from `first` to `last`; and the one that is NULL, or -1.

    `order` sorts them. What NULL has for a stretch ends before it begins.
    """

    first: Numbers
    last: Numbers
    null: int
    order: Numbers


class AxisPartition:
    """Partition of one axis; its pieces are numbered."""

    def __init__(self, axis: RegionAxis, cells: Sequence[Cells]) -> None:
        self.axis = axis
        self.cells = tuple(cells)
        self.stretches = _stretches(self.cells)
        self.whole = union_on_axis(self.cells, axis)
        self.complete = self.whole == all_cells(axis)
        self._places = _Lookup(self.cells) if self.stretches is None else None

    def meeting(self, cut: Cells | None) -> Numbers:
        """The pieces that have cells of the cut; all, where nothing is cut."""
        if cut is None or cut == self.whole:
            return np.arange(len(self.cells))
        if self.stretches is not None and isinstance(cut, StepCells):
            return np.flatnonzero(_meeting(self.stretches, cut))
        found = [
            at for at, cells in enumerate(self.cells) if not is_empty(intersection(cells, cut))
        ]
        return np.array(found, dtype=np.int64)

    def among(self, places: Numbers) -> Cells:
        """All cells of these pieces."""
        if len(places) == len(self.cells):
            return self.whole
        return union_on_axis([self.cells[at] for at in places.tolist()], self.axis)

    def holding(
        self, others: "AxisPartition", places: Numbers, cut: Cells | None
    ) -> Numbers | None:
        """For each of these other pieces, as far as it is in the cut, the one that holds it; None where one is in none."""
        if not len(places):
            return places
        mine, theirs = self.stretches, others.stretches
        if mine is not None and theirs is not None and not isinstance(cut, NameCells):
            return _holding(mine, theirs, places, cut)
        lookup = self._places or _Lookup(self.cells)
        found = []
        for at in places.tolist():
            cells = others.cells[at] if cut is None else intersection(others.cells[at], cut)
            place = lookup.find(cells)
            if place is None or not is_empty(minus(cells, self.cells[place])):
                return None
            found.append(place)
        return np.array(found, dtype=np.int64)

    def holder(self, cells: Cells) -> int | None:
        """The piece that has all of these cells; None where it takes several, or none has them."""
        lookup = self._places or _Lookup(self.cells)
        place = lookup.find(cells)
        if place is None or not is_empty(minus(cells, self.cells[place])):
            return None
        return place


class _Same:
    """An object that is equal to itself alone: comparing keys of thousands of values takes longer than using them."""

    __slots__ = ("_of",)

    def __init__(self, of: object) -> None:
        self._of = of

    def __hash__(self) -> int:
        return id(self._of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._of is other._of


# the entry holds on to the key, so that no other object gets its place in memory
_REMEMBERED: Final[LruCache[_Same, AxisPartition]] = LruCache(
    _MOST_REMEMBERED, lambda _, found: 1_000 + _PIECE * len(found.cells)
)


def key_partition(key: GroupKey) -> AxisPartition | None:
    """Where each value of the key lies; None where nobody knows."""
    axis, cells = key.axis, key.cells
    if axis is None or cells is None or key.values is None:
        return None
    return _REMEMBERED.get(_Same(key), lambda: AxisPartition(axis, cells))


def union_on_axis(several: Sequence[Cells], axis: RegionAxis) -> Cells:
    """All of these cells of the axis, written in the one way."""
    steps = [one for one in several if isinstance(one, StepCells)]
    if len(steps) == len(several):
        ranges = merge_ranges(each for one in steps for each in one.ranges)
        return clip_cells(StepCells(ranges, any(one.null for one in steps)), axis)
    names = [one for one in several if isinstance(one, NameCells)]
    plain = frozenset[str]().union(*(one.values for one in names if not one.rest))
    found: Cells = NameCells(plain, null=any(one.null for one in names))
    return clip_cells(reduce(union, (one for one in names if one.rest), found), axis)


def _stretches(several: Sequence[Cells]) -> Stretches | None:
    first, last, null = [], [], -1
    for place, cells in enumerate(several):
        match cells:
            case StepCells(ranges=((low, high),), null=False):
                first.append(low)
                last.append(high)
            case StepCells(ranges=(), null=True):
                first.append(1)
                last.append(0)
                null = place
            case _:
                return None
    begins = np.array(first, dtype=np.int64)
    return Stretches(
        begins, np.array(last, dtype=np.int64), null, np.argsort(begins, kind="stable")
    )


def _ends(cut: StepCells) -> tuple[Numbers, Numbers]:
    ends = np.array(cut.ranges, dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _meeting(pieces: Stretches, cut: StepCells) -> NDArray[np.bool_]:
    if not cut.ranges:
        found = np.zeros(len(pieces.first), dtype=np.bool_)
    else:
        low, high = _ends(cut)
        at = np.searchsorted(low, pieces.last, "right") - 1  # the last one that begins in time
        found = (at >= 0) & (high[np.maximum(at, 0)] >= pieces.first)
    if pieces.null >= 0:
        found[pieces.null] = cut.null
    return found


def _holding(
    mine: Stretches, others: Stretches, places: Numbers, cut: StepCells | None
) -> Numbers | None:
    first, last = others.first[places], others.last[places]
    nulls = places == others.null
    if cut is not None and cut.ranges:
        low, high = _ends(cut)
        begins = np.minimum(np.searchsorted(high, first, "left"), len(low) - 1)
        ends = np.maximum(np.searchsorted(low, last, "right") - 1, 0)
        first, last = np.maximum(first, low[begins]), np.minimum(last, high[ends])
    there = mine.order[mine.order != mine.null]
    found = np.full(len(places), mine.null, dtype=np.int64)
    if len(there):
        at = there[np.maximum(np.searchsorted(mine.first[there], first, "right") - 1, 0)]
        fits = (mine.first[at] <= first) & (last <= mine.last[at])
        found = np.where(nulls, mine.null, np.where(fits, at, -1))
    elif not nulls.all():
        return None
    return None if (found < 0).any() else found


class _Lookup:
    """Finds the piece that one cell of a set is in, of pieces of any form."""

    def __init__(self, several: Sequence[Cells]) -> None:
        self._null: int | None = None
        self._rest: int | None = None
        self._names: dict[str, int] = {}
        self._ranges: list[tuple[int, int, int]] = []
        for place, cells in enumerate(several):
            if cells.null:
                self._null = place
            if isinstance(cells, StepCells):
                self._ranges.extend((low, high, place) for low, high in cells.ranges)
            elif cells.rest:
                self._rest = place
            else:
                self._names.update(dict.fromkeys(cells.values, place))
        self._ranges.sort()
        self._left_out = frozenset[str]()
        if self._rest is not None and isinstance(rest := several[self._rest], NameCells):
            self._left_out = rest.values

    def find(self, cells: Cells) -> int | None:
        if isinstance(cells, StepCells):
            return self._in_ranges(cells.ranges[0][0]) if cells.ranges else self._of_null(cells)
        if cells.rest:
            return self._rest
        if cells.values:
            name = min(cells.values)
            found = self._names.get(name)
            return self._rest if found is None and name not in self._left_out else found
        return self._of_null(cells)

    def _in_ranges(self, cell: int) -> int | None:
        place = bisect_right(self._ranges, cell, key=lambda one: one[0]) - 1
        if place < 0 or self._ranges[place][1] < cell:
            return None
        return self._ranges[place][2]

    def _of_null(self, cells: Cells) -> int | None:
        return self._null if cells.null else None
