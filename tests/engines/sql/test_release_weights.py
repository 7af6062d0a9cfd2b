"""Releases in which a unit counts in all of its groups with a weight: exact on both databases, and bounded."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pytest
from engines.sql.test_release import (
    LATTICE,
    NOON,
    Database,
    G,
    R,
    Row,
    _cut,
    analysis,
    database,
    some_rows,
)
from samples import draws

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.sensitivity.analysis import EnumeratedGroups, GroupWeights
from gateway.sensitivity.measurement import Slot

__all__ = ["database"]

SEEDS = draws(12, fewest=6)
LISTED = (1, 2, 3, 4)
LINE, SQUARE = (GroupWeights(G, len(LISTED), squared=squared) for squared in (False, True))
_both = pytest.mark.parametrize("weights", [LINE, SQUARE], ids=["laplace", "gaussian"])


def release(weights: GroupWeights | None) -> BoundedRelease:
    """Rows, rows with a value, units, sums from the middle and both ends; without the count of values."""
    whole = analysis(least=None)
    slots = tuple(one for place, one in enumerate(whole.slots) if place != 3)
    listed = EnumeratedGroups(tuple((key,) for key in LISTED))
    made = replace(whole, slots=slots, groups=listed, weights=weights)
    return bound_release(made, now=NOON, proven={})


def reference(rows: Sequence[Row], weights: GroupWeights) -> dict[int | None, list[int]]:
    """One unit after the other: what it adds to each of its groups, times the weight of their number."""
    units: dict[int, dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, x in rows:
        value = None if x is None else min(max(x, -7), 20)
        if unit is not None and value is not None and value != 19:
            units[unit][key].append(value)
    out: dict[int | None, list[int]] = defaultdict(lambda: [0] * 7)
    for groups in units.values():
        weight = weights.of(min(len(groups), len(LISTED)))
        for key, values in groups.items():
            some = [one for one in values if one > 0]
            added = [
                min(len(values), R),
                min(len(some), R),
                min(len(some), 1),
                _cut(sum(one - LATTICE.middle for one in values), len(values)),
                _cut(sum(one + 7 for one in some), len(some)),
                _cut(sum(20 - one for one in values), len(values)),
                1,
            ]
            out[key] = [mine + weight * more for mine, more in zip(out[key], added, strict=True)]
    return dict(out)


@_both
def test_weighted_release_is_what_the_calculus_says_on_random_tables(
    database: Database, weights: GroupWeights
) -> None:
    """Every integer of every group, also of NULL and of what is not listed, on both databases alike."""
    for seed in range(draws(12, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        assert database.answer(release(weights)) == reference(rows, weights)


@_both
@pytest.mark.parametrize("many", [1, G, G + 1, len(LISTED), len(LISTED) + 3])
def test_unit_weighs_by_the_number_of_its_groups(
    database: Database, weights: GroupWeights, many: int
) -> None:
    """In as many as count it is whole, in one more less; beyond what is listed like in all of that."""
    keys: list[int | None] = [None, *range(1, many)]
    database.holds([(1, key, 5) for key in keys], 1)
    found = database.answer(release(weights))
    assert set(found) == set(keys)
    weight = weights.of(min(many, len(LISTED)))
    assert (weight == weights.whole) is (many <= G)
    assert all(one[0] == one[6] == weight for one in found.values())


@_both
def test_unit_with_many_rows_in_many_groups_counts_as_declared(
    database: Database, weights: GroupWeights
) -> None:
    """Ten thousand rows of one person come to R rows in each group, times its weight."""
    database.holds([(1, place % 4 + 1, 90) for place in range(10_000)], 1)
    found = database.answer(release(weights))
    assert len(found) == len(LISTED)
    wanted = (R * weights.of(4), R * (20 - LATTICE.middle) * weights.of(4))
    assert all((one[0], one[3]) == wanted for one in found.values())


def moved(database: Database, wanted: BoundedRelease, seed: int, *, squared: bool) -> bool:
    """Whether one unit more moves the listed groups by more than is declared."""
    rows, draw = some_rows(seed), random.Random(seed)  # noqa: S311 - a table of a test
    more: list[Row] = [
        (99, draw.choice([None, 1, 2, 3, 4, 5]), draw.choice([None, -90, -7, 5, 90]))
        for _ in range(draw.choice([1, 5, 40]))
    ]
    database.holds(rows, seed)
    before = database.answer(wanted)
    database.holds([*rows, *more], seed + 1)
    after = database.answer(wanted)
    none = [0] * len(wanted.measurements)
    for place, one in enumerate(wanted.measurements):
        most = one.most * LINE.whole
        slot = Slot((replace(one, most=most),), most)
        changes = [
            abs(after.get(key, none)[place] - before.get(key, none)[place]) for key in LISTED
        ]
        if max(changes) > most or sum(change**2 for change in changes) > slot.delta2_squared(G):
            return True
        if not squared and sum(changes) > slot.delta1(G):
            return True
    return False


@_both
def test_one_unit_moves_a_weighted_answer_by_no_more_than_declared(
    database: Database, weights: GroupWeights
) -> None:
    """Per group, in the sum for Laplace's noise, in the sum of squares for both."""
    wanted = release(weights)
    assert not any(moved(database, wanted, seed, squared=weights.squared) for seed in range(SEEDS))


def test_one_unit_moves_a_weighted_answer_too_far_when_weights_are_wrong(
    database: Database,
) -> None:
    """Roots under Laplace's noise, weights of a larger cap, or none at all: the test above notices."""
    roots, larger = release(SQUARE), release(replace(SQUARE, groups=3))
    none = replace(release(LINE), groups_per_unit=None)
    assert any(moved(database, roots, seed, squared=False) for seed in range(SEEDS))
    assert any(moved(database, larger, seed, squared=True) for seed in range(SEEDS))
    assert any(moved(database, none, seed, squared=True) for seed in range(SEEDS))


@_both
def test_release_is_whole_when_no_unit_can_have_too_many_groups(
    database: Database, weights: GroupWeights
) -> None:
    """Where a unit has one row nothing is counted for weights, and the answer is in the same parts."""
    rows: list[Row] = [(unit, unit % 3, unit % 9 - 4) for unit in range(20)]
    database.holds(rows, 1)
    direct = replace(release(weights), by_unit=False, groups_per_unit=None, rows_per_unit=1)
    assert database.answer(direct) == reference(rows, weights)


@_both
def test_weights_of_thousands_of_groups_are_told_to_the_source(
    database: Database, weights: GroupWeights
) -> None:
    """A person in ten thousand groups weighs what the last of ten thousand weights says."""
    many = replace(weights, listed=10_000)
    database.holds([(1, key, 5) for key in range(3_000)] + [(2, 1, 5)], 1)
    found = database.answer(replace(release(weights), weights=many))
    assert {one[0] for key, one in found.items() if key != 1} == {many.of(3_000)}
    assert found[1][0] == many.of(3_000) + many.whole
