"""Boxes of a region and their differences, piece by piece.

Residuals are not made into regions: the first pieces show whether a residual is narrow, and pieces have no
limit that could make a comparison fail.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.regions.axis import RegionAxis
from gateway.regions.cells import (
    Cells,
    all_cells,
    axis_width,
    intersection,
    is_empty,
    is_only_null,
    is_weightless,
    minus,
    union,
    without_null,
)
from gateway.regions.region import Region

Side: TypeAlias = Mapping[str, Cells]  # one box; an axis that is not named is unrestricted
Axes: TypeAlias = Mapping[str, RegionAxis]

MOST_PIECES: Final = 256


def sides_of(region: Region) -> list[Side]:
    return [dict(box.parts) for box in region.boxes]


def hull_cells(sides: Sequence[Side], axes: Axes) -> dict[str, Cells]:
    """The smallest box around all boxes. An axis that one of them leaves unrestricted is left out."""
    if len(sides) == 1:
        return dict(sides[0])
    made: dict[str, Cells] = {}
    for name in sorted({name for one in sides for name in one}):
        if all(name in one for one in sides):
            whole = sides[0][name]
            for one in sides[1:]:
                whole = union(whole, one[name])
            if without_null(whole) != without_null(all_cells(axes[name])):
                made[name] = whole
    return made


def meet_boxes(one: Side, other: Side) -> Side | None:
    """The rows of both boxes."""
    made = dict(one)
    for name, cells in other.items():
        made[name] = intersection(made[name], cells) if name in made else cells
        if is_empty(made[name]):
            return None
    return made


@dataclass(frozen=True, slots=True)
class Outside:
    """The boxes of rows outside of others. `faint` are rows with NULL where others have values, which have no weight.

    They are given by the conditions on further axes, without the axis of the NULL: if these select few rows, then the faint
    ones are few, too; if they select many, nothing is known of the faint ones.
    """

    parts: list[Side]
    faint: list[Side]


def subtract_boxes(minuend: Sequence[Side], others: Sequence[Side], axes: Axes) -> Outside | None:
    """The rows of the minuend outside of all others; None if their boxes are very many."""
    made: list[Side] = []
    for one in minuend:
        left: list[Side] = [one]
        for other in others:
            left = [piece for part in left for piece in _split(part, other, axes)]
            if len(left) + len(made) > MOST_PIECES:
                return None
        made += left
    around = hull_cells(minuend, axes)
    weighed = [(part, _weighed(part, around)) for part in made]
    faint = [rest for part, rest in weighed if len(rest) < len(part)]
    return Outside(
        [part for part, rest in weighed if len(rest) == len(part)],
        [rest for rest in faint if any(rest[name] != around.get(name) for name in rest)],
    )


def _weighed(part: Side, around: Side) -> Side:
    """The box without the axes on which it has no weight."""
    return {
        name: cells for name, cells in part.items() if not is_weightless(cells, around.get(name))
    }


def _split(part: Side, other: Side, axes: Axes) -> list[Side]:
    common = meet_boxes(part, other)
    if common is None:
        return [part]
    made: list[Side] = []
    rest = dict(part)
    for name in sorted(other):
        whole = rest.get(name) or all_cells(axes[name])
        outside = minus(whole, other[name])
        if not is_empty(outside):
            made.append({**rest, name: outside})
        rest[name] = common[name]
    return made


def box_share(parts: Sequence[Side], whole: Sequence[Side], axes: Axes) -> float | None:
    """The share of the parts in the whole, if people were evenly spread; None if unknown."""
    around = hull_cells(whole, axes)
    mine = [_ratio(one, around, axes) for one in parts]
    theirs = [_ratio(one, around, axes) for one in whole]
    total = 0.0
    for ratio in theirs:
        if ratio is None:
            return None
        total += ratio
    found = 0.0
    for ratio in mine:
        if ratio is None:
            return None
        found += ratio
    return found / total if total else None


def _ratio(one: Side, around: Side, axes: Axes) -> float | None:
    made = 1.0
    for name in sorted(one):
        cells, whole = one[name], around.get(name)
        if whole is not None and without_null(cells) == without_null(whole):
            continue
        if not axes[name].readable:
            return None
        part, of = axis_width(cells, axes[name]), axis_width(whole, axes[name])
        if part is None or not of:
            return None
        made *= part / of
    return made


def canonical_boxes(sides: Sequence[Side], axes: Axes) -> frozenset[frozenset[tuple[str, Cells]]]:
    """A canonical form of the boxes for look-ups, which ignores NULL beside other cells."""
    return frozenset(
        frozenset(
            (name, cells if is_only_null(cells) else without_null(cells))
            for name, cells in one.items()
            if without_null(cells) != without_null(all_cells(axes[name]))
        )
        for one in sides
    )
