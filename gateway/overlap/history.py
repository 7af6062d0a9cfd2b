"""History of a trust group: every release it has received, indexed so that those near a new query are found fast.

INVARIANT: entries are only added. A history holds released values and scopes; counts and an order that depends
on them alone decide which entries are compared; entries keep the order in which they were added.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, prod, sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.axis_index import AxisIndex, GrowingArray, PartCounts
from gateway.overlap.group_cuts import KeyGrouping
from gateway.overlap.joint_keys import SharedGroupings, joint_groupings
from gateway.overlap.person_numbers import compared_numbers, numbers_of
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.boxes import Axes, Side, canonical_boxes, hull_cells, sides_of
from gateway.regions.cells import Cells, all_cells
from gateway.regions.region import Region
from gateway.regions.scope import GroupKey, ReleaseScope

Rows: TypeAlias = NDArray[np.int64]
Written: TypeAlias = frozenset[frozenset[tuple[str, Cells]]]

UNKNOWN: Final = -1.0
MOST_UNITS: Final = 2**40
"""No table has so many people; what is further from 0 is noise that tells nothing."""
_FARTHEST: Final = Fraction(2**200)


@dataclass(frozen=True, slots=True)
class PriorRelease:
    """A release that a member of the trust group has received.

    `counts` are noisy numbers of units in each group, in the order of the keys' product; one number without
    keys; None if unknown. `variance` is that of each count's noise; None if unknown, and then the counts reveal
    nothing. `whole`: every unit counts as 1, and in one group alone; otherwise counts are lower bounds, and are
    never called small. `spread` is the variance of the most exact measurement's noise, divided by the square of
    its change by one person: how exactly the release shows one person.
    """

    release: str
    query_id: str
    scope: ReleaseScope
    counts: tuple[int, ...] | None
    spread: Fraction
    variance: Fraction | None = None
    whole: bool = False


class RegionEntry:
    """One release of a shape: its region, its groups, its counts, and how exactly it shows one person."""

    __slots__ = (
        "_counted",
        "_spreads",
        "counts",
        "deviation",
        "groupings",
        "joint",
        "keys",
        "order",
        "query_id",
        "readable",
        "region",
        "spread",
        "whole",
    )

    def __init__(
        self,
        past: PriorRelease,
        order: int,
        keys: tuple[GroupKey, ...],
        groupings: tuple[KeyGrouping | None, ...],
        joint: Mapping[str, KeyGrouping],
    ) -> None:
        self.order = order
        self.query_id = past.query_id
        self.region: Region = past.scope.region
        self.keys = keys
        self.readable = not past.scope.unreadable
        self.groupings = groupings
        self.joint = joint
        self.counts: NDArray[np.float64] | None = None
        self.deviation = standard_deviation(past.variance)
        self.whole = past.whole
        self._counted: set[str] = set()
        self._count(past)
        self._spreads: dict[str, Fraction] = {}
        self.spread = past.spread
        self._see(past)

    def _see(self, past: PriorRelease) -> None:
        """Count each release once, however often it is reported: the facts about it come in any order."""
        known = self._spreads.get(past.release, past.spread)
        self._spreads[past.release] = min(known, past.spread)
        spreads = self._spreads.values()
        exact = sum((1 / one for one in spreads), Fraction(0)) if all(spreads) else None
        self.spread = Fraction(0) if exact is None else 1 / exact

    def _count(self, past: PriorRelease) -> None:
        """Take the counts of a release: the mean of all releases, each weighted by the inverse of its variance.

        INVARIANT: no draw replaces another. An analyst who sends a query again until its noise is as he likes moves the
        mean, and the mean becomes more exact. Counts of units are preferred to lower bounds.
        """
        counts = _counted(past)
        if counts is None or (self.counts is not None and self.whole and not past.whole):
            return
        deviation = standard_deviation(past.variance)
        again = self._counted <= {past.release}  # the same release, made more exact
        if self.counts is None or again or past.whole != self.whole or not deviation:
            self.counts, self.deviation, self.whole = counts, deviation, past.whole
            self._counted = {past.release}
        elif past.release not in self._counted and self.deviation:
            mine, other = self.deviation**-2, deviation**-2
            self.counts = (mine * self.counts + other * counts) / (mine + other)
            self.deviation = (mine + other) ** -0.5
            self._counted.add(past.release)

    def again(self, past: PriorRelease) -> None:
        """The same query was answered again: both answers together reveal more than the finer one."""
        self._see(past)
        self._count(past)
        self.query_id = past.query_id

    @property
    def listed(self) -> bool:
        """True if all groups were released, so that they add up to the whole."""
        return all(one.values is not None for one in self.keys)

    @property
    def sides(self) -> list[Side]:
        return sides_of(self.region)

    def variance(self, groups: int) -> float:
        """The variance of the noise of that many groups together."""
        return as_float(self.spread) * groups

    def total(self) -> float | None:
        return None if self.counts is None else float(self.counts.sum())


def _counted(past: PriorRelease) -> NDArray[np.float64] | None:
    """The counts, with a dimension for each key; a number that cannot be a count of people is unknown.

    INVARIANT: they and their sums are exact.
    """
    if past.counts is None or past.variance is None or past.variance < 0:
        return None
    if any(one.values is None for one in past.scope.keys):
        return None
    sizes = [len(one.values or ()) for one in past.scope.keys]
    if len(past.counts) != prod(sizes) or not past.counts:
        return None
    if max(map(abs, past.counts)) > MOST_UNITS:
        return None
    return np.array(past.counts, dtype=np.float64).reshape(sizes)


def standard_deviation(variance: Fraction | None) -> float:
    """The standard deviation of one count's noise; a very large number if it is unknown."""
    return sqrt(_FARTHEST if variance is None else as_float(variance))


def as_float(value: Fraction) -> float:
    """The variance as the nearest double; too large a number becomes a very large one."""
    return float(min(max(value, Fraction(0)), _FARTHEST))


class Index:
    """The releases of one shape."""

    def __init__(self) -> None:
        self.entries: list[RegionEntry] = []
        self.lines: dict[str, AxisIndex] = {}
        self.least_deviation = inf  # of counts of units; others have at least as much noise
        self._columns: dict[str, GrowingArray] = {}
        self._totals = GrowingArray(np.float64)
        self._spreads = GrowingArray(np.float64)
        self._single = GrowingArray(np.bool_)
        self._found: dict[tuple[Region, tuple[tuple[str, int], ...]], list[RegionEntry]] = {}
        self._written: dict[Written, list[RegionEntry]] = {}
        self._keys: dict[tuple[object, ...], tuple[GroupKey, ...]] = {}
        self._groupings = SharedGroupings()

    @property
    def axes(self) -> dict[str, RegionAxis]:
        return {name: line.axis for name, line in self.lines.items()}

    def fits(self, scope: ReleaseScope) -> bool:
        """True if its axes have cells of the same kind here."""
        return self.agrees({name: one.kind for name, one in _axes(scope).items()})

    def agrees(self, kinds: Mapping[str, AxisKind]) -> bool:
        mine = {name: one.axis.kind for name, one in self.lines.items()}
        return all(kinds.get(name, one) is one for name, one in mine.items())

    def add(self, past: PriorRelease) -> None:
        scope = past.scope
        label = tuple((one.text, len(one.values or ())) for one in scope.keys)
        for same in self._found.get((scope.region, label), ()):
            if same.keys == scope.keys:
                same.again(past)
                self._put_noise(same)
                return
        keys = self._shared(scope.keys)
        entry = RegionEntry(past, len(self.entries), keys, *self._groupings.of(keys))
        self._found.setdefault((scope.region, label), []).append(entry)
        self.entries.append(entry)
        sides, axes = entry.sides, {**self.axes, **_axes(scope)}
        self._written.setdefault(canonical_boxes(sides, axes), []).append(entry)
        self._totals.add(UNKNOWN)
        self._spreads.add(0.0)
        self._single.add(len(sides) == 1)
        self._put_noise(entry)
        self._place(entry, hull_cells(sides, axes))

    def _shared(self, keys: tuple[GroupKey, ...]) -> tuple[GroupKey, ...]:
        """Equal keys as one object, however often they are read from the log."""
        label = tuple(
            (one.text, len(one.values or ()), one.values and one.values[:1]) for one in keys
        )
        known = self._keys.setdefault(label, keys)
        return known if known == keys else keys

    def _put_noise(self, entry: RegionEntry) -> None:
        self._spreads.put(entry.order, as_float(entry.spread))
        total = entry.total()
        if total is not None and entry.whole:
            self.least_deviation = min(self.least_deviation, entry.deviation)
        self._totals.put(entry.order, UNKNOWN if total is None else max(float(total), 0.0))

    def _place(self, entry: RegionEntry, around: Side) -> None:
        cut = {one.axis.name: one for one in entry.groupings if one is not None}
        cut |= entry.joint
        for axis in (*entry.region.axes, *(one.axis for one in cut.values())):
            if axis.name not in self.lines:
                self._add_line(axis, entry.order)
        for name, line in self.lines.items():
            self._columns[name].add(line.cut(around.get(name), cut.get(name)))

    def _add_line(self, axis: RegionAxis, before: int) -> None:
        self.lines[axis.name] = AxisIndex(axis)
        self._columns[axis.name] = GrowingArray(np.int32, before)

    def exactly(self, sides: Sequence[Side], axes: Axes) -> Sequence[RegionEntry]:
        """The releases of exactly these rows."""
        return self._written.get(canonical_boxes(sides, axes), ())

    def lying(self, around: Side, keys: Sequence[KeyGrouping], axes: Axes) -> "EntryPosition":
        """The positions of all releases relative to `around`, the hull of a new region that these keys cut."""
        cut: dict[str, list[KeyGrouping]] = {}
        for one in keys:
            cut.setdefault(one.axis.name, []).append(one)
        for name, one in joint_groupings(keys).items():
            cut[name].append(one)
        lines = dict(self.lines)
        for name in sorted({*around, *cut} - set(lines)):
            lines[name] = AxisIndex(axes[name])  # every release contains the whole axis
        cells = {name: around.get(name) or all_cells(line.axis) for name, line in lines.items()}
        plain = {name: line.beside(cells[name]) for name, line in lines.items()}
        return EntryPosition(self, lines, plain, cells, cut)

    def places(self, axis: str) -> Rows:
        """For every release the number of its part on the axis."""
        if axis not in self._columns:
            return np.zeros(len(self.entries), dtype=np.int32)
        return self._columns[axis].view.astype(np.int32, copy=False)

    @property
    def single(self) -> NDArray[np.bool_]:
        """For every release, whether its region is one box."""
        return self._single.view.astype(np.bool_, copy=False)

    @property
    def totals(self) -> NDArray[np.float64]:
        """The noisy size of every release; negative if it is unknown."""
        return self._totals.view.astype(np.float64, copy=False)

    @property
    def spreads(self) -> NDArray[np.float64]:
        """For every release, how exactly it shows one person: the variance of its noise in persons."""
        return self._spreads.view.astype(np.float64, copy=False)


@dataclass(frozen=True)
class EntryPosition:
    """The positions of all releases of an index relative to a new region: for every axis and every distinct part of it.

    `cells` are those of the region on each axis, `cut` the keys that cut it there.
    """

    index: Index
    lines: dict[str, AxisIndex]
    plain: dict[str, PartCounts]
    cells: dict[str, Cells]
    cut: dict[str, list[KeyGrouping]]

    @cached_property
    def nearest(self) -> dict[str, PartCounts]:
        """The same for the nearest groups; computed when asked for, because sizes are looked up without it."""
        return {
            name: line.nearest(self.cells[name], self.plain[name], self.cut.get(name, ()))
            for name, line in self.lines.items()
        }

    def inside(self) -> Rows:
        """The releases of which a part may lie within the new region, judged axis by axis: the whole, or groups."""
        kept = {}
        for name, line in self.lines.items():
            one = self.plain[name]
            kept[name] = (one.shared > 0) & ((one.outside == 0) | line.grouped_parts)
        return self.where(kept)

    def where(self, kept: dict[str, NDArray[np.bool_]]) -> Rows:
        """The releases all of whose parts are kept."""
        rows: Rows | None = None
        # an axis with many distinct parts separates most
        for name in sorted(kept, key=lambda one: (-len(self.lines[one]), one)):
            if kept[name].all():
                continue
            places = self.index.places(name)
            there = kept[name]
            rows = np.flatnonzero(there[places]) if rows is None else rows[there[places[rows]]]
        return np.arange(len(self.index.entries)) if rows is None else rows


class History:
    """The releases of a dataset that a trust group has received; see `Index`.

    A release of no rows is noise alone and is not added. If a column had cells of another kind when an earlier
    query was read (names then, numbers now), the two are not compared.
    """

    def __init__(self, told: Iterable[PriorRelease] = ()) -> None:
        self._shapes: dict[tuple[str, str], list[Index]] = {}
        self._missing: set[str] = set()
        self._missing_all = False
        for one in told:
            self.add(one)

    def add(self, past: PriorRelease) -> None:
        """Add one release. The same release again is one entry with the smaller spread and the newer counts."""
        scope = past.scope
        if scope.region.is_nothing:
            return
        of_shape = self._shapes.setdefault((scope.shape, numbers_of(scope)), [])
        fitting = [one for one in of_shape if one.fits(scope)]
        if not fitting:
            fitting = [Index()]
            of_shape += fitting
        fitting[0].add(past)

    def miss(self, tables: frozenset[str] | None) -> None:
        """Note that a release about these tables cannot be read; None: about unknown tables."""
        self._missing |= tables or frozenset()
        self._missing_all |= tables is None

    def misses(self, tables: frozenset[str]) -> bool:
        """True if an unreadable release may be about them."""
        return self._missing_all or not self._missing.isdisjoint(tables)

    def beside(self, scope: ReleaseScope) -> Iterator[Index]:
        """The releases of its shape that are compared with it, by the kinds of their cells, the newest kinds first."""
        for one in compared_numbers(scope):
            yield from reversed(self._shapes.get((scope.shape, one), ()))

    def __len__(self) -> int:
        return sum(len(one.entries) for each in self._shapes.values() for one in each)

    def __iter__(self) -> Iterator[RegionEntry]:
        return (entry for each in self._shapes.values() for one in each for entry in one.entries)


def comparable_indexes(scope: ReleaseScope, told: Sequence[History]) -> tuple[Index, ...]:
    """The releases that can be compared with the scope and with each other."""
    kinds = {name: one.kind for name, one in _axes(scope).items()}
    found = []
    for index in (one for each in told for one in each.beside(scope)):
        if index.agrees(kinds):
            kinds |= {name: line.axis.kind for name, line in index.lines.items()}
            found.append(index)
    return tuple(found)


def _axes(scope: ReleaseScope) -> dict[str, RegionAxis]:
    made = {one.name: one for one in scope.region.axes}
    made |= {one.axis.name: one.axis for one in scope.keys if one.axis is not None}
    return made
