"""Sets of cells on one axis: their algebra, and their width as the auditor counts it.

NULL has no weight beside other cells: nobody can choose persons by a missing value, and a column that may hold
NULL often holds none, so NULL does not widen a residual. A set of NULL alone is one cell.

INVARIANT: everything here is exact. `clip_cells` gives the only way to write a set of cells of an axis: ranges are
sorted, disjoint and not adjacent, one that reaches an end of a declared interval is open there (values beyond
it are moved to the end), and names that are all declared are listed, never given by what is missing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, TypeAlias

from gateway.json_form import InvalidJson, Json, read_sequence, read_string, read_whole
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis

Range: TypeAlias = tuple[int, int]

_FEWER: Final = (
    8  # so many times fewer ranges are looked up in the others, instead of going through all
)


@dataclass(frozen=True, slots=True)
class StepCells:
    """Cells from one to another, both included; `null`: NULL as well."""

    ranges: tuple[Range, ...]
    null: bool = False


@dataclass(frozen=True, slots=True)
class NameCells:
    """These names; `rest`: all but these. `null`: NULL as well."""

    values: frozenset[str]
    rest: bool = False
    null: bool = False


Cells: TypeAlias = StepCells | NameCells


class AxisMismatch(ValueError):
    """Cells of numbers and of names cannot be compared: the column had another type in one of the two scopes."""


def intersection(one: Cells, other: Cells) -> Cells:
    null = one.null and other.null
    if isinstance(one, StepCells) and isinstance(other, StepCells):
        if (
            one.ranges == other.ranges
        ):  # the parts of a statement have these in common, perhaps thousands
            return one if one.null is null else other
        return StepCells(_met(one.ranges, other.ranges), null)
    if not isinstance(one, NameCells) or not isinstance(other, NameCells):
        raise AxisMismatch
    if one.rest and other.rest:
        return NameCells(one.values | other.values, rest=True, null=null)
    if one.rest:
        return NameCells(other.values - one.values, null=null)
    kept = one.values - other.values if other.rest else one.values & other.values
    return NameCells(kept, null=null)


def union(one: Cells, other: Cells) -> Cells:
    null = one.null or other.null
    if isinstance(one, StepCells) and isinstance(other, StepCells):
        return StepCells(merge_ranges((*one.ranges, *other.ranges)), null)
    if not isinstance(one, NameCells) or not isinstance(other, NameCells):
        raise AxisMismatch
    if one.rest and other.rest:
        return NameCells(one.values & other.values, rest=True, null=null)
    if one.rest or other.rest:
        left_out, given = (one, other) if one.rest else (other, one)
        return NameCells(left_out.values - given.values, rest=True, null=null)
    return NameCells(one.values | other.values, null=null)


def union_of_many(several: Sequence[Cells]) -> Cells:
    """All of these cells. Ranges are merged once, because there may be very many."""
    steps = [one for one in several if isinstance(one, StepCells)]
    if len(steps) == len(several) > 1:
        ranges = merge_ranges(each for one in steps for each in one.ranges)
        return StepCells(ranges, any(one.null for one in steps))
    return reduce(union, several)


def minus(one: Cells, other: Cells) -> Cells:
    """The cells of `one` that `other` does not have."""
    null = one.null and not other.null
    if isinstance(one, StepCells) and isinstance(other, StepCells):
        if one.ranges == other.ranges:
            return StepCells((), null)
        return StepCells(_met(one.ranges, range_gaps(other.ranges)), null)
    if not isinstance(one, NameCells) or not isinstance(other, NameCells):
        raise AxisMismatch
    kept = intersection(one, NameCells(other.values, rest=not other.rest))
    return NameCells(kept.values, kept.rest, null) if isinstance(kept, NameCells) else kept


def is_empty(cells: Cells) -> bool:
    if isinstance(cells, StepCells):
        return not cells.ranges and not cells.null
    return not cells.values and not cells.rest and not cells.null


def all_cells(axis: RegionAxis) -> Cells:
    """All of the axis."""
    if axis.kind is AxisKind.STEPS:
        return StepCells(((FIRST, LAST),), axis.nullable)
    if axis.names is not None:
        return NameCells(axis.names, null=axis.nullable)
    return NameCells(frozenset(), rest=True, null=axis.nullable)


def no_cells(axis: RegionAxis) -> Cells:
    return StepCells(()) if axis.kind is AxisKind.STEPS else NameCells(frozenset())


def clip_cells(cells: Cells, axis: RegionAxis) -> Cells:
    """The same cells, restricted to the axis, in the canonical form."""
    null = cells.null and axis.nullable
    if isinstance(cells, NameCells):
        if axis.kind is not AxisKind.NAMES:
            raise AxisMismatch
        if axis.names is None:
            return cells if null is cells.null else NameCells(cells.values, cells.rest, null)
        kept = axis.names - cells.values if cells.rest else axis.names & cells.values
        return NameCells(kept, null=null)
    if axis.kind is not AxisKind.STEPS:
        raise AxisMismatch
    low = FIRST if axis.low is None else axis.low
    high = LAST if axis.high is None else axis.high
    inside = _met(merge_ranges(cells.ranges), ((low, high),))
    if len(inside) <= 2:  # noqa: PLR2004 - only the first and the last reach an end
        return StepCells(tuple(_open(one, low, high) for one in inside), null)
    first, last = _open(inside[0], low, high), _open(inside[-1], low, high)
    return StepCells((first, *inside[1:-1], last), null)


def widen_axis(one: RegionAxis, other: RegionAxis) -> RegionAxis:
    """An axis with the cells of both, if the policy declared another domain when one of them was made."""
    if one.kind is not other.kind:
        raise AxisMismatch
    low = None if one.low is None or other.low is None else min(one.low, other.low)
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    names = None if one.names is None or other.names is None else one.names | other.names
    wider = one if other.size is None or (one.size or 0) > other.size else other
    size = None if one.size is None or other.size is None else wider.size
    return replace(
        one,
        low=low,
        high=high,
        size=size if names is None else len(names),
        nullable=one.nullable or other.nullable,
        names=names,
        stride=min(one.stride, other.stride),
    )


def cell_count(cells: Cells, axis: RegionAxis) -> int | None:
    """The number of declared values in these cells, with NULL as one of them; None if unknown.

    The values between two declared ones count as one, because people may have them.
    """
    there = clip_cells(cells, axis)
    null = int(there.null)
    if isinstance(there, NameCells):
        if not there.rest:
            return len(there.values) + null
        return None if axis.size is None else max(0, axis.size - len(there.values)) + null
    total = 0
    origin = 0 if axis.low is None else axis.low
    for first, last in there.ranges:
        low = axis.low if first == FIRST else first
        high = axis.high if last == LAST else last
        if low is None or high is None:
            return None
        if axis.stride == 1:
            total += high - low + 1
            continue
        on = (high - origin) // axis.stride - (low - 1 - origin) // axis.stride
        total += max(1, on)
    return total + null


def merge_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same ranges, sorted, disjoint and not adjacent."""
    made: list[Range] = []
    if isinstance(ranges, tuple) and len(ranges) == 1:
        return ranges if ranges[0][0] <= ranges[0][1] else ()
    if isinstance(ranges, tuple) and _are_merged(ranges):
        return ranges
    for first, last in sorted(ranges):
        if first > last:
            continue
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return tuple(made)


def _are_merged(ranges: tuple[Range, ...]) -> bool:
    """Whether they are sorted, disjoint and not adjacent, as nearly all are."""
    before = FIRST - 2
    for first, last in ranges:
        if first <= before + 1 or first > last:
            return False
        before = last
    return True


def contains(cells: Cells, cell: int | str | None) -> bool:
    """Whether a single cell is among these; None is NULL."""
    if cell is None:
        return cells.null
    if isinstance(cells, NameCells):
        return (cell in cells.values) is not cells.rest
    if isinstance(cell, str):
        raise AxisMismatch
    place = bisect_right(cells.ranges, cell, key=lambda one: one[0]) - 1
    return place >= 0 and cell <= cells.ranges[place][1]


def _open(one: Range, low: int, high: int) -> Range:
    first, last = one
    return (FIRST if first <= low else first, LAST if last >= high else last)


def _met(one: tuple[Range, ...], other: tuple[Range, ...]) -> tuple[Range, ...]:
    if len(one) == len(other) == 1:
        # nearly all sets of cells are one range, and the auditor compares hundreds of thousands
        (low, high), (first, last) = one[0], other[0]
        first, last = max(first, low), min(last, high)
        return ((first, last),) if first <= last else ()
    few, many = (one, other) if len(one) < len(other) else (other, one)
    if _FEWER * len(few) < len(many):
        return tuple(part for first, last in few for part in _cut(many, first, last))
    made: list[Range] = []
    left = right = 0
    while left < len(one) and right < len(other):
        first = max(one[left][0], other[right][0])
        last = min(one[left][1], other[right][1])
        if first <= last:
            made.append((first, last))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(made)


def _cut(ranges: tuple[Range, ...], first: int, last: int) -> tuple[Range, ...]:
    """The part of sorted disjoint ranges between two cells: only those at its ends are looked at."""
    start = bisect_left(ranges, first, key=lambda one: one[1])
    after = bisect_right(ranges, last, key=lambda one: one[0])
    if start >= after:
        return ()
    kept = list(ranges[start:after])
    kept[0] = (max(kept[0][0], first), kept[0][1])
    kept[-1] = (kept[-1][0], min(kept[-1][1], last))
    return tuple(kept)


def range_gaps(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The gaps between the ranges, which are sorted and disjoint."""
    made: list[Range] = []
    start = FIRST
    for first, last in ranges:
        if first > start:
            made.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        made.append((start, LAST))
    return tuple(made)


COARSE: Final = 24  # hours of a day, months of two years: many people share each of so few values
BOUNDLESS: Final = float(2**40)  # stands for an unknown width


def axis_width(cells: Cells | None, axis: RegionAxis) -> int | None:
    """The number of declared values; None if unknown. `cells` of None are the whole axis."""
    if cells is None:
        return axis.size
    if is_only_null(cells):
        return 1
    return cell_count(without_null(cells), axis)


def is_fine(axis: RegionAxis) -> bool:
    """True if one cell of the axis may be one person: it has many cells, or names that are not listed."""
    if not axis.readable:
        return False
    if axis.kind is AxisKind.STEPS:
        return axis.size is None or axis.size > COARSE
    return axis.size is None and axis.quasi


def is_only_null(cells: Cells) -> bool:
    """Whether NULL is all there is."""
    if isinstance(cells, StepCells):
        return cells.null and not cells.ranges
    return cells.null and not cells.rest and not cells.values


def without_null(cells: Cells) -> Cells:
    if not cells.null:
        return cells
    return (
        StepCells(cells.ranges)
        if isinstance(cells, StepCells)
        else NameCells(cells.values, rest=cells.rest)
    )


def is_weightless(part: Cells, whole: Cells | None) -> bool:
    """True if the part is NULL alone, and the whole is more than that."""
    return is_only_null(part) and (whole is None or not is_only_null(whole))


def cells_json(cells: Cells) -> Json:
    if isinstance(cells, StepCells):
        ends = [end for one in cells.ranges for end in one]
        return ["steps", ends, cells.null]
    return ["names", sorted(cells.values), cells.rest, cells.null]


def cells_of_json(said: Json) -> Cells:
    kind, held, *flags = read_sequence(said)
    if kind == "steps":
        ends = [read_whole(one) for one in read_sequence(held)]
        return StepCells(tuple(zip(ends[::2], ends[1::2], strict=True)), flags[0] is True)
    if kind != "names":
        raise InvalidJson
    return NameCells(
        frozenset(map(read_string, read_sequence(held))), flags[0] is True, flags[1] is True
    )
