"""Values of the auditor: the new query and its parts, and an earlier answer as trackers see it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gateway.overlap.group_cuts import KeyGrouping, grouping_of
from gateway.overlap.history import Index, RegionEntry
from gateway.overlap.joint_keys import joint_groupings
from gateway.regions.boxes import Axes, Side, hull_cells, sides_of
from gateway.regions.cells import Cells, all_cells, intersection, is_empty, without_null
from gateway.regions.row_readings import ReadingKind
from gateway.regions.scope import ReleaseScope


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A part of the new query, and how exactly it would show one person."""

    scope: ReleaseScope
    spread: Fraction


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """`around` is the hull of its boxes on each axis; `keys` are the groupings whose groups are known. `alike`: it reads numbers
    of persons as if all rows of a person were alike.
    """

    sides: tuple[Side, ...]
    around: Side
    keys: tuple[KeyGrouping, ...]
    joint: Mapping[str, KeyGrouping]  # those of several keys on one axis
    texts: frozenset[str]  # of all keys
    axes: Axes
    spread: Fraction
    alike: bool = False

    def differs_by_rows(self, sides: Iterable[Side]) -> bool:
        """Whether it reads numbers of persons and has the same conditions on them as these: then both differ by rows alone.

        INVARIANT: rows are compared by the parts with any numbers, which both queries have, and sizes of rows can clear these.
        """
        if not self.alike:
            return False
        numbers = self._numbers(self.sides)
        return bool(numbers) and self._numbers(sides) == numbers

    def _numbers(self, sides: Iterable[Side]) -> list[Side]:
        """The different conditions on numbers of persons, in the order of the boxes; none if a box has none."""
        found = list[Side]()
        for one in sides:
            numbers = {name: cells for name, cells in one.items() if self.axes[name].of_person}
            if not numbers:
                return []
            if numbers not in found:
                found.append(numbers)
        return found


def part_of(concerned: NewQuery, indexes: tuple[Index, ...]) -> QuestionPart:
    """The part, with all axes that it and the releases of its shape have."""
    scope = concerned.scope
    axes = {name: axis for index in indexes for name, axis in index.axes.items()}
    axes |= {one.axis.name: one.axis for one in scope.keys if one.axis is not None}
    axes |= {one.name: one for one in scope.region.axes}
    sides = tuple(sides_of(scope.region))
    keys = tuple(one for key in scope.keys if (one := grouping_of(key)) is not None)
    texts = frozenset(one.text for one in scope.keys)
    alike = scope.row_reading in {ReadingKind.ALIKE.value, ReadingKind.ALIKE.every}
    around = hull_cells(sides, axes)
    joint = joint_groupings(keys)
    return QuestionPart(sides, around, keys, joint, texts, axes, concerned.spread, alike)


@dataclass(frozen=True, slots=True)
class RegionAnswer:
    """A region, or groups of one, with the variance by which it shows one person and its likely number of
    people.
    """

    sides: tuple[Side, ...]
    variance: float
    count: float | None
    entry: RegionEntry


def shows_openly(part: QuestionPart, rows: Sequence[Side]) -> bool:
    """Whether these rows are groups of the new table: it shows them by itself, whatever was answered before.

    INVARIANT: groups whose boundaries the query chose are conditions, and none of these.
    """
    keys = {key.axis.name: key for key in part.keys}
    if not keys or len(part.sides) != 1 or len(keys) != len(part.texts):
        return False
    if any(one.chosen for one in part.keys):
        return False
    return bool(rows) and all(_is_of_groups(one, part, keys) for one in rows)


def _is_of_groups(rows: Side, part: QuestionPart, keys: Mapping[str, KeyGrouping]) -> bool:
    [whole] = part.sides
    for name in sorted({*rows, *whole}):
        around = whole.get(name) or all_cells(part.axes[name])
        cells = rows.get(name) or all_cells(part.axes[name])
        if name in keys:
            around = intersection(keys[name].groups_meeting(cells), around)
        if without_null(around) != without_null(cells):
            return False
    return True


def cut_sides(sides: Iterable[Side], name: str, cells: Cells) -> list[Side]:
    """The boxes, restricted to these cells of the axis."""
    made: list[Side] = []
    for one in sides:
        left = intersection(one[name], cells) if name in one else cells
        if not is_empty(left):
            made.append({**one, name: left})
    return made
