"""Narrow residuals: when a difference of answers is about too few people.

The residual D is what one region has and the other has not. It is narrow

(a) by count: if released counts give the number of people in D - exactly D was counted, or groups make it up, or it is
    the difference of two counted regions - it is narrow when that number is below `min_units`. It is not narrow when
    the number minus twice the deviation of the noise is not below: otherwise an answer whose noise happened to be large
    would open a way to the person in it. Between the two, (b) and (c) decide.
(b) by cells: otherwise, if D is cut out of the minuend along axes with many cells, and has few cells there (`few_cells`).
    Each box counts on that axis on which all together have the fewest: adding `region = 'north'` or `income > 5` to a
    date of birth makes D smaller, not wider.
(c) by share: otherwise, if the count of the minuend, or of the tightest counted region around D, gives fewer than
    `min_units` people for as many of its cells as D has. D is at most half of its minuend, if the minuend's count is
    taken, and at most a twentieth, if another region's is: a larger part was asked about openly. Boxes that are few by (b) on
    axes without a size are left out: nobody may have them, so they do not make the others wider.

If no sizes are known, (a) and (c) do not apply. `min_units: 1` switches both off, `narrow_cells: 0` switches
(b) off.

Repeated queries for groups are judged by sizes if sizes are known: then (b) does not apply along the axes that the
groups divide, because the boundary of a week or a quarter selects no person. It does apply along all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.overlap.few_cells import FewCells, has_few_cells, narrow_cells
from gateway.overlap.history import RegionEntry
from gateway.overlap.known_sizes import KnownSizes, total_of
from gateway.policy.policy import Auditing
from gateway.regions.boxes import Axes, Side, box_share, hull_cells
from gateway.regions.cells import axis_width, without_null

MINOR_PART: Final = 0.25
SLIVER: Final = 0.05


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
        sized = self._sized(residual) if counting else []
        whole = [self._on_sizes(one) for one in residual.minuend]
        mine = box_share(sized, whole, self._axes) if sized else None
        few = self._few(residual, sized)
        small = counting and self._small(residual, sized, mine)
        if counting and (few or small):
            known = self._sizes.grouped(residual.parts) or self._sizes.left(residual.parts)
            if known is not None and known.is_small(least):
                return self._too_small(residual)
        if not few and not small and not self._is_thin(sized, mine):
            return None
        if counting and self._sizes.are_surely_large(residual.parts, least, residual.groups):
            return None
        return self._too_small(residual)

    def _sized(self, residual: Residual) -> list[Side]:
        """The boxes by their axes with sizes alone, without those that are few narrow parts on other axes.

        INVARIANT: people have at least as large a share of each box without its other conditions. What is left out is few,
        so nothing shows that it has people.
        """
        few = FewCells(self._rules, counted=True)
        around = hull_cells(residual.minuend, self._axes)
        kept: list[Side] = []
        left_out: list[Side] = []
        for one in residual.parts:
            narrow = narrow_cells(one, around, self._axes, few, residual.by_size)
            apart = any(self._axes[name].size is None for name in narrow)
            (left_out if apart else kept).append(one)
        if left_out and not has_few_cells(left_out, residual.minuend, self._axes, few):
            return []
        return [self._on_sizes(one) for one in kept]

    def _on_sizes(self, side: Side) -> Side:
        return {
            name: cells
            for name, cells in side.items()
            if self._axes[name].size is not None or not self._axes[name].readable
        }

    def _is_thin(self, sized: list[Side], mine: float | None) -> bool:
        """True if the tightest counted region around a sliver gives too few people for it."""
        if self._rules.min_units <= 1 or mine is None or mine > SLIVER:
            return False
        about = self._sizes.about(sized)
        return about is not None and about < self._rules.min_units

    def is_counted(self, entry: RegionEntry) -> bool:
        """True if the sizes of its groups are known well enough to decide alone: the whole is certainly large."""
        known = total_of(entry)
        return known is not None and known.is_large(self._rules.min_units)

    def _small(self, residual: Residual, sized: list[Side], mine: float | None) -> bool:
        """True if the residual is narrow by its share of a counted region."""
        if mine is None or mine > MINOR_PART or residual.count is None:
            return False
        part = box_share(sized, [self._on_sizes(one) for one in residual.within], self._axes)
        if part is None:
            return False
        least = self._rules.min_units
        if residual.count * part < least:
            return True
        return residual.group is not None and part <= SLIVER and residual.group * part < least

    def _few(self, residual: Residual, sized: list[Side]) -> bool:
        """True if the residual is narrow by cells. Where nobody counted the people, more cells are few."""
        parts, minuend, apart = residual.parts, residual.minuend, residual.by_size
        for counted in (True, False):
            few = FewCells(self._rules, counted=counted)
            if has_few_cells(parts, minuend, self._axes, few, apart):
                return counted or self._sizes.about(sized or parts) is None
            if residual.count is not None:
                return False
        return False

    def _too_small(self, residual: Residual) -> Narrow:
        return Narrow(narrowest_axis(residual.parts, residual.minuend, self._axes))


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
