"""Narrow residuals: when a difference of answers is about too few people.

The residual D is what one region has and the other has not. It is narrow

(a) by count: if released counts give the number of people in D - exactly D was counted, or groups make it up, or it is
    the difference of two counted regions - it is narrow when that number is below `min_units`. It is not narrow when
    the number minus twice the deviation of the noise is not below: otherwise an answer whose noise happened to be large
    would open a way to the person in it. Between the two, (b) and (c) decide.
(b) by cells: otherwise, if D is cut out of the minuend along axes with many cells, and has at most `narrow_cells` there.
    Each box counts on that axis on which all together have the fewest: adding `region = 'north'` or `income > 5` to a
    date of birth makes D smaller, not wider.
(c) by share: otherwise, if the count of the minuend, or of the tightest counted region around D, gives fewer than
    `min_units` people for as many of its cells as D has. D is at most half of its minuend, if the minuend's count is
    taken, and at most a twentieth, if another region's is: a larger part was asked about openly.

If no sizes are known, (a) and (c) do not apply. `min_units: 1` switches both off, `narrow_cells: 0` switches
(b) off.

Repeated queries for groups are judged by sizes if sizes are known: then (b) does not apply along the axes that the
groups divide, because the boundary of a week or a quarter selects no person. It does apply along all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.overlap.history import RegionEntry
from gateway.overlap.known_sizes import KnownSizes, total_of
from gateway.policy.policy import Auditing
from gateway.regions.boxes import Axes, Side, box_share, hull_cells
from gateway.regions.cells import Cells, axis_width, is_fine, union, without_null

MINOR_PART: Final = 0.25
SLIVER: Final = 0.05
_MOST_TRIED: Final = 200


@dataclass(frozen=True, slots=True)
class Residual:
    """The residual of a minuend. `count` is an upper bound of the units in `within`, if known; `group` that of
    one of its groups, if both queries have the same groups, and `groups` how many of these the residual is divided into.
    On the axes in `by_size` cells do not count: these divide groups.
    """

    parts: Sequence[Side]
    minuend: Sequence[Side]
    within: Sequence[Side]
    count: float | None
    group: float | None = None
    by_size: frozenset[str] = frozenset()
    groups: int = 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """The axis along which the residual is too small, if it is one axis."""

    axis: str | None


class Judge:
    """Decides whether residuals between regions of one shape are narrow."""

    def __init__(self, rules: Auditing, sizes: KnownSizes, axes: Axes) -> None:
        self._rules = rules
        self._sizes = sizes
        self._axes = axes

    def narrow(self, residual: Residual) -> Narrow | None:
        least = self._rules.min_units
        counting = least > 1
        known = self._sizes.exactly(residual.parts) if counting else None
        if known is not None and known.is_small(least):
            return self._too_small(residual)
        mine = box_share(residual.parts, residual.minuend, self._axes)
        few = self._few(residual)
        small = counting and self._small(residual, mine)
        if counting and (few or small):
            known = self._sizes.grouped(residual.parts) or self._sizes.left(residual.parts)
            if known is not None and known.is_small(least):
                return self._too_small(residual)
        if not few and not small and not self._is_thin(residual, mine):
            return None
        if counting and self._sizes.are_surely_large(residual.parts, least * residual.groups):
            return None
        return self._too_small(residual)

    def _is_thin(self, residual: Residual, mine: float | None) -> bool:
        """True if the tightest counted region around a sliver gives too few people for it."""
        if self._rules.min_units <= 1 or mine is None or mine > SLIVER:
            return False
        about = self._sizes.about(residual.parts)
        return about is not None and about < self._rules.min_units

    def is_counted(self, entry: RegionEntry) -> bool:
        """True if the sizes of its groups are known well enough to decide alone: the whole is certainly large."""
        known = total_of(entry)
        return known is not None and known.is_large(self._rules.min_units)

    def _small(self, residual: Residual, mine: float | None) -> bool:
        """True if the residual is narrow by its share of a counted region."""
        if mine is None or mine > MINOR_PART or residual.count is None:
            return False
        part = box_share(residual.parts, residual.within, self._axes)
        if part is None:
            return False
        least = self._rules.min_units
        if residual.count * part < least:
            return True
        return residual.group is not None and part <= SLIVER and residual.group * part < least

    def _few(self, residual: Residual) -> bool:
        most, apart = self._rules.narrow_cells, residual.by_size
        return has_few_cells(residual.parts, residual.minuend, self._axes, most, apart)

    def _too_small(self, residual: Residual) -> Narrow:
        return Narrow(narrowest_axis(residual.parts, residual.minuend, self._axes))


def has_few_cells(
    parts: Sequence[Side],
    minuend: Sequence[Side],
    axes: Axes,
    most: int,
    apart: frozenset[str] = frozenset(),
) -> bool:
    """True if the parts are cut out along fine axes other than `apart`, and have at most so many cells there.

    INVARIANT: a part of a narrow box is narrow. Conditions on further columns make a box smaller or divide it; they never make
    it wider. So the boxes are counted on those axes that together give the fewest cells: each box on one of its own, and a
    cell of several boxes once. `income = 52311` beside an OR over years and regions is two boxes with one income.
    """
    if not most:
        return False
    around = hull_cells(minuend, axes)
    boxes: list[dict[str, Cells]] = []
    for one in parts:
        narrow = _narrow_cells(one, around, axes, apart, most)
        if not narrow:
            return False
        if narrow not in boxes:
            boxes.append(narrow)
    return _Counting(boxes, axes, most).is_possible({}, 0)


class _Counting:
    """Looks for axes of boxes on which all of them have at most so many cells."""

    def __init__(self, boxes: Sequence[dict[str, Cells]], axes: Axes, most: int) -> None:
        self._boxes = boxes
        self._axes = axes
        self._most = most
        self._tried = 0

    def is_possible(self, counted: dict[str, Cells], first: int) -> bool:
        """True if the boxes from `first` on fit beside the cells that are counted.

        A box that adds no cell is counted at once, every other adds one: with `narrow_cells: 1` there is one choice to
        make. A large `narrow_cells` may leave more than can be looked at: then nothing shows that the boxes are wide.
        """
        taken = self._width(counted)
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
    ) -> list[tuple[int, str, Cells]]:
        """The axes on which the box still fits: how many cells are counted then, and which there; the fewest first."""
        found: list[tuple[int, str, Cells]] = []
        for name, cells in box.items():
            together = union(counted[name], cells) if name in counted else cells
            wide = self._width({**counted, name: together})
            if wide <= self._most:
                found.append((wide, name, together))
        return sorted(found, key=lambda way: way[:2])

    def _width(self, counted: dict[str, Cells]) -> int:
        widths = [axis_width(cells, self._axes[name]) for name, cells in counted.items()]
        return sum(self._most + 1 if wide is None else wide for wide in widths)


def _narrow_cells(
    part: Side, around: Side, axes: Axes, apart: frozenset[str], most: int
) -> dict[str, Cells]:
    """The cells of the box on those fine axes on which it is smaller than `around` and has at most so many."""
    found: dict[str, Cells] = {}
    for name, cells in part.items():
        if name in apart or not is_fine(axes[name]):
            continue
        whole = around.get(name)
        if whole is not None and without_null(whole) == without_null(cells):
            continue
        wide = axis_width(cells, axes[name])
        if wide is not None and wide <= most:
            found[name] = cells
    return found


def narrowest_axis(parts: Sequence[Side], minuend: Sequence[Side], axes: Axes) -> str | None:
    """The axis along which the parts have the fewest of the minuend's cells."""
    around = hull_cells(minuend, axes)
    found: list[tuple[float, str]] = []
    for part in parts:
        for name, cells in part.items():
            whole = around.get(name)
            if whole is not None and without_null(whole) == without_null(cells):
                continue
            part_of, of = axis_width(cells, axes[name]), axis_width(whole, axes[name])
            if part_of is not None:
                found.append((0.0 if not of else part_of / of, name))
    return min(found)[1] if found else None
