"""Scopes over three small axes whose points are all known: groups can be compared point by point."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells, clip_cells, contains, merge_ranges
from gateway.regions.region import EVERYTHING, Region, TooLarge, region_along
from gateway.regions.scope import GroupKey, ReleaseScope

Cell = int | str | None
Point = Mapping[str, Cell]

A = RegionAxis(
    "a", AxisKind.STEPS, 0, 11, 12, nullable=True, readable=True, quasi=False, column=None
)
B = RegionAxis(
    "b", AxisKind.NAMES, None, None, 3, nullable=True, readable=True, quasi=False, column=None,
    names=frozenset("xyz"),
)  # fmt: skip
C = RegionAxis(
    "c", AxisKind.NAMES, None, None, None, nullable=False, readable=True, quasi=True, column=None
)
AXES = {one.name: one for one in (A, B, C)}
CELLS: Mapping[str, tuple[Cell, ...]] = {
    "a": (None, *range(12)),
    "b": (None, "x", "y", "z"),
    "c": ("p", "q", "r"),  # `r` stands for all names that nobody has said
}
POINTS: tuple[Point, ...] = tuple(
    dict(zip(CELLS, cells, strict=True)) for cells in product(*CELLS.values())
)


def cells_of(axis: str, there: Sequence[Cell]) -> Cells:
    """These cells, as a set of the axis."""
    null = None in there
    if axis == "a":
        ranges = merge_ranges((one, one) for one in there if isinstance(one, int))
        return clip_cells(StepCells(ranges, null), AXES[axis])
    names = frozenset(one for one in there if isinstance(one, str))
    if axis == "c" and "r" in names:
        return NameCells(frozenset("pq") - names, rest=True, null=null)
    return NameCells(names, null=null)


def has(region: Region, point: Point) -> bool:
    return any(
        all(contains(cells, point[name]) for name, cells in box.parts) for box in region.boxes
    )


@dataclass(frozen=True)
class Cut:
    """A key: what it gives for each cell of an axis; None where that is not listed. Opaque: nobody knows where."""

    axis: str
    gives: Mapping[Cell, int | None]
    opaque: bool = False

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(sorted({one for one in self.gives.values() if one is not None}))

    def key(self) -> GroupKey:
        text = f"{self.axis}:{[self.gives[one] for one in CELLS[self.axis]]}"
        if self.opaque:
            return GroupKey(f"opaque {text}", None, self.values, None)
        cells = tuple(
            cells_of(self.axis, [cell for cell in CELLS[self.axis] if self.gives[cell] == value])
            for value in self.values
        )
        return GroupKey(text, AXES[self.axis], self.values, cells)


def scope(region: Region, cuts: Sequence[Cut], shape: str = "t") -> ReleaseScope:
    return ReleaseScope(shape, frozenset({"t"}), region, tuple(one.key() for one in cuts), ())


def groups(region: Region, cuts: Sequence[Cut]) -> list[set[int]]:
    """The points of each group, in the order of the enumeration."""
    found: dict[tuple[int | None, ...], set[int]] = {
        values: set() for values in product(*(one.values for one in cuts))
    }
    for at, point in enumerate(POINTS):
        values = tuple(one.gives[point[one.axis]] for one in cuts)
        if has(region, point) and values in found:
            found[values].add(at)
    return list(found.values())


def any_cells(chance: random.Random, axis: str) -> Cells:
    if axis == "a" and chance.random() < 0.6:
        low = chance.randint(0, 11)
        return cells_of(axis, range(low, chance.randint(low, 11) + 1))
    return cells_of(axis, [one for one in CELLS[axis] if chance.random() < 0.5])


def any_region(chance: random.Random) -> Region:
    """Most are one box, some are several."""
    found = EVERYTHING
    try:
        for _ in range(chance.choice((0, 1, 1, 2, 3))):
            axis = chance.choice("abc")
            one = region_along(AXES[axis], any_cells(chance, axis))
            combine: Callable[[Region], Region] = chance.choice(
                (found.meet, found.meet, found.join)
            )
            found = combine(one)
    except TooLarge:
        return EVERYTHING
    return found


def any_cut(chance: random.Random, axis: str) -> Cut:
    """A partition of an axis; of some not all values are listed."""
    if axis == "a" and chance.random() < 0.7:
        width, null = chance.choice((1, 2, 3, 4, 6)), chance.choice((99, 99, 0, None))
        gives: dict[Cell, int | None] = {
            one: null if not isinstance(one, int) else one // width for one in CELLS["a"]
        }
        return Cut(axis, gives, opaque=chance.random() < 0.1)
    many = chance.choice((1, 2, 3, 4))
    least = -1 if chance.random() < 0.2 else 0
    drawn = {one: chance.randint(least, many) for one in CELLS[axis]}
    return Cut(
        axis,
        {one: None if at < 0 else at for one, at in drawn.items()},
        opaque=chance.random() < 0.1,
    )


def coarser(chance: random.Random, cut: Cut) -> Cut:
    """Some of its values put together."""
    put = {value: chance.randint(0, 2) for value in cut.values}
    return Cut(cut.axis, {one: None if at is None else put[at] for one, at in cut.gives.items()})
