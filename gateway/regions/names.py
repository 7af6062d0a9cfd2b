"""Names of computed values and regions: readable texts, with a digest where they would be long."""

from typing import Final

from gateway.digest import digest
from gateway.regions.axis import FIRST, LAST, RegionAxis
from gateway.regions.cells import Cells, NameCells
from gateway.regions.region import Region

_MOST: Final = 240
_KEPT: Final = 200


def shorten(text: str) -> str:
    """The text, or its beginning with a digest of the whole if it is long."""
    return text if len(text) <= _MOST else f"{text[:_KEPT]}… #{digest(text)[:32]}"


def region_text(region: Region) -> str:
    """The region as text: regions over equal axes have equal texts exactly if they are equal."""
    if region.is_nothing:
        return "nothing"
    if region.is_everything:
        return "everything"
    boxes = []
    for box in region.boxes:
        parts = [_part(region.axis(name), cells) for name, cells in box.parts]
        boxes.append(" and ".join(parts))
    return " or ".join(boxes)


def _part(axis: RegionAxis, cells: Cells) -> str:
    return f"{axis.name} in {cells_text(cells)}"


def cells_text(cells: Cells) -> str:
    if isinstance(cells, NameCells):
        named = ", ".join(repr(one) for one in sorted(cells.values))
        kept = f"all but ({named})" if cells.rest else f"({named})"
        return f"{kept} or null" if cells.null else kept
    null = ["null"] if cells.null else []
    return "[" + ", ".join([*map(_range, cells.ranges), *null]) + "]"


def _range(ends: tuple[int, int]) -> str:
    first, last = ends
    if first == last:
        return str(first)
    low = "" if first == FIRST else str(first)
    high = "" if last == LAST else str(last)
    return f"{low}..{high}"
