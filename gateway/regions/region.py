"""Region: the rows that a query selects, as disjoint boxes over axes.

INVARIANT: a region made here has one canonical form over its axes, so regions over equal axes are the same rows
exactly when they are equal. The form is that of an ordered decision diagram: along the first axis that matters,
cells with the same rest are grouped, and so on with the rest; every path is a box.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gateway.json_form import Json, read_mapping, read_sequence, read_string
from gateway.regions.axis import RegionAxis, axis_json, axis_of_json
from gateway.regions.cell_classes import cell_classes
from gateway.regions.cells import (
    AxisMismatch,
    Cells,
    NameCells,
    StepCells,
    all_cells,
    cells_json,
    cells_of_json,
    clip_cells,
    intersection,
    is_empty,
    union_of_many,
    widen_axis,
)
from gateway.regions.region_work import spend_work

MOST_BOXES: Final = 64
_MOST_WORK: Final = 20_000
_BOX_WORK: Final = 4  # as long as looking at so many ranges


class TooLarge(Exception):
    """The region would have more boxes than the limit."""


@dataclass(frozen=True, slots=True)
class Box:
    """`parts` are sorted by the names of their axes; an axis that is not named is unrestricted."""

    parts: tuple[tuple[str, Cells], ...]

    def along(self, axis: str) -> Cells | None:
        """The cells on this axis; None if the box does not restrict it."""
        return next((cells for name, cells in self.parts if name == axis), None)


@dataclass(frozen=True, slots=True)
class Region:
    """Disjoint boxes. `axes` are those that are named in them, sorted by name."""

    axes: tuple[RegionAxis, ...]
    boxes: tuple[Box, ...]

    @property
    def is_nothing(self) -> bool:
        return not self.boxes

    @property
    def is_everything(self) -> bool:
        return self.boxes == (Box(()),)

    def axis(self, name: str) -> RegionAxis:
        for one in self.axes:
            if one.name == name:
                return one
        raise KeyError(name)

    def meet(self, other: "Region") -> "Region":
        """The rows of both."""
        if self.is_everything:
            return other
        if other.is_everything or not self.boxes:
            return self
        if len(self.boxes) == len(other.boxes) == 1:
            return _met(self, other)
        return _combined(self, other, lambda one, two: one and two)

    def join(self, other: "Region") -> "Region":
        """The rows of either."""
        if self.is_everything or not other.boxes:
            return self
        return _combined(self, other, lambda one, two: one or two)

    def without(self, other: "Region") -> "Region":
        """The rows that are not in the other."""
        if not self.boxes or not other.boxes:
            return self
        return _combined(self, other, lambda one, two: one and not two)

    def covers(self, other: "Region") -> bool:
        """Whether all rows of the other are in it."""
        if self.is_everything or not other.boxes or self.boxes == other.boxes:
            return True
        return _combined(other, self, lambda one, two: one and not two, _MOST_WORK).is_nothing

    def without_axes(self, names: frozenset[str]) -> "Region":
        """The rows that become rows of it by other values on these axes."""
        if not any(one.name in names for one in self.axes):
            return self
        made = NOTHING
        for box in self.boxes:
            parts = tuple(part for part in box.parts if part[0] not in names)
            left = tuple(one for one in self.axes if any(one.name == name for name, _ in parts))
            made = made.join(Region(left, (Box(parts),)))
        return made

    def slices(self, names: frozenset[str]) -> "Iterator[Region]":
        """The rows of each combination of values on these axes, without the axes."""
        found: dict[_Parts, Region] = {}
        for box in self.boxes:
            inside = tuple(part for part in box.parts if part[0] in names)
            one = Region(self.axes, (box,)).without_axes(names)
            found[inside] = found.get(inside, NOTHING).join(one)
        yield from dict.fromkeys(found.values())

    def same(self, other: "Region") -> bool:
        """Whether both are the same rows, even if their axes were declared differently."""
        if self.boxes == other.boxes:
            return True
        if self.axes == other.axes:
            return False
        return self.covers(other) and other.covers(self)


EVERYTHING: Final = Region((), (Box(()),))
NOTHING: Final = Region((), ())


def region_along(axis: RegionAxis, cells: Cells) -> Region:
    """The rows that are in these cells of one axis."""
    return region_of_cells(axis, clip_cells(cells, axis))


def region_of_cells(axis: RegionAxis, cells: Cells) -> Region:
    """The same for cells that are clipped already."""
    if is_empty(cells):
        return NOTHING
    if cells == all_cells(axis):
        return EVERYTHING
    return Region((axis,), (Box(((axis.name, cells),)),))


def region_without_missing(region: Region) -> Region:
    """The region without the conditions that a value is not NULL."""
    axes = {one.name: one for one in region.axes}
    made = NOTHING
    for box in region.boxes:
        parts = tuple(
            (name, cells)
            for name, cells in box.parts
            if replace(cells, null=axes[name].nullable) != all_cells(axes[name])
        )
        left = tuple(one for one in region.axes if any(one.name == name for name, _ in parts))
        made = made.join(Region(left, (Box(parts),)))
    return made


_Parts: TypeAlias = tuple[tuple[str, Cells], ...]
_Keep: TypeAlias = Callable[[bool, bool], bool]
_EVERY: Final[tuple[_Parts, ...]] = ((),)


def _axes_of(one: Region, other: Region) -> dict[str, RegionAxis]:
    axes = {axis.name: axis for axis in one.axes}
    for axis in other.axes:
        mine = axes.get(axis.name)
        axes[axis.name] = axis if mine is None or mine == axis else widen_axis(mine, axis)
    return axes


def _parts_of(region: Region, axes: dict[str, RegionAxis]) -> tuple[_Parts, ...]:
    """The boxes of the region over these axes, which may be declared wider."""
    if all(axes[one.name] == one for one in region.axes):
        return tuple(box.parts for box in region.boxes)
    # on a wider axis no cell is lost, but all cells of the old axis may be only some of the new one
    boxes = (
        tuple((name, clip_cells(cells, axes[name])) for name, cells in box.parts)
        for box in region.boxes
    )
    return tuple(
        tuple(part for part in box if part[1] != all_cells(axes[part[0]])) for box in boxes
    )


def _region(axes: dict[str, RegionAxis], boxes: Iterable[_Parts]) -> Region:
    made = tuple(Box(parts) for parts in sorted(boxes, key=_order))
    named = sorted({name for box in made for name, _ in box.parts})
    return Region(tuple(axes[name] for name in named), made)


def _order(parts: _Parts) -> list[tuple[str, object]]:
    return [(name, _written(cells)) for name, cells in parts]


def _written(cells: Cells) -> tuple[object, ...]:
    if isinstance(cells, NameCells):
        return (1, cells.rest, cells.null, tuple(sorted(cells.values)))
    return (0, cells.ranges, cells.null)


def _met(one: Region, other: Region) -> Region:
    """The rows of two regions with one box each, as most regions have."""
    try:
        axes = _axes_of(one, other)
        [left], [right] = _parts_of(one, axes), _parts_of(other, axes)
        spend_work(_weight([cells for _, cells in (*left, *right)]))
        parts = dict(left)
        for name, cells in right:
            mine = parts.get(name)
            parts[name] = cells if mine is None else intersection(mine, cells)
            if is_empty(parts[name]):
                return NOTHING
    except AxisMismatch as error:
        raise TooLarge from error
    return _region(axes, [tuple(sorted(parts.items(), key=lambda part: part[0]))])


def _combined(one: Region, other: Region, keep: _Keep, most: int = MOST_BOXES) -> Region:
    try:
        axes = _axes_of(one, other)
        left, right = _parts_of(one, axes), _parts_of(other, axes)
        boxes = _Combining(axes, keep, most).boxes(left, right)
    except AxisMismatch as error:
        raise TooLarge from error
    return _region(axes, boxes)


class _Combining:
    """Combines two lists of boxes axis by axis. `keep` decides for a row in neither, one or both lists."""

    def __init__(self, axes: dict[str, RegionAxis], keep: _Keep, most: int) -> None:
        self._axes = axes
        self._keep = keep
        self._most = most
        self._work = 0

    def boxes(self, left: tuple[_Parts, ...], right: tuple[_Parts, ...]) -> tuple[_Parts, ...]:
        self._work += 1 + len(left) + len(right)
        if self._work > _MOST_WORK:
            raise TooLarge
        spend_work(_BOX_WORK * (1 + len(left) + len(right)))
        # a box without parts contains all rows, so the others add nothing
        left = _EVERY if () in left else left
        right = _EVERY if () in right else right
        decided = self._decided(left, right)
        if decided is not None:
            return decided
        name = min(parts[0][0] for parts in (*left, *right) if parts)
        axis = self._axes[name]
        given = [
            parts[0][1] if parts and parts[0][0] == name else None for parts in (*left, *right)
        ]
        spend_work(_weight([one for one in given if one is not None]))
        rests = [parts[1:] if parts and parts[0][0] == name else parts for parts in (*left, *right)]
        found: dict[tuple[_Parts, ...], list[Cells]] = {}
        for members, cells in cell_classes(axis, given):
            inside = self.boxes(
                tuple(rests[place] for place in members if place < len(left)),
                tuple(rests[place] for place in members if place >= len(left)),
            )
            if inside:
                found.setdefault(inside, []).append(cells)
        return self._paths(axis, found)

    def _decided(
        self, left: tuple[_Parts, ...], right: tuple[_Parts, ...]
    ) -> tuple[_Parts, ...] | None:
        """The result, if the remaining boxes cannot change it; else None."""
        sides = [{bool(one)} if one in {(), _EVERY} else {False, True} for one in (left, right)]
        answers = {self._keep(one, two) for one in sides[0] for two in sides[1]}
        if len(answers) > 1:
            return None
        return _EVERY if answers == {True} else ()

    def _paths(
        self, axis: RegionAxis, found: dict[tuple[_Parts, ...], list[Cells]]
    ) -> tuple[_Parts, ...]:
        made: list[_Parts] = []
        whole = all_cells(axis)
        for inside, several in found.items():
            cells = union_of_many(several)
            head: _Parts = () if cells == whole else ((axis.name, cells),)
            made.extend((*head, *rest) for rest in inside)
        if len(made) > self._most:
            raise TooLarge
        # equal sets get equal orders, so that equal rests compare as equal
        return tuple(sorted(made, key=_order))


def _weight(given: Sequence[Cells]) -> int:
    """The work of dividing an axis by these sets: each range is looked at once, each name in every set of names."""
    ranges = sum(len(one.ranges) for one in given if isinstance(one, StepCells))
    named = [one for one in given if isinstance(one, NameCells)]
    return 1 + ranges + len(named) * sum(len(one.values) for one in named)


def region_json(region: Region) -> Json:
    boxes = [[[name, cells_json(cells)] for name, cells in box.parts] for box in region.boxes]
    return {"axes": [axis_json(one) for one in region.axes], "boxes": boxes}


def region_of_json(said: Json) -> Region:
    given = read_mapping(said)
    boxes = []
    for box in read_sequence(given["boxes"]):
        parts = [read_sequence(part) for part in read_sequence(box)]
        boxes.append(Box(tuple((read_string(name), cells_of_json(cells)) for name, cells in parts)))
    return Region(tuple(map(axis_of_json, read_sequence(given["axes"]))), tuple(boxes))
