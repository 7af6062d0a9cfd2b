"""The mapping of an entry's groups to a query's groups, found axis by axis and never group by group.

The groups of an entry are its region cut along axes: all combinations of the pieces into which its keys cut each axis. So
are the groups of a query. Let the region of the query be that of the entry, restricted to some pieces of each axis, with
no piece in two of the query's own. Then every group of the query is all combinations of some pieces, and sums of positions
in rows of numbers tell which. A region of several boxes may be such a restriction box by box.

INVARIANT: the mapping is exact. Every group of the query is the disjoint union of the groups that are named for it, row by
row, as far as rows keep to what is declared. If that cannot be shown, there is no mapping.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Final, TypeAlias

import numpy as np

from gateway.catalog.values import Value
from gateway.lru_cache import LruCache
from gateway.regions.cells import (
    AxisMismatch,
    Cells,
    StepCells,
    all_cells,
    intersection,
    is_empty,
    minus,
    union,
)
from gateway.regions.region import Box, Region, TooLarge, region_along
from gateway.regions.scope import GroupKey, ReleaseScope
from gateway.release_cache.axis_partition import AxisPartition, Numbers, key_partition

_MOST_REMEMBERED: Final = 32_000_000
_FEW_VALUES: Final = 2_000  # more of them take longer to compare than to map


@dataclass(frozen=True, eq=False, slots=True)
class GroupMapping:
    """`taken` are positions in the columns of an entry, `into` is the query's group of each.

    `groups` is how many groups the question has; of them the largest is put together of `together`, the smallest
    of `least`: 0 where a group has no rows, whatever the tables hold.
    """

    groups: int
    taken: Numbers
    into: Numbers
    together: int
    least: int

    @property
    def one_by_one(self) -> bool:
        """True if every group of the query is one group of the entry."""
        return self.together == self.least == 1


def map_groups(there: ReleaseScope, wanted: ReleaseScope) -> GroupMapping | None:
    """The groups of an entry that make up each group of a query; None if they do not.

    Both have listed keys, and equal shapes.
    """
    values = sum(len(key.values or ()) for one in (there, wanted) for key in one.keys)
    if values > _FEW_VALUES:
        return _found(there, wanted)
    return _REMEMBERED.get((there, wanted), lambda: _found(there, wanted))


def may_have(there: ReleaseScope, wanted: ReleaseScope) -> bool:
    """A fast check: most entries of a shape are about other rows."""
    keyed = {key.axis.name for key in there.keys if key.axis is not None}
    narrowed = {axis.name for axis in there.region.axes}
    if not {axis.name for axis in wanted.region.axes} <= keyed | narrowed:
        return False
    if len(there.region.boxes) != 1:
        return bool(there.region.boxes)
    [box] = there.region.boxes
    return all(_inside(one, box) for one in wanted.region.boxes)


def _inside(one: Box, box: Box) -> bool:
    for name, cells in box.parts:
        mine = one.along(name)
        if mine is None or type(mine) is not type(cells) or not is_empty(minus(mine, cells)):
            return False
    return True


def _weight(key: tuple[ReleaseScope, ReleaseScope], found: GroupMapping | None) -> int:
    texts = sum(len(one.shape) + sum(len(each.text) for each in one.keys) for one in key)
    cells = [part for one in key for box in one.region.boxes for _, part in box.parts]
    values = sum(len(each.values or ()) for one in key for each in one.keys)
    named = sum(len(one.ranges) if isinstance(one, StepCells) else len(one.values) for one in cells)
    rows = 0 if found is None else 16 * len(found.taken)
    return 1_000 + texts + rows + 400 * (values + len(cells) + named)


_REMEMBERED: Final[LruCache[tuple[ReleaseScope, ReleaseScope], GroupMapping | None]] = LruCache(
    _MOST_REMEMBERED, _weight
)


def _found(there: ReleaseScope, wanted: ReleaseScope) -> GroupMapping | None:
    try:
        return _Mapping(there, wanted).places()
    except (TooLarge, AxisMismatch):
        return None


@dataclass(frozen=True, slots=True)
class _Line:
    """An axis that keys of the entry cut: its pieces, and where the groups of each begin in a column."""

    pieces: AxisPartition
    begins: Numbers
    key: GroupKey | None  # where it is one alone


_Along: TypeAlias = tuple[Numbers, Numbers]


class _Mapping:
    """From the groups of one scope to those of another."""

    def __init__(self, there: ReleaseScope, wanted: ReleaseScope) -> None:
        self._there = there
        self._wanted = wanted
        self._strides = _strides(wanted)
        self._groups = prod(_sizes(wanted))

    def places(self) -> GroupMapping | None:
        lines = _lines(self._there)
        unread = self._unread()
        if lines is None or unread is None:
            return None
        seen = self._seen()
        if seen.is_nothing:
            return None
        found = self._parts((seen,), lines)
        if found is None and len(seen.boxes) > 1:
            found = self._parts([Region(seen.axes, (box,)) for box in seen.boxes], lines)
        if not found:
            return None
        each = [_combined([*unread, *one]) for one in found]
        taken, into = (np.concatenate(side) for side in zip(*each, strict=True))
        many = np.bincount(into, minlength=self._groups)
        return GroupMapping(self._groups, taken, into, int(many.max()), int(many.min()))

    def _seen(self) -> Region:
        """The rows that are in a group at all: where a value is not listed they are in none."""
        region = self._wanted.region
        for key in self._wanted.keys:
            pieces = key_partition(key)
            if pieces is not None and not pieces.complete:
                region = region.meet(region_along(pieces.axis, pieces.whole))
        return region

    def _unread(self) -> list[_Along] | None:
        """Keys of which nobody knows where their values lie: both have them, by the same text, or neither."""
        mine = {key.text: place for place, key in enumerate(self._wanted.keys) if not _read(key)}
        theirs = {key.text: place for place, key in enumerate(self._there.keys) if not _read(key)}
        if mine.keys() != theirs.keys():
            return None
        strides = _strides(self._there)
        found = []
        for text, place in mine.items():
            own = _values(self._wanted.keys[place])
            other = {one: at for at, one in enumerate(_values(self._there.keys[theirs[text]]))}
            both = [(other[one], at) for at, one in enumerate(own) if one in other]
            taken = np.array([at for at, _ in both], dtype=np.int64) * strides[theirs[text]]
            found.append((taken, np.array([at for _, at in both]) * self._strides[place]))
        return found

    def _parts(
        self, regions: Iterable[Region], lines: Mapping[str, _Line]
    ) -> list[list[_Along]] | None:
        """For each region the places along each line; None where one of them is no such cut."""
        found = []
        for region in regions:
            part = self._part(region, lines)
            if part is None:
                return None
            found.append(part)
        return found

    def _part(self, region: Region, lines: Mapping[str, _Line]) -> list[_Along] | None:
        cuts = {name: _extent(region, name) for name in lines}
        inside = {name: line.pieces.meeting(cuts[name]) for name, line in lines.items()}
        made = self._there.region
        for name, line in lines.items():
            made = made.meet(region_along(line.pieces.axis, line.pieces.among(inside[name])))
        if not made.same(region):
            return None
        found: list[_Along] = []
        for name, line in lines.items():
            into = self._into(line, inside[name], cuts[name])
            if into is None:
                return None
            found.append((line.begins[inside[name]], into))
        start = self._elsewhere(region, lines)
        return None if start is None else [(np.zeros(1, np.int64), start), *found]

    def _into(self, line: _Line, inside: Numbers, cut: Cells | None) -> Numbers | None:
        """Into which groups the pieces of a line come."""
        total = np.zeros(len(inside), dtype=np.int64)
        for key, stride in zip(self._wanted.keys, self._strides, strict=True):
            pieces = key_partition(key)
            if pieces is None or pieces.axis.name != line.pieces.axis.name:
                continue
            if line.key is not None and _alike(line.key, key):
                found: Numbers | None = inside
            else:
                found = pieces.holding(line.pieces, inside, cut)
            if found is None:
                return None
            total += found * stride
        return total

    def _elsewhere(self, region: Region, lines: Mapping[str, _Line]) -> Numbers | None:
        """Keys over axes that the entry does not cut: the region has to be in one value of each."""
        start = 0
        for key, stride in zip(self._wanted.keys, self._strides, strict=True):
            pieces = key_partition(key)
            if pieces is None or pieces.axis.name in lines:
                continue
            cut = _extent(region, pieces.axis.name)
            place = pieces.holder(all_cells(pieces.axis) if cut is None else cut)
            if place is None:
                return None
            start += place * stride
        return np.array([start], dtype=np.int64)


def _lines(there: ReleaseScope) -> Mapping[str, _Line] | None:
    """The axes that are cut, by name. Several keys over one cut it into the pieces where all of them meet."""
    found: dict[str, _Line] = {}
    for key, stride in zip(there.keys, _strides(there), strict=True):
        pieces = key_partition(key)
        if pieces is None:
            continue
        begins = np.arange(len(pieces.cells), dtype=np.int64) * stride
        line = _Line(pieces, begins, key)
        before = found.get(pieces.axis.name)
        found[pieces.axis.name] = line if before is None else _met(before, line)
    return found


def _met(one: _Line, other: _Line) -> _Line:
    cells, begins = [], []
    for mine, start in zip(one.pieces.cells, one.begins.tolist(), strict=True):
        for at in other.pieces.meeting(mine).tolist():
            cells.append(intersection(mine, other.pieces.cells[at]))
            begins.append(start + int(other.begins[at]))
    return _Line(AxisPartition(one.pieces.axis, cells), np.array(begins, dtype=np.int64), None)


def _combined(several: Sequence[_Along]) -> _Along:
    """All combinations, one place of each."""
    taken = into = np.zeros(1, dtype=np.int64)
    for theirs, mine in several:
        taken = np.add.outer(taken, theirs).ravel()
        into = np.add.outer(into, mine).ravel()
    return taken, into


def _extent(region: Region, name: str) -> Cells | None:
    """How far a region reaches along an axis; None where nothing cuts it there."""
    parts = [box.along(name) for box in region.boxes]
    there = [one for one in parts if one is not None]
    return None if len(there) < len(parts) else reduce(union, there)


def _alike(one: GroupKey, other: GroupKey) -> bool:
    return one.text == other.text and one.values == other.values


def _read(key: GroupKey) -> bool:
    return key_partition(key) is not None


def _values(key: GroupKey) -> tuple[Value | None, ...]:
    if key.values is None:
        raise ValueError("groups that nobody has listed")
    return key.values


def _sizes(scope: ReleaseScope) -> list[int]:
    return [len(_values(key)) for key in scope.keys]


def _strides(scope: ReleaseScope) -> list[int]:
    """How far the groups of two neighbouring values of each key are from each other."""
    sizes = _sizes(scope)
    return [prod(sizes[place + 1 :]) for place in range(len(sizes))]
