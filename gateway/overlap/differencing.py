"""Differencing attack: the difference between a new answer and one earlier answer.

If an earlier release has groups, every sum of its groups is an earlier answer. The nearest sum is compared:
that of the groups that lie more inside of the new region than outside. If both have the same key, group is
compared with group; a group that only one of them has is an answer of its own, no difference. If the new query
has keys that the earlier one has not, sums of its groups are compared as well.

Both residuals decide together: an answer minus another is what the first has more, minus what the second has
more. If only one residual is narrow, the difference is about the wide one. So the pair is refused when there is
a residual, and every residual is narrow.

A difference that noise hides is no difference: if the two answers together are less exact than `limit_of`,
which is also the limit of `trackers`, the pair reveals nothing about few people. Otherwise a query at almost no
price would block every later query near it, for the whole group and for ever.

INVARIANT: the number of closely compared pairs is limited, and the nearest are compared first. The others
differ by more than those, or not at all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.few_cells import FewCells
from gateway.overlap.group_cuts import KeyGrouping, missed_sums
from gateway.overlap.history import EntryPosition, RegionEntry, Rows, as_float
from gateway.overlap.joint_keys import taken_jointly
from gateway.overlap.known_sizes import common_groups, largest_size
from gateway.overlap.narrow import MINOR_PART, SLIVER, Judge, Narrow, Residual
from gateway.overlap.question_part import QuestionPart, cut_sides, shows_openly
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.axis import RegionAxis
from gateway.regions.boxes import Side, hull_cells, meet_boxes, subtract_boxes
from gateway.regions.cells import all_cells, is_empty, is_fine

MOST_CLOSE: Final = 64
_MOST_MISFITS: Final = 4
_CLOSER: Final = 16
"""So many times the variance of one answer still tells of one person, in many answers."""
_FARTHER: Final = 100
"""A difference with more than so many times `min_units`² shows nobody, however inexact the new answer is."""
_SPARSE: Final = 4  # how much smaller than the average of their release groups may be


@dataclass(frozen=True, slots=True)
class Clash:
    """An earlier release from which the new answer would differ by too few people."""

    entry: RegionEntry
    axis: str | None


def find_clashes(
    part: QuestionPart, near: EntryPosition, judge: Judge, rules: Auditing
) -> Iterator[Clash]:
    """The earlier releases that clash with the new part, the nearest first."""
    if rules.min_units <= 1 and not rules.narrow_cells:
        return
    for row in _close(part, near, rules):
        entry = near.index.entries[row]
        if rules.opaque is UnreadableConditions.ALLOW and not entry.readable:
            continue
        found = _pair(part, entry, judge, rules)
        if found is not None:
            yield Clash(entry, found.axis)


def limit_of(part: QuestionPart, rules: Auditing) -> float:
    """The variance above which a difference reveals nobody: `min_units`², or up to 100 times that if the new
    answer is less exact.
    """
    least = float(rules.min_units) ** 2
    return max(least, min(_CLOSER * as_float(part.spread), _FARTHER * least))


def _close(part: QuestionPart, near: EntryPosition, rules: Auditing) -> list[int]:
    """The releases that could differ by little, by lower bounds; a limited number, the nearest first.

    INVARIANT: releases whose noise hides every difference take none of these places.
    """
    index, few = near.index, FewCells(rules)
    clear = as_float(part.spread) + index.spreads < limit_of(part, rules)
    kept, odd, tight = {}, {}, {}
    for name, line in near.lines.items():
        least = few.on(line.axis)
        one, meeting = near.nearest[name], near.plain[name].shared > 0
        little = [
            (by <= least) | (by <= MINOR_PART * (one.shared + by))
            for by in (one.outside, one.alone)
        ]
        kept[name] = meeting & little[0] & little[1]
        # with several boxes, a residual may contain everything that exceeds along an axis with few cells
        odd[name] = meeting & ((little[0] & little[1]) if is_fine(line.axis) else True)
        tight[name] = (
            (one.outside <= least) & (one.alone <= least) if is_fine(line.axis) else meeting
        )
    lists = _among(_unlike_lists(near, few), clear)
    rows = np.union1d(_among(near.where(kept), clear), lists)
    single = len(part.sides) == 1
    chosen = _nearest(rows[index.single[rows]], near, rules, lists) if single else []
    if single and index.single.all():
        return chosen
    others = np.union1d(near.where(odd), near.where(tight))
    others = np.union1d(_among(others, clear), lists)
    if single:
        others = others[~index.single[others]]
    more, far = np.zeros(len(others), dtype=np.bool_), np.zeros(len(others))
    for name, plain in near.plain.items():
        places = index.places(name)[others]
        more |= ~tight[name][places]
        far += (plain.outside[places] + plain.alone[places]) / np.maximum(plain.shared[places], 1.0)
    return [*chosen, *others[np.lexsort((others, far, more))[:MOST_CLOSE]].tolist()]


def _unlike_lists(near: EntryPosition, few: FewCells) -> Rows:
    """The releases that meet the part and list other values on an axis without a size: these can be few, whatever is beside them."""
    meeting = {name: one.shared > 0 for name, one in near.plain.items()}
    found = np.empty(0, dtype=np.intp)
    for name, line in near.lines.items():
        if few.has_lists(line.axis):
            one = near.plain[name]
            unlike = (one.outside > 0) | (one.alone > 0)
            found = np.union1d(found, near.where({**meeting, name: meeting[name] & unlike}))
    return found


def _among(rows: Rows, clear: NDArray[np.bool_]) -> Rows:
    return rows[clear[rows]]


def _nearest(rows: Rows, near: EntryPosition, rules: Auditing, lists: Rows) -> list[int]:
    """The nearest releases of one box, for a region of one box; those of other `lists` are always possible."""
    index, lying = near.index, near.nearest
    out, left = (_Sticking(len(rows), FewCells(rules)) for _ in range(2))
    for name, line in near.lines.items():
        one, places = lying[name], index.places(name)[rows]
        shared = one.shared[places]
        out.add(one.outside[places], shared, line.axis)
        left.add(one.alone[places], shared, line.axis)
    people = index.totals[rows]
    counting = (people >= 0) & (rules.min_units > 1)
    possible = out.possible(people, counting, rules) & left.possible(people, counting, rules)
    possible = (possible | np.isin(rows, lists)) & _unequal(near, rows)
    rows, far = rows[possible], np.maximum(out.most, left.most)[possible]
    nearest: list[int] = rows[np.lexsort((rows, far))[:MOST_CLOSE]].tolist()
    return nearest


def _unequal(near: EntryPosition, rows: Rows) -> NDArray[np.bool_]:
    """False for exactly the same region, as far as groups do not matter."""
    unequal = np.zeros(len(rows), dtype=np.bool_)
    for name, line in near.lines.items():
        one, places = near.plain[name], near.index.places(name)[rows]
        unequal |= (one.outside[places] > 0) | (one.alone[places] > 0) | line.grouped
    return unequal


class _Sticking:
    """The residual of each release on one side, over all axes."""

    def __init__(self, size: int, few: FewCells) -> None:
        self._limit = few
        self._few = np.ones(size, dtype=np.bool_)
        self._none = np.ones(size, dtype=np.bool_)
        self.most = np.zeros(size)

    def add(self, by: NDArray[np.float64], shared: NDArray[np.float64], axis: RegionAxis) -> None:
        self._none &= by == 0
        self._few &= by <= (self._limit.on(axis) if is_fine(axis) else 0)
        self.most = np.maximum(self.most, by / np.maximum(by + shared, 1.0))

    def possible(
        self, people: NDArray[np.float64], counting: NDArray[np.bool_], rules: Auditing
    ) -> NDArray[np.bool_]:
        """True if the residual can be empty or narrow."""
        small = counting & (people * self.most < rules.min_units * _SPARSE)
        sliver = (self.most <= SLIVER) & (rules.min_units > 1)
        return np.asarray(self._none | self._few | small | sliver)


def _pair(part: QuestionPart, entry: RegionEntry, judge: Judge, rules: Auditing) -> Narrow | None:
    if part.differs_by_rows(entry.sides):
        return None
    for new, old, by_size in _compared(part, entry):
        if not any(meet_boxes(one, other) is not None for one in new for other in old):
            continue
        group = _least_group(part, entry, rules)
        told = CountedEntry(entry, group, by_size, part.texts)
        found = _difference(part, new, old, judge, told)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class CountedEntry:
    """A release with known sizes, and the size of the smallest group that both have; `by_size` are axes along which
    sizes alone decide, `texts` those of the new query's keys.
    """

    entry: RegionEntry
    group: float | None
    by_size: frozenset[str]
    texts: frozenset[str]


def _difference(
    part: QuestionPart, new: list[Side], old: list[Side], judge: Judge, told: CountedEntry
) -> Narrow | None:
    """The first narrow residual, if the residuals on both sides are narrow or empty.

    What the new query has more is no difference if these are groups that it shows openly.
    """
    axes = part.axes
    gone, come = subtract_boxes(old, new, axes), subtract_boxes(new, old, axes)
    if gone is None or come is None:
        return None
    if not (gone.parts or gone.faint) and shows_openly(part, come.parts or come.faint):
        return None
    count = largest_size(told.entry, hull_cells(old, axes))
    by_size = told.by_size if judge.is_counted(told.entry) else frozenset()
    found: Narrow | None = None
    for outside, minuend in ((gone, old), (come, new)):
        parts = outside.parts or outside.faint
        if not parts:
            continue
        groups = common_groups(told.entry, told.texts, parts, axes)
        narrow = judge.narrow(Residual(parts, minuend, old, count, told.group, by_size, groups))
        if narrow is None and outside.parts:
            return None
        found = found or narrow
    return found


def _least_group(part: QuestionPart, entry: RegionEntry, rules: Auditing) -> float | None:
    """The largest possible size of the smallest group that both have, among those that are not small anyway."""
    if entry.counts is None or not entry.whole or not entry.keys:
        return None
    if frozenset(one.text for one in entry.keys) != part.texts:
        return None
    large = entry.counts[entry.counts >= rules.min_units]
    return float(large.min()) + 2 * entry.deviation if large.size else None


def _compared(
    part: QuestionPart, entry: RegionEntry
) -> Iterator[tuple[list[Side], list[Side], frozenset[str]]]:
    """The pairs of boxes to compare, new and old; and the axes along which sizes alone decide, if they are known."""
    new, old = list(part.sides), entry.sides
    mine = {one.text: one for one in part.keys}
    theirs = [one for one in entry.groupings if one is not None]
    for grouping in theirs:
        if grouping.text in mine:
            new, old = _common(new, old, mine[grouping.text], grouping, part)
    others = [one for one in theirs if one.text not in mine]
    same = {one.text for one in theirs}
    mere = [one for one in part.keys if one.text not in same]
    cuts = _ways(others, entry.joint)
    for cut in cuts:
        nearest = old
        for grouping in cut:
            nearest = nearest_groups(nearest, new, grouping, part)
        yield new, nearest, frozenset()
    alone = [[one] for one in mere] if len(mere) > 1 else []
    for keys, cut in product([*alone, *(_ways(mere, part.joint) if mere else [])], cuts):
        yield from _by_keys(new, old, keys, cut, part)


def _ways(keys: list[KeyGrouping], joint: Mapping[str, KeyGrouping]) -> list[list[KeyGrouping]]:
    """The keys one by one, and with several on one axis as one."""
    jointly = taken_jointly(keys, joint)
    return [keys] if jointly == keys else [jointly, keys]


def _by_keys(
    new: list[Side],
    old: list[Side],
    keys: Sequence[KeyGrouping],
    others: Sequence[KeyGrouping],
    part: QuestionPart,
) -> Iterator[tuple[list[Side], list[Side], frozenset[str]]]:
    """Sums of the groups of these keys, which the earlier query has not, against sums of its groups."""
    cut = {one.axis.name for one in keys}
    apart = [one for one in others if one.axis.name not in cut]
    target, groups = old, new
    for one in apart:
        target = nearest_groups(target, new, one, part)
    for one in keys:
        groups = nearest_groups(groups, target, one, part)
    if groups != new:
        yield groups, target, _by_size(*keys, *apart)
    for one, other in product(keys, others):
        if other.axis.name == one.axis.name:
            within = new
            for beside in keys:
                if beside is not one:
                    within = nearest_groups(within, target, beside, part)
            yield from _shifted(within, target, one, other, part)


def _shifted(
    new: list[Side], old: list[Side], mine: KeyGrouping, theirs: KeyGrouping, part: QuestionPart
) -> Iterator[tuple[list[Side], list[Side], frozenset[str]]]:
    """Single groups of the one against the nearest groups of the other, where both cut one axis."""
    name = mine.axis.name
    for group in missed_sums(mine, theirs, _MOST_MISFITS):
        one = cut_sides(new, name, group)
        yield one, nearest_groups(old, one, theirs, part), _by_size(mine, theirs)
    for group in missed_sums(theirs, mine, _MOST_MISFITS):
        one = cut_sides(old, name, group)
        yield nearest_groups(new, one, mine, part), one, _by_size(mine, theirs)


def _by_size(*keys: KeyGrouping) -> frozenset[str]:
    """The axes of these keys along which sizes decide: the start of a week isolates no chosen person.

    INVARIANT: along an axis on which the analyst chose a boundary, cells count as they do in a condition.
    """
    chosen = {one.axis.name for one in keys if one.chosen}
    return frozenset(one.axis.name for one in keys) - chosen


def _common(
    new: list[Side], old: list[Side], mine: KeyGrouping, theirs: KeyGrouping, part: QuestionPart
) -> tuple[list[Side], list[Side]]:
    """The groups that both have."""
    name = mine.axis.name
    here, there = hull_cells(new, part.axes), hull_cells(old, part.axes)
    whole = all_cells(mine.axis)
    asked, answered = here.get(name) or whole, there.get(name) or whole
    return (
        cut_sides(new, name, theirs.groups_meeting(answered)),
        cut_sides(old, name, mine.groups_meeting(asked)),
    )


def nearest_groups(
    sides: list[Side], wanted: list[Side], grouping: KeyGrouping, part: QuestionPart
) -> list[Side]:
    """The groups of these boxes that come nearest to the wanted boxes."""
    name = grouping.axis.name
    whole = all_cells(grouping.axis)
    target = hull_cells(wanted, part.axes).get(name) or whole
    if target == whole:
        return sides
    made: list[Side] = []
    for one in sides:
        there = one.get(name) or whole
        kept = grouping.nearest(there, target)
        if is_empty(kept):
            continue
        made.append(dict(one) if kept == there else {**one, name: kept})
    return made
