"""Tracker attack: do all answers together, the new one included, isolate people although no pair does?

The answers are sums over the atoms of their regions, each with a known variance. A linear combination of
answers estimates one atom with, at best, the variance of weighted least squares. The limit is `min_units`²
people, or 16 times the variance of the new query, whichever is more. An atom that can be estimated that well
now, could not before, and is narrow, is isolated.

An atom that equals the new region is no difference, and is not tested; nor are rows that are groups of the new table.

Every further query divides atoms, and an estimate of two halves together is an estimate of neither half. So
slabs are tested too: all atoms within a class of cells that is narrow along one axis. An estimate of a slab and
of nothing else reveals the few people in it. So does an estimate of the difference of two slabs if nobody is in one of them:
sets of narrow parts that are few together are tested as one (`narrow_sets`).

INVARIANT: the numbers of regions, their ranges and atoms are limited; above the limit fewer regions are taken, the nearest
ones; below the smallest number the pairs alone decide, and they have decided before.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.atoms import Atoms, atoms_of
from gateway.overlap.axis_index import PartCounts
from gateway.overlap.differencing import Clash, limit_of, nearest_groups
from gateway.overlap.estimates import best_variances, usable_answers
from gateway.overlap.history import EntryPosition, RegionEntry, as_float
from gateway.overlap.joint_keys import taken_jointly
from gateway.overlap.known_sizes import common_groups, groups_in, largest_size
from gateway.overlap.narrow import Judge, Residual
from gateway.overlap.narrow_sets import SetSearch
from gateway.overlap.question_part import QuestionPart, RegionAnswer, shows_openly
from gateway.overlap.slabs import narrow_atoms, narrow_slabs
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.boxes import Side, hull_cells
from gateway.regions.cells import StepCells

MOST_REGIONS: Final = 48
_FEWEST: Final = 6
_MOST_OF_A_SLAB: Final = 4
_SEVERAL: Final = 2
MOST_RANGES: Final = 100_000
"""Of all compared regions: hours of days over years are thousands in each. A part that several have counts once."""

Numbers: TypeAlias = NDArray[np.float64]


def find_trackers(
    part: QuestionPart, places: Sequence[EntryPosition], judge: Judge, rules: Auditing
) -> list[Clash]:
    """The releases that isolate people together with the new part; empty if none do."""
    if rules.min_units <= 1 and not rules.narrow_cells:
        return []
    answers = _released_answers(part, places, rules)
    most = MOST_REGIONS
    while most >= _FEWEST and len(answers) > 1:
        chosen = answers[:most]
        regions = [list(part.sides), *(list(one.sides) for one in chosen)]
        atoms = atoms_of(regions, part.axes) if count_ranges(regions) <= MOST_RANGES else None
        if atoms is not None:
            return _singled_out(part, chosen, atoms, judge, rules)
        most //= 2
    return []


def count_ranges(regions: Sequence[Sequence[Side]]) -> int:
    """The number of ranges in the distinct parts of all axes."""
    parts = {item for region in regions for side in region for item in side.items()}
    return sum(len(cells.ranges) for _, cells in parts if isinstance(cells, StepCells))


def _singled_out(
    part: QuestionPart, answers: Sequence[RegionAnswer], atoms: Atoms, judge: Judge, rules: Auditing
) -> list[Clash]:
    limit = limit_of(part, rules)
    variances = np.array([as_float(part.spread), *(one.variance for one in answers)])
    few, slabs = (
        narrow_atoms(part, answers, atoms, rules),
        narrow_slabs(part, answers, atoms, rules),
    )
    several = [[one] for one in _alone(atoms, variances, limit, few)]
    several += [
        one for one in slabs if len(one) > 1 and _shown(one, atoms.members, variances, limit)
    ]
    for one in several:
        clash = _narrow(one, part, answers, atoms, judge)
        if clash is not None:
            return clash
    together = _with_the_rest(slabs, few)
    if len(together) < _SEVERAL:
        return []
    search = SetSearch(atoms.members, variances, together)
    for found in search.sets(lambda each: _narrow(each, part, answers, atoms, judge) is not None):
        if _shown(found.free, atoms.members, variances, limit):
            clash = _narrow(found.atoms, part, answers, atoms, judge)
            if clash is not None:
                return clash
    return []


def _with_the_rest(slabs: Sequence[list[int]], few: NDArray[np.bool_]) -> list[list[int]]:
    """The slabs, and each narrow atom that is in none of them."""
    rest = few.copy()
    for one in slabs:
        rest[one] = False
    return [*slabs, *([one] for one in np.flatnonzero(rest).tolist())]


def _alone(atoms: Atoms, variances: Numbers, limit: float, few: NDArray[np.bool_]) -> list[int]:
    """Narrow atoms that can be estimated now and could not before."""
    if not few.any():
        return []
    rows = usable_answers(atoms.members, few)
    if not len(rows) or rows[0] != 0:
        return []
    members, left = atoms.members[rows], variances[rows]
    seen = few & (best_variances(members, left) < limit)
    if atoms.members[0].sum() == 1:
        seen &= ~atoms.members[0]  # the query itself
    if not seen.any():
        return []
    before = best_variances(members[1:], left[1:])
    found: list[int] = np.flatnonzero(seen & (before >= limit)).tolist()
    return found


def _shown(slab: list[int], members: NDArray[np.bool_], variances: Numbers, limit: float) -> bool:
    """True if a value of the slab, and of nothing else, can be estimated now and could not before.

    Each atom is tested as if the other atoms of the slab did not count.
    """
    free = np.zeros(members.shape[1], dtype=np.bool_)
    free[slab] = True
    rows = usable_answers(members, free)
    if not len(rows) or rows[0] != 0 or not members[0, ~free].any():
        return False  # the query itself is about nothing else
    outside = np.flatnonzero(~free)
    for atom in slab[:_MOST_OF_A_SLAB]:
        kept, left = members[rows][:, [*outside.tolist(), atom]], variances[rows]
        if best_variances(kept, left)[-1] < limit:
            return bool(best_variances(kept[1:], left[1:])[-1] >= limit)
    return False


def _narrow(
    several: list[int],
    part: QuestionPart,
    answers: Sequence[RegionAnswer],
    atoms: Atoms,
    judge: Judge,
) -> list[Clash] | None:
    parts = atoms.pieces(several)
    if shows_openly(part, parts):
        return None
    having: list[int] = np.flatnonzero(atoms.members[:, several].any(axis=1)).tolist()
    whole = [row for row in having if atoms.members[row, several].all()] or having
    tightest = min(whole, key=lambda row: (int(atoms.members[row].sum()), row))
    with_it = [answers[row - 1] for row in having if row]
    divided = (common_groups(one.entry, part.texts, parts, part.axes) for one in with_it)
    groups = min(divided, default=1)  # a release without these keys shows their sum alone
    if tightest == 0:
        residual = Residual(parts, part.sides, part.sides, None, groups=groups)
    else:
        one = answers[tightest - 1]
        residual = Residual(parts, one.sides, one.sides, one.count, groups=groups)
    narrow = judge.narrow(residual)
    if narrow is None:
        return None
    return [Clash(one.entry, narrow.axis) for one in with_it or answers]


def _released_answers(
    part: QuestionPart, places: Sequence[EntryPosition], rules: Auditing
) -> list[RegionAnswer]:
    """The answers that lie nearest to the new region, the nearest first.

    Answers that do not intersect it are included: a third answer around two others shows the gap between them.
    Answers whose own noise hides a person come after all others.
    """
    limit = limit_of(part, rules)
    found: list[tuple[bool, float, int, int, RegionAnswer]] = []
    for number, near in enumerate(places):
        index = near.index
        far = np.zeros(len(index.entries))
        for name, one in near.plain.items():
            far += _distances(one)[index.places(name)]
        hidden = index.spreads >= limit
        behind = far + np.where(hidden, far.max(initial=0.0) + 1.0, 0.0)
        rows = np.arange(len(far))
        if len(far) > MOST_REGIONS:
            rows = np.flatnonzero(
                behind <= np.partition(behind, MOST_REGIONS - 1)[MOST_REGIONS - 1]
            )
        for row in rows[np.lexsort((-rows, behind[rows]))[:MOST_REGIONS]].tolist():
            entry = index.entries[row]
            if not entry.readable and rules.opaque is UnreadableConditions.ALLOW:
                continue
            if part.differs_by_rows(entry.sides):
                continue
            for sides, groups in _answers(part, entry):
                count = largest_size(entry, hull_cells(sides, part.axes))
                answer = RegionAnswer(sides, entry.variance(groups), count, entry)
                found.append((bool(hidden[row]), float(far[row]), number, -entry.order, answer))
    found.sort(key=lambda one: one[:4])
    return _different([answer for *_, answer in found])


def _distances(one: PartCounts) -> Numbers:
    """The amount along each axis that is in one but not in both; all of it if nothing is in both."""
    apart = one.outside + one.alone
    return np.asarray(apart / np.maximum(apart + one.shared, 1.0))


def _different(answers: list[RegionAnswer]) -> list[RegionAnswer]:
    """Each region once, with its smallest variance."""
    made: dict[tuple[tuple[tuple[str, object], ...], ...], RegionAnswer] = {}
    for one in answers:
        key = tuple(tuple(sorted(side.items(), key=lambda item: item[0])) for side in one.sides)
        known = made.get(key)
        if known is None or one.variance < known.variance:
            made[key] = one
    return list(made.values())


def _answers(part: QuestionPart, entry: RegionEntry) -> list[tuple[tuple[Side, ...], int]]:
    """The answers of a release that are near: the whole, and the sum of the nearest groups.

    Each comes with the number of answers that add up to it; if both queries have the same groups, that is one
    in each.
    """
    sides = nearest = entry.sides
    others = [one for one in entry.groupings if one is not None and one.text not in part.texts]
    for grouping in taken_jointly(others, entry.joint):
        nearest = nearest_groups(nearest, list(part.sides), grouping, part)
    alike = not others
    made = [(tuple(sides), 1 if alike else groups_in(entry, {}))]
    if nearest and nearest != sides:
        made.append((tuple(nearest), groups_in(entry, hull_cells(nearest, part.axes), meets=True)))
    return made
