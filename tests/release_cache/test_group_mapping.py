"""Groups of a question as groups of an entry, compared point by point with what they should be."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from release_cache.cut_points import (
    AXES,
    CELLS,
    Cut,
    any_cut,
    any_region,
    cells_of,
    coarser,
    groups,
    scope,
)
from samples import draws

from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import StepCells, clip_cells
from gateway.regions.region import EVERYTHING, NOTHING, Region, region_along
from gateway.regions.scope import GroupKey, ReleaseScope
from gateway.release_cache.group_mapping import GroupMapping, map_groups, may_have

_SEEDS = range(draws(40))
_EACH = 60


def _cuts(chance: random.Random) -> list[Cut]:
    return [
        any_cut(chance, chance.choice("aabc")) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))
    ]


def _check(found: GroupMapping, there: list[set[int]], wanted: list[set[int]]) -> None:
    made: list[list[int]] = [[] for _ in wanted]
    for taken, into in zip(found.taken.tolist(), found.into.tolist(), strict=True):
        made[into] += sorted(there[taken])
    assert list(map(sorted, made)) == list(map(sorted, wanted))
    many = np.bincount(found.into, minlength=len(wanted))
    assert (found.groups, found.together, found.least) == (len(wanted), many.max(), many.min())


@pytest.mark.parametrize("seed", _SEEDS)
def test_places_are_exact_whenever_there_are_any(seed: int) -> None:
    """Whatever two questions are, every group that is found is the disjoint union of the groups that are named for it."""
    chance = random.Random(seed)  # noqa: S311 - groups of a test
    for _ in range(_EACH):
        region, cuts = any_region(chance), _cuts(chance)
        own = region.meet(any_region(chance)) if chance.random() < 0.7 else any_region(chance)
        kept = [one for one in cuts if chance.random() < 0.6]
        mine = [
            coarser(chance, one) if chance.random() < 0.4 and not one.opaque else one
            for one in kept
        ]
        mine += _cuts(chance)[:1] if chance.random() < 0.3 else []
        found = map_groups(scope(region, cuts), scope(own, mine))
        if found is not None:
            _check(found, groups(region, cuts), groups(own, mine))


@pytest.mark.parametrize("seed", _SEEDS)
def test_places_are_found_when_a_question_has_some_groups_of_a_entry(seed: int) -> None:
    """A question whose region is that of the entry, cut to some values of its keys, and whose keys are the entry's, coarser
    ones, or none, always finds its groups.
    """
    chance = random.Random(seed)  # noqa: S311 - groups of a test
    tried = 0
    while tried < _EACH:
        region = any_region(chance)
        cuts = [
            _complete(any_cut(chance, axis)) for axis in chance.sample("abc", chance.randint(1, 3))
        ]
        own = region
        for one in cuts:
            if chance.random() < 0.5:
                own = own.meet(_some_values(chance, one))
        if own.is_nothing:
            continue
        mine = [
            one if chance.random() < 0.5 else coarser(chance, one)
            for one in cuts
            if chance.random() < 0.7
        ]
        chance.shuffle(mine)
        there, wanted = scope(region, cuts), scope(own, mine)
        found = map_groups(there, wanted)
        assert found is not None
        assert may_have(there, wanted)
        _check(found, groups(region, cuts), groups(own, mine))
        tried += 1


def test_places_are_found_when_several_boxes_are_asked_for() -> None:
    """The north of one half and the south of the other are groups of an entry by both."""
    by_a, by_b = _by_width(6), _by_name()
    low, high = _line("a", range(6)), _line("a", range(6, 12))
    own = low.meet(_line("b", "x")).join(high.meet(_line("b", "yz")))
    found = map_groups(scope(EVERYTHING, [by_a, by_b]), scope(own, []))
    assert found is not None
    _check(found, groups(EVERYTHING, [by_a, by_b]), groups(own, []))
    assert found.together == 3


def test_places_are_found_when_two_keys_cut_one_axis() -> None:
    """Halves and thirds of a line cut it into pieces where both meet; combinations that never meet are left out."""
    cuts = [_by_width(6), _by_width(4)]
    found = map_groups(scope(EVERYTHING, cuts), scope(_line("a", range(4)), []))
    assert found is not None
    assert found.together == 1
    half = map_groups(scope(EVERYTHING, cuts), scope(_line("a", range(6)), []))
    assert half is not None
    _check(half, groups(EVERYTHING, cuts), groups(_line("a", range(6)), []))
    assert half.together == 2


@pytest.mark.parametrize(
    "own",
    [
        pytest.param("a 0 4", id="cut within a group"),
        pytest.param("c p", id="cut along an axis without a key"),
        pytest.param("outside", id="beyond the entry"),
        pytest.param("nothing", id="nothing"),
    ],
)
def test_places_are_not_found_when_groups_are_cut(own: str) -> None:
    """Part of a group is not told by the group."""
    region = {
        "a 0 4": _line("a", range(5)),
        "c p": _line("c", "p"),
        "outside": EVERYTHING,
        "nothing": NOTHING,
    }[own]
    there = scope(_line("b", "xy") if own == "outside" else EVERYTHING, [_by_width(3)])
    assert map_groups(there, scope(region, [])) is None


def test_values_that_are_not_listed_are_not_added_up() -> None:
    """A entry that leaves out a value has no total; a question that leaves it out as well has its groups."""
    gives = {cell: None if cell == 5 else 0 for cell in CELLS["a"]}
    short = Cut("a", gives)
    there = scope(EVERYTHING, [short])
    assert map_groups(there, scope(EVERYTHING, [])) is None
    assert map_groups(there, scope(EVERYTHING, [short])) is not None


def test_a_key_that_nobody_reads_is_shared_or_is_in_the_way() -> None:
    """Where the values of a key lie nobody knows: its groups are taken value by value, and never added up."""
    opaque = Cut("a", {cell: int(cell == 3) for cell in CELLS["a"]}, opaque=True)
    there = scope(EVERYTHING, [opaque, _by_name()])
    found = map_groups(there, scope(_line("b", "x"), [opaque]))
    assert found is not None
    _check(found, groups(EVERYTHING, [opaque, _by_name()]), groups(_line("b", "x"), [opaque]))
    assert map_groups(there, scope(EVERYTHING, [_by_name()])) is None


def test_mapping_ten_thousand_groups_keeps_their_order() -> None:
    """A line of 100 values by another of 100: rows of the second half, by the first key."""
    first, second = _numbers("a", 100), _numbers("d", 100)
    there = ReleaseScope("t", frozenset(), EVERYTHING, (first, second), ())
    axis = second.axis
    assert axis is not None
    own = region_along(axis, StepCells(((50, 99),)))
    found = map_groups(there, ReleaseScope("t", frozenset(), own, (first,), ()))
    assert found is not None
    assert (found.groups, found.together, found.least) == (100, 50, 50)
    assert found.into.tolist() == [row for row in range(100) for _ in range(50)]
    assert found.taken.tolist() == [100 * row + at for row in range(100) for at in range(50, 100)]


def _by_width(width: int) -> Cut:
    return Cut("a", {one: one // width if isinstance(one, int) else 99 for one in CELLS["a"]})


def _by_name() -> Cut:
    return Cut("b", {one: at for at, one in enumerate(CELLS["b"])})


def _line(axis: str, cells: Sequence[int | str | None]) -> Region:
    return region_along(AXES[axis], cells_of(axis, list(cells)))


def _complete(cut: Cut) -> Cut:
    return Cut(cut.axis, {one: 7 if at is None else at for one, at in cut.gives.items()})


def _some_values(chance: random.Random, cut: Cut) -> Region:
    values = chance.sample(cut.values, chance.randint(1, len(cut.values)))
    return _line(cut.axis, [one for one, at in cut.gives.items() if at in values])


def _numbers(name: str, many: int) -> GroupKey:
    last = many - 1
    axis = RegionAxis(
        name, AxisKind.STEPS, 0, last, many, nullable=False, readable=True, quasi=False, column=None
    )
    cells = tuple(clip_cells(StepCells(((at, at),)), axis) for at in range(many))
    return GroupKey(name, axis, tuple(range(many)), cells)
