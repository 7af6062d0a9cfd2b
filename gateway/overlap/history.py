"""Everything that a trust group was told, so that what lies near a new question is found fast.

INVARIANT: a history is only added to. It holds released values and grounds, and which of its entries are looked at is
decided by counts and an order that depends on them alone; the order of entries is that in which they were added.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.asked import Past
from gateway.overlap.axes import Axis
from gateway.overlap.cells import Cells, everything
from gateway.overlap.cuts import Grouping, grouping_of
from gateway.overlap.ground import Ground, GroupKey
from gateway.overlap.lines import Beside, Grown, Line
from gateway.overlap.regions import Region
from gateway.overlap.sides import Axes, Side, hull, sides_of, written

Rows: TypeAlias = NDArray[np.int64]
Written: TypeAlias = frozenset[frozenset[tuple[str, Cells]]]

UNKNOWN: Final = -1.0


class Entry:
    """One release of a shape: where, cut how, what was counted, and how exactly one person was seen."""

    __slots__ = (
        "counts",
        "groupings",
        "keys",
        "order",
        "query_id",
        "readable",
        "region",
        "rows",
        "spread",
    )

    def __init__(self, past: Past, order: int, keys: tuple[GroupKey, ...]) -> None:
        self.order = order
        self.query_id = past.query_id
        self.region: Region = past.ground.region
        self.keys = keys
        self.readable = not past.ground.unreadable
        self.groupings = tuple(grouping_of(one) for one in keys)
        self.counts = _counted(past)
        self.rows = past.rows
        self.spread: Fraction = past.spread

    def again(self, past: Past) -> None:
        """The same was answered once more: what is newer is said, what is finer is remembered."""
        self.query_id = past.query_id
        self.spread = min(self.spread, past.spread)
        counts = _counted(past)
        if counts is not None:
            self.counts, self.rows = counts, past.rows

    @property
    def listed(self) -> bool:
        """Whether all groups come back, so that they add up to the whole."""
        return all(one.values is not None for one in self.keys)

    @property
    def sides(self) -> list[Side]:
        return sides_of(self.region)

    def variance(self, groups: int) -> float:
        """Of the noise of so many of its groups together."""
        return float(self.spread) * groups

    def total(self) -> int | None:
        return None if self.counts is None else int(self.counts.sum())


def _counted(past: Past) -> NDArray[np.int64] | None:
    if past.counts is None or any(one.values is None for one in past.ground.keys):
        return None
    sizes = [len(one.values or ()) for one in past.ground.keys]
    counts = np.array(past.counts, dtype=np.int64)
    return counts.reshape(sizes) if counts.size == int(np.prod(sizes)) else None


@dataclass(frozen=True, slots=True)
class Lying:
    """How all releases of a shape lie to a new region: for every axis, and for every distinct part of it."""

    lines: dict[str, Line]
    plain: dict[str, Beside]
    near: dict[str, Beside]


class Index:
    """The releases of one shape."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.lines: dict[str, Line] = {}
        self._columns: dict[str, Grown] = {}
        self._totals = Grown(np.float64)
        self._single = Grown(np.bool_)
        self._found: dict[tuple[Region, tuple[tuple[str, int], ...]], list[Entry]] = {}
        self._written: dict[Written, list[Entry]] = {}
        self._keys: dict[tuple[object, ...], tuple[GroupKey, ...]] = {}

    @property
    def axes(self) -> dict[str, Axis]:
        return {name: line.axis for name, line in self.lines.items()}

    def add(self, past: Past) -> None:
        ground = past.ground
        label = tuple((one.text, len(one.values or ())) for one in ground.keys)
        for same in self._found.get((ground.region, label), ()):
            if same.keys == ground.keys:
                same.again(past)
                self._put_total(same)
                return
        entry = Entry(past, len(self.entries), self._shared(ground.keys))
        self._found.setdefault((ground.region, label), []).append(entry)
        self.entries.append(entry)
        sides, axes = entry.sides, {**self.axes, **_axes(ground)}
        self._written.setdefault(written(sides, axes), []).append(entry)
        self._totals.add(UNKNOWN)
        self._single.add(len(sides) == 1)
        self._put_total(entry)
        self._place(entry, hull(sides, axes))

    def _shared(self, keys: tuple[GroupKey, ...]) -> tuple[GroupKey, ...]:
        """The same keys are kept once, however often they are read from the log."""
        label = tuple(
            (one.text, len(one.values or ()), one.values and one.values[:1]) for one in keys
        )
        known = self._keys.get(label)
        return known if known == keys else self._keys.setdefault(label, keys)

    def _put_total(self, entry: Entry) -> None:
        total = entry.total()
        self._totals.put(entry.order, UNKNOWN if total is None else max(float(total), 0.0))

    def _place(self, entry: Entry, around: Side) -> None:
        cut = {one.axis.name: one for one in entry.groupings if one is not None}
        for axis in (*entry.region.axes, *(one.axis for one in cut.values())):
            if axis.name not in self.lines:
                self._add_line(axis, entry.order)
        for name, line in self.lines.items():
            self._columns[name].add(line.cut(around.get(name), cut.get(name)))

    def _add_line(self, axis: Axis, before: int) -> None:
        self.lines[axis.name] = Line(axis)
        self._columns[axis.name] = Grown(np.int32, before)

    def exactly(self, sides: Sequence[Side], axes: Axes) -> Sequence[Entry]:
        """The releases about just these rows."""
        return self._written.get(written(sides, axes), ())

    def lying(self, around: Side, keys: Iterable[Grouping], axes: Axes) -> Lying:
        """How everything lies to what is `around` a new region that is cut by these keys."""
        cut: dict[str, list[Grouping]] = {}
        for one in keys:
            cut.setdefault(one.axis.name, []).append(one)
        lines = dict(self.lines)
        for name in sorted({*around, *cut} - set(lines)):
            lines[name] = Line(axes[name])  # all releases have all of it
        plain, near = {}, {}
        for name, line in lines.items():
            cells = around.get(name) or everything(line.axis)
            plain[name] = line.beside(cells)
            near[name] = line.nearest(cells, plain[name], cut.get(name, ()))
        return Lying(lines, plain, near)

    def covering(self, lying: Lying) -> Rows:
        """What has all of the region, as far as one can see axis by axis."""
        return self.where({name: one.alone == 0 for name, one in lying.plain.items()}, lying)

    def meeting(self, lying: Lying) -> Rows:
        return self.where({name: one.shared > 0 for name, one in lying.plain.items()}, lying)

    def where(self, kept: dict[str, NDArray[np.bool_]], lying: Lying) -> Rows:
        """The releases whose parts are all kept."""
        rows: Rows | None = None
        # what has many distinct parts tells most
        for name in sorted(kept, key=lambda one: (-len(lying.lines[one]), one)):
            if kept[name].all():
                continue
            places = self.places(name)
            if rows is None:
                rows = np.flatnonzero(kept[name][places])
            else:
                rows = rows[kept[name][places[rows]]]
        return np.arange(len(self.entries)) if rows is None else rows

    def places(self, axis: str) -> Rows:
        """For every release the place of its part on the axis."""
        if axis not in self._columns:
            return np.zeros(len(self.entries), dtype=np.int32)
        return self._columns[axis].view.astype(np.int32, copy=False)

    @property
    def single(self) -> NDArray[np.bool_]:
        """Whether the region of a release is one box."""
        return self._single.view.astype(np.bool_, copy=False)

    @property
    def totals(self) -> NDArray[np.float64]:
        """The noisy size of every release; negative where nobody knows."""
        return self._totals.view.astype(np.float64, copy=False)


class History:
    """What a trust group was told about a dataset; see `Index`."""

    def __init__(self, told: Iterable[Past] = ()) -> None:
        self._shapes: dict[str, Index] = {}
        for one in told:
            self.add(one)

    def add(self, past: Past) -> None:
        """One release more; the same again is one entry with the smaller spread and the newer counts."""
        self._shapes.setdefault(past.ground.shape, Index()).add(past)

    def of(self, shape: str) -> Index | None:
        return self._shapes.get(shape)

    def __len__(self) -> int:
        return sum(len(one.entries) for one in self._shapes.values())

    def __iter__(self) -> Iterator[Entry]:
        return (entry for one in self._shapes.values() for entry in one.entries)


def _axes(ground: Ground) -> dict[str, Axis]:
    made = {one.name: one for one in ground.region.axes}
    made |= {one.axis.name: one.axis for one in ground.keys if one.axis is not None}
    return made
