"""Few cells: residuals that are so few values of columns with many values that nobody can know how many people have them.

A value that few people have is a *narrow part*. An analyst who wants one person's value left out can leave out another value
as well that nobody has. So several narrow parts together are as narrow as one of them, up to `min_units` - 1: people of that
many values may still be fewer than `min_units`.

On an axis without a size nothing shows that further values have anybody, so there is no such limit: a list of identifiers may
be one person, however long it is.

INVARIANT: what is few never depends on counts of people, except that `counted` leaves the choice between (3) and the rule by
share to the caller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from gateway.policy.policy import Auditing
from gateway.regions.axis import LAST, RegionAxis
from gateway.regions.boxes import Axes, Side, hull_cells
from gateway.regions.cells import (
    Cells,
    StepCells,
    axis_width,
    cell_count,
    is_fine,
    union,
    without_null,
)

_ALL: Final = 4 * LAST
_MOST_TRIED: Final = 200
_UNKNOWN_PEOPLE: Final = 100_000
"""So many people share an axis whose people nobody counted: more than most tables have, so that ordinary windows stay wide."""


@dataclass(frozen=True, slots=True)
class FewCells:
    """How many narrow parts cells of a fine axis are. `counted`: a released count shows how many people share the axis.

    1. At most `narrow_cells` values are as many narrow parts.
    2. On an axis without a size, such as identifiers, unlisted names and numbers without a domain, listed values are together
       one, and so is a run of fewer than `min_units` neighbours, whatever is beside it.
    3. On an axis with a size that nobody counted, values that fewer than `min_units` of 100,000 evenly spread people
       would have are together one.
    4. Otherwise each run of neighbours has to be (1) by itself: a window of a week is no narrow part, two single days are
       two. So are differences of times, whose windows are as wide as those of the times.
    """

    rules: Auditing
    counted: bool = False

    @property
    def most(self) -> int:
        """How many narrow parts are few together; 0 if the policy switches the rule off."""
        least = self.rules.narrow_cells
        return max(least, self.rules.min_units - 1) if least else 0

    def on(self, axis: RegionAxis) -> int:
        """An upper bound of the values of the axis that can be few."""
        if axis.size is not None:
            return max(self.most, self._unseen(axis.size))
        return _ALL if self._is_of_lists(axis) else self.most

    def has_lists(self, axis: RegionAxis) -> bool:
        """Whether listed values of the axis can be few whatever is beside them, also along other axes."""
        return self.on(axis) == _ALL

    def parts(self, cells: Cells, axis: RegionAxis) -> float:
        """The number of narrow parts that these cells are; infinite if they are none."""
        wide = axis_width(cells, axis)
        least = self.rules.narrow_cells
        if wide is not None and wide <= least:
            return wide
        if self._is_of_lists(axis):
            return max(least, 1) if _has_short_run(cells, axis, self.most) else inf
        if wide is None:
            return inf
        if not self.counted and axis.size is not None and wide <= self._unseen(axis.size):
            return max(least, 1)
        return wide if wide <= self.most and _has_only_short_runs(cells, axis, least) else inf

    def _is_of_lists(self, axis: RegionAxis) -> bool:
        """Whether (2) applies."""
        return (
            axis.size is None
            and axis.between is None
            and self.rules.min_units > 1
            and self.most > 0
        )

    def _unseen(self, size: int) -> int:
        """The most values of so many that fewer than `min_units` people have; none if the policy switches the rule off."""
        least = self.rules.min_units
        return (least * size - 1) // _UNKNOWN_PEOPLE if least > 1 and self.most else 0


def _has_short_run(cells: Cells, axis: RegionAxis, most: int) -> bool:
    """Whether there are listed names, or a run of at most so many neighbours."""
    if not isinstance(cells, StepCells):
        return not cells.rest
    widths = (cell_count(StepCells((one,)), axis) for one in cells.ranges)
    return any(wide is not None and wide <= most for wide in widths)


def _has_only_short_runs(cells: Cells, axis: RegionAxis, least: int) -> bool:
    """Whether no run of neighbours has more than so many values."""
    if not isinstance(cells, StepCells):
        return False
    widths = (cell_count(StepCells((one,)), axis) for one in cells.ranges)
    return all(wide is not None and wide <= least for wide in widths)


def has_few_cells(
    parts: Sequence[Side],
    minuend: Sequence[Side],
    axes: Axes,
    few: FewCells,
    apart: frozenset[str] = frozenset(),
) -> bool:
    """True if the parts are cut out along fine axes other than `apart`, and are few narrow parts there.

    INVARIANT: a part of a narrow box is narrow. Conditions on further columns make a box smaller or divide it; they never make
    it wider. So the boxes are counted on those axes that together give the fewest narrow parts: each box on one of its own,
    and a cell of several boxes once. `income = 52311` beside an OR over years and regions is two boxes with one income.
    """
    if not few.most:
        return False
    around = hull_cells(minuend, axes)
    boxes: list[dict[str, Cells]] = []
    for one in parts:
        narrow = narrow_cells(one, around, axes, few, apart)
        if not narrow:
            return False
        if narrow not in boxes:
            boxes.append(narrow)
    return _Counting(boxes, axes, few).is_possible({}, 0)


class _Counting:
    """Looks for axes of boxes on which all of them are few narrow parts."""

    def __init__(self, boxes: Sequence[dict[str, Cells]], axes: Axes, few: FewCells) -> None:
        self._boxes = boxes
        self._axes = axes
        self._few = few
        self._tried = 0

    def is_possible(self, counted: dict[str, Cells], first: int) -> bool:
        """True if the boxes from `first` on fit beside the cells that are counted.

        A box that adds no part is counted at once, every other adds one: with `narrow_cells: 1` there is one choice to
        make. A large limit may leave more than can be looked at: then nothing shows that the boxes are wide.
        """
        taken = self._number(counted)
        for at in range(first, len(self._boxes)):
            ways = self._ways(counted, self._boxes[at])
            if len(ways) == 1 or (ways and ways[0][0] == taken):
                taken, name, together = ways[0]
                counted = {**counted, name: together}
                continue
            for _, name, together in ways:
                self._tried += 1
                beside = {**counted, name: together}
                if self._tried > _MOST_TRIED or self.is_possible(beside, at + 1):
                    return True
            return False
        return True

    def _ways(
        self, counted: dict[str, Cells], box: dict[str, Cells]
    ) -> list[tuple[float, str, Cells]]:
        """The axes on which the box still fits: how many parts are counted then, and which there; the fewest first."""
        found: list[tuple[float, str, Cells]] = []
        for name, cells in box.items():
            together = union(counted[name], cells) if name in counted else cells
            number = self._number({**counted, name: together})
            if number <= self._few.most:
                found.append((number, name, together))
        return sorted(found, key=lambda way: way[:2])

    def _number(self, counted: dict[str, Cells]) -> float:
        return sum(self._few.parts(cells, self._axes[name]) for name, cells in counted.items())


def narrow_cells(
    part: Side,
    around: Side,
    axes: Axes,
    few: FewCells,
    apart: frozenset[str] = frozenset(),
) -> dict[str, Cells]:
    """The cells of the box on those fine axes on which it is smaller than `around` and has few narrow parts."""
    found: dict[str, Cells] = {}
    for name, cells in part.items():
        if name in apart or not is_fine(axes[name]):
            continue
        whole = around.get(name)
        if whole is not None and without_null(whole) == without_null(cells):
            continue
        if few.parts(cells, axes[name]) <= few.most:
            found[name] = cells
    return found
