"""Column store of all regions of a shape on one axis: the position of each relative to a new query's cells.

The figures only select the earlier releases for a close comparison, so each is a lower bound: of the amount by
which one region extends beyond the other along this axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.group_cuts import KeyGrouping
from gateway.regions.axis import FIRST, LAST, RegionAxis
from gateway.regions.cells import (
    BOUNDLESS,
    Cells,
    NameCells,
    StepCells,
    all_cells,
    axis_width,
    is_only_null,
    range_gaps,
)

Numbers: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]
Ends: TypeAlias = tuple[Wholes | int, Wholes | int]
Flags: TypeAlias = NDArray[np.bool_]
Label: TypeAlias = tuple[str, int, Cells | None, Cells | None]

_FIRST_ROOM: Final = 64
_MOST_ASKED: Final = 32


@dataclass(frozen=True, slots=True)
class PartCounts:
    """For each distinct part: the amount outside of the new cells, in both, and in the new cells alone."""

    outside: Numbers
    shared: Numbers
    alone: Numbers


class GrowingArray:
    """An array that grows; `view` is its used part."""

    def __init__(self, kind: type, zeros: int = 0) -> None:
        self._room: NDArray[Any] = np.zeros(max(_FIRST_ROOM, zeros), dtype=kind)
        self._size = zeros

    def __len__(self) -> int:
        return self._size

    def add(self, value: float) -> None:
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros_like(self._room)])
        self._room[self._size] = value
        self._size += 1

    @property
    def view(self) -> NDArray[Any]:
        return self._room[: self._size]

    def put(self, place: int, value: float) -> None:
        self._room[place] = value


class AxisIndex:
    """The distinct parts of one axis that regions of a shape have; the first is the whole axis."""

    def __init__(self, axis: RegionAxis) -> None:
        self.axis = axis
        self._places: dict[tuple[Cells | None, Label | None], int] = {}
        self._groupings: dict[Label, KeyGrouping] = {}
        self._cut_by: dict[Label, list[int]] = {}
        self._first, self._last = GrowingArray(np.int64), GrowingArray(np.int64)
        self._null, self._null_only = GrowingArray(np.bool_), GrowingArray(np.bool_)
        self._odd: list[int] = []  # parts of several ranges, or of none
        self._flat = _Flat()
        self._gaps = _Flat()
        self._rest = GrowingArray(np.bool_)
        self._known = GrowingArray(np.float64)
        self._codes: dict[str, int] = {}
        self._names = _Names()
        self.widths = GrowingArray(np.float64)
        self._grouped = GrowingArray(np.bool_)
        self._asked: dict[Cells, tuple[int, PartCounts]] = {}
        self.cut(None, None)

    def __len__(self) -> int:
        return len(self.widths)

    def cut(self, cells: Cells | None, grouping: KeyGrouping | None) -> int:
        """The number of this part with this grouping."""
        label = None if grouping is None else _label(grouping)
        found = self._places.get((cells, label))
        if found is not None:
            return found
        place = self._places[cells, label] = len(self)
        if grouping is not None and label is not None:
            self._groupings.setdefault(label, grouping)
            self._cut_by.setdefault(label, []).append(place)
        whole = all_cells(self.axis) if cells is None else cells
        found_width = axis_width(whole, self.axis)
        self.widths.add(BOUNDLESS if found_width is None else found_width)
        self._grouped.add(label is not None)
        self._null.add(whole.null)
        self._null_only.add(is_only_null(whole))
        if isinstance(whole, StepCells):
            self._add_steps(place, whole)
        else:
            self._add_names(place, whole)
        return place

    def _add_steps(self, place: int, cells: StepCells) -> None:
        ranges = self._inside(cells.ranges)
        single = len(ranges) == 1
        self._first.add(ranges[0][0] if single else 1)
        self._last.add(ranges[0][1] if single else 0)
        if not single:
            self._odd.append(place)
            self._flat.add(place, ranges)
            self._gaps.add(place, self._inside(range_gaps(cells.ranges)))

    def _add_names(self, place: int, cells: NameCells) -> None:
        self._rest.add(cells.rest)
        self._known.add(len(cells.values))
        self._names.add(place, [self._code(one) for one in sorted(cells.values)])

    def _code(self, name: str) -> int:
        return self._codes.setdefault(name, len(self._codes))

    def beside(self, cells: Cells) -> PartCounts:
        """The position of each part relative to these cells, ignoring groupings.

        The scopes of one statement have most cells in common, so the last positions are kept until a part is added.
        """
        known = self._asked.get(cells)
        if known is not None and known[0] == len(self):
            return known[1]
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        found = self._position(cells)
        self._asked[cells] = len(found.shared), found
        return found

    def _position(self, cells: Cells) -> PartCounts:
        found = (
            self._beside_steps(cells) if isinstance(cells, StepCells) else self._beside_names(cells)
        )
        null, alone = self._null.view, self._null_only.view
        both = np.where((found.shared == 0) & null & cells.null, 1.0, found.shared)
        outside = np.where(alone & (not cells.null), 1.0, found.outside)
        left = np.where(null, 0.0, 1.0) if is_only_null(cells) else found.alone
        return PartCounts(outside, both, left)

    def _beside_steps(self, cells: StepCells) -> PartCounts:
        first, last = _wholes(self._first), _wholes(self._last)
        ranges = _Sorted(self._inside(cells.ranges), self)
        between = _Sorted(self._inside(range_gaps(cells.ranges)), self)
        shared, outside = ranges.within(first, last), between.within(first, last)
        least, most = np.full_like(first, FIRST), np.full_like(last, LAST)
        alone = ranges.within(least, first - 1) + ranges.within(last + 1, most)
        if self._odd:
            odd = np.array(self._odd)
            shared[odd] = self._flat.met(ranges, len(self))[odd]
            outside[odd] = self._flat.met(between, len(self))[odd]
            alone[odd] = self._gaps.met(ranges, len(self))[odd]
        return PartCounts(outside, shared, alone)

    def _beside_names(self, cells: Cells) -> PartCounts:
        if not isinstance(cells, NameCells):
            raise TypeError
        flags = np.zeros(len(self._codes) + 1)
        for name in cells.values:
            flags[self._codes.get(name, len(self._codes))] = 1.0
        flags[len(self._codes)] = 0.0
        hits = self._names.hits(flags, len(self))
        rest, mine = self._rest.view, self._known.view.astype(np.float64)
        theirs = float(len(cells.values))
        all_of = BOUNDLESS if self.axis.size is None else float(self.axis.size)
        neither = np.maximum(all_of - (mine + theirs - hits), 0.0)
        if cells.rest:
            # the others are left out
            return PartCounts(
                np.where(rest, theirs - hits, hits),
                np.where(rest, neither, mine - hits),
                np.where(rest, mine - hits, neither),
            )
        return PartCounts(
            np.where(rest, neither, mine - hits),
            np.where(rest, theirs - hits, hits),
            np.where(rest, hits, theirs - hits),
        )

    def nearest(self, cells: Cells, plain: PartCounts, keys: Sequence[KeyGrouping]) -> PartCounts:
        """The same for the nearest groups of each part, and for the nearest groups of the query."""
        outside, shared, alone = (one.copy() for one in (plain.outside, plain.shared, plain.alone))
        texts = {text for one in keys for text in one.texts}
        for label, places in self._cut_by.items():
            grouping, at = self._groupings[label], np.array(places)
            if not texts.isdisjoint(grouping.texts):
                outside[at] = alone[at] = 0.0
            elif grouping.cells is None:
                outside[at] = (
                    0.0  # every cell is a group, so the groups inside are exactly the cells inside
                )
            else:
                for one in (grouping, *grouping.parts):
                    out, left = self._snapped(cells, at, one)
                    outside[at] = np.minimum(out, outside[at])
                    alone[at] = np.minimum(left, alone[at])
        for grouping in keys:
            if grouping.cells is None:
                alone = np.zeros(len(self))
                continue
            out, left = self._snapped_to(cells, grouping)
            outside, alone = np.minimum(outside, out), np.minimum(alone, left)
        return PartCounts(outside, shared, alone)

    def _snapped(self, cells: Cells, at: Wholes, grouping: KeyGrouping) -> tuple[Numbers, Numbers]:
        """The ends of the new cells, moved to the ends of groups."""
        none = np.zeros(len(at))
        single = self._single(cells)
        if single is None or grouping.ordered is None:
            return none, none
        low, high = single
        first, last = _wholes(self._first)[at], _wholes(self._last)[at]
        return self._moved(
            (low, high),
            (first, last),
            (grouping.ordered.around_one(low), grouping.ordered.around_one(high)),
            first > last,
        )

    def _snapped_to(self, cells: Cells, grouping: KeyGrouping) -> tuple[Numbers, Numbers]:
        """The ends of the parts, moved to the ends of the query's own groups."""
        none = np.zeros(len(self))
        single = self._single(cells)
        if single is None or grouping.ordered is None:
            return none, none
        first, last = _wholes(self._first), _wholes(self._last)
        low, high = single
        alone, outside = self._moved(
            (first, last),
            (np.full(len(self), low), np.full(len(self), high)),
            (grouping.ordered.around(first), grouping.ordered.around(last)),
            first > last,
        )
        return outside, alone

    def _moved(
        self, wanted: Ends, there: tuple[Wholes, Wholes], groups: tuple[Ends, Ends], odd: Flags
    ) -> tuple[Numbers, Numbers]:
        """The amount by which the nearest sum of groups exceeds the wanted cells, and the amount it lacks."""
        low, high = wanted
        first, last = there
        (begin, end), (begin_2, end_2) = groups
        before = self.wide(np.maximum(begin, first), np.minimum(low - 1, last))
        inside = self.wide(np.maximum(low, first), np.minimum(np.minimum(end, last), high))
        out = np.where(inside >= before, before, 0.0)
        left = np.where(inside >= before, 0.0, inside) + self.wide(low, np.minimum(first - 1, high))
        after = self.wide(np.maximum(high + 1, first), np.minimum(end_2, last))
        inside = self.wide(np.maximum(np.maximum(begin_2, first), low), np.minimum(high, last))
        out += np.where(inside >= after, after, 0.0)
        left += np.where(inside >= after, 0.0, inside)
        left += self.wide(np.maximum(last + 1, low), high)
        return np.where(odd, 0.0, out), np.where(odd, 0.0, left)

    def _single(self, cells: Cells) -> tuple[int, int] | None:
        if not isinstance(cells, StepCells):
            return None
        ranges = self._inside(cells.ranges)
        return ranges[0] if len(ranges) == 1 else None

    @property
    def grouped(self) -> bool:
        """True if any region is cut into groups along this axis."""
        return bool(self._cut_by)

    @property
    def grouped_parts(self) -> Flags:
        """For each distinct part, whether it is cut into groups."""
        return self._grouped.view.astype(np.bool_, copy=False)

    def wide(self, low: Wholes | int, high: Wholes | int) -> Numbers:
        """The number of declared values between two cells; zero if they are reversed."""
        stride = self.axis.stride
        if stride == 1:
            across = np.subtract(high, low, dtype=np.float64) + 1
            return np.asarray(np.maximum(across, 0.0))
        origin = 0 if self.axis.low is None else self.axis.low
        on = (np.asarray(high) - origin) // stride - (np.asarray(low) - 1 - origin) // stride
        made = np.where(np.asarray(high) >= low, np.maximum(on, 1), 0)
        return np.asarray(made, dtype=np.float64)

    def _inside(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        low = FIRST if self.axis.low is None else self.axis.low
        high = LAST if self.axis.high is None else self.axis.high
        return [
            (max(first, low), min(last, high))
            for first, last in ranges
            if first <= high and last >= low
        ]


class _Flat:
    """Ranges of several parts, concatenated."""

    def __init__(self) -> None:
        self._first, self._last, self._owner = (
            GrowingArray(np.int64),
            GrowingArray(np.int64),
            GrowingArray(np.int64),
        )

    def add(self, owner: int, ranges: Sequence[tuple[int, int]]) -> None:
        for first, last in ranges:
            self._first.add(first)
            self._last.add(last)
            self._owner.add(owner)

    def met(self, ranges: "_Sorted", size: int) -> Numbers:
        first, last, owner = (_wholes(one) for one in (self._first, self._last, self._owner))
        total = ranges.within(first, last)
        return np.bincount(owner, weights=total, minlength=size).astype(np.float64)


class _Sorted:
    """Sorted disjoint ranges, with how much of them lies before each.

    INVARIANT: the work for a number of ends grows with the logarithm of the number of ranges: a condition on hours
    has thousands.
    """

    def __init__(self, ranges: Sequence[tuple[int, int]], line: AxisIndex) -> None:
        ends = np.array(ranges, dtype=np.int64).reshape(-1, 2)
        self._low, self._high, self._line = ends[:, 0], ends[:, 1], line
        # the first and the last range never lie between two others: they alone can be boundless
        inner = line.wide(self._low[1:-1], self._high[1:-1]).astype(np.int64)
        self._before = np.concatenate([[0, 0], np.cumsum(inner)])

    def within(self, first: Wholes, last: Wholes) -> Numbers:
        """The number of declared values of these ranges from each first to each last cell."""
        if not len(self._low):
            return np.zeros(len(first))
        start = np.searchsorted(self._high, first, side="left")
        after = np.searchsorted(self._low, last, side="right")
        some, several = (after > start) & (first <= last), after - start > 1
        left = np.minimum(start, len(self._low) - 1)
        right = np.maximum(after - 1, 0)
        at_left = self._line.wide(
            np.maximum(first, self._low[left]), np.minimum(last, self._high[left])
        )
        at_right = self._line.wide(self._low[right], np.minimum(last, self._high[right]))
        between = self._before[right] - self._before[np.minimum(left + 1, len(self._before) - 1)]
        found = at_left + np.where(several, at_right + between, 0.0)
        return np.where(some, found, 0.0)


class _Names:
    """Names of several parts as numbers, concatenated."""

    def __init__(self) -> None:
        self._code, self._owner = GrowingArray(np.int64), GrowingArray(np.int64)

    def add(self, owner: int, codes: Sequence[int]) -> None:
        for code in codes:
            self._code.add(code)
            self._owner.add(owner)

    def hits(self, flags: Numbers, size: int) -> Numbers:
        weights = flags[_wholes(self._code)]
        found = np.bincount(_wholes(self._owner), weights=weights, minlength=size)
        return np.asarray(found, dtype=np.float64)


def _wholes(grown: GrowingArray) -> Wholes:
    return np.asarray(grown.view, dtype=np.int64)


def _label(grouping: KeyGrouping) -> Label:
    """An identity of a grouping: a key is listed over the part of the domain that its query left."""
    if not grouping.cells:
        return grouping.text, 0, None, None
    return grouping.text, len(grouping.cells), grouping.cells[0], grouping.cells[-1]
