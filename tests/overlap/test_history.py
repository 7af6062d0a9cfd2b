"""The history: what lies near is found, however much else there is, and found again the same."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from overlap.invented import (
    DAY,
    RULES,
    SIDE,
    SPREAD,
    YEAR,
    by,
    by_tens,
    named,
    names,
    past,
    ranges,
    refusal,
    scope,
    where,
)
from samples import draws

from gateway.overlap import differencing as pairs
from gateway.overlap.auditor import History, NewQuery, PriorRelease
from gateway.overlap.known_sizes import KnownSizes
from gateway.overlap.narrow import Judge
from gateway.overlap.question_part import part_of
from gateway.regions.cells import NameCells
from gateway.regions.region import EVERYTHING, Region
from gateway.regions.scope import GroupKey

TOWN = named("town")
TESTS = Path(__file__).parents[1]


def test_same_answer_is_one_entry_when_it_was_given_again() -> None:
    """With what all of them tell together, the mean of the counts and the newest question."""
    region = where((YEAR, ranges((1950, 1959))))
    history = History([past(1, region, counts=[7], spread=Fraction(9))])
    history.add(past(2, region, counts=[8], spread=Fraction(4)))
    history.add(past(3, region, spread=Fraction(16)))
    [entry] = list(history)
    mean = pytest.approx((7 / 9 + 8 / 4) / (1 / 9 + 1 / 4))
    assert entry.query_id == "q3"
    assert entry.total() == mean
    assert entry.deviation**-2 == pytest.approx(1 / 9 + 1 / 4)
    assert 1 / entry.spread == Fraction(1, 9) + Fraction(1, 4) + Fraction(1, 16)
    history.add(past(2, region, counts=[8], spread=Fraction(4)))  # its counts came later
    assert entry.total() == mean
    assert 1 / entry.spread == Fraction(1, 9) + Fraction(1, 4) + Fraction(1, 16)
    history.add(past(4, region, by_tens(YEAR, 1900, 1999), counts=[1] * 10))
    assert len(history) == 2


def test_release_that_became_more_exact_counts_once() -> None:
    """The sharper answer contains the first draw."""
    region = where((YEAR, ranges((1950, 1959))))
    history = History([past(1, region, counts=[700], spread=Fraction(900))])
    history.add(past(1, region, counts=[8], spread=Fraction(4)))
    [entry] = list(history)
    assert (entry.total(), entry.deviation) == (8, 2)


def test_count_of_units_is_not_replaced_by_a_lower_bound() -> None:
    """A lower bound could call a region small that is not."""
    region = where((YEAR, ranges((1950, 1959))))
    history = History([past(1, region, counts=[70], spread=Fraction(9))])
    history.add(past(2, region, counts=[7], spread=Fraction(4), whole=False))
    [entry] = list(history)
    assert (entry.total(), entry.whole) == (70, True)
    history.add(past(3, region, counts=[72], spread=Fraction(9)))
    assert entry.total() == pytest.approx(71)


def test_releases_of_another_shape_are_not_compared() -> None:
    """Other tables, other rows."""
    other = PriorRelease("q1.r1.1", "q1", scope(EVERYTHING), None, SPREAD)
    new = where((DAY, ranges((1, 29_999))))
    assert refusal(new, [other]) is not None
    elsewhere = scope(new)
    elsewhere = type(elsewhere)("u", frozenset({"u"}), elsewhere.region, (), ())
    assert refusal(elsewhere, [other]) is None


def _region(chance: np.random.Generator) -> Region:
    region = EVERYTHING
    if chance.random() < 0.7:
        first = int(chance.integers(0, 8))
        region = region.meet(where((DAY, ranges((first, first + int(chance.integers(20, 24)))))))
    if chance.random() < 0.4:
        first = int(chance.integers(1900, 1904))
        region = region.meet(where((YEAR, ranges((first, first + int(chance.integers(5, 7)))))))
    if chance.random() < 0.4:
        some = chance.choice(["north", "east", "south", "west"], int(chance.integers(1, 4)), False)
        region = region.meet(where((SIDE, names(*(str(one) for one in some)))))
    if chance.random() < 0.3:
        towns = frozenset(f"town {one}" for one in chance.integers(0, 4, 2))
        region = region.meet(where((TOWN, NameCells(towns, rest=bool(chance.random() < 0.5)))))
    if chance.random() < 0.2:
        region = region.without(
            where((DAY, ranges((10, 10 + int(chance.integers(0, 2))))), (SIDE, names("north")))
        )
    return region


def _keys(chance: np.random.Generator) -> tuple[GroupKey, ...]:
    if chance.random() < 0.6:
        return ()
    step = int(chance.choice([5, 10]))
    return (
        (by_tens(DAY, 0, 29_999, step * 100, text=f"by {step}"),)
        if chance.random() < 0.3
        else (by_tens(YEAR, 1900, 1999, step, text=f"years by {step}"),)
    )


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_pairs_that_are_found_fast_are_those_that_are_found_by_looking_at_all(seed: int) -> None:
    """The bounds by which most releases are passed over leave out none that clashes."""
    assert sum(_compared(one) for one in range(seed, seed + draws(10))) > 0


@pytest.mark.parametrize("seed", [14, 22, 59])
def test_releases_of_other_lists_are_not_passed_over(seed: int) -> None:
    """Here a release of other towns clashes although the years differ by far: the bounds for years alone leave it out."""
    assert _compared(seed) > 0


def _compared(seed: int) -> int:
    """How many clashes there are beside fifty releases, after both ways have found the same."""
    chance = np.random.default_rng(seed)
    told = []
    for number in range(50):
        keys = _keys(chance)
        size = int(np.prod([len(one.values or ()) for one in keys]))
        counts = [int(one) for one in chance.integers(0, 4000, size)]
        known = counts if chance.random() < 0.7 else None
        told.append(past(number, _region(chance), *keys, counts=known))
    [index] = History(told).beside(told[0].scope)
    found = 0
    for _ in range(10):
        new = NewQuery(scope(_region(chance), *_keys(chance)), SPREAD)
        part = part_of(new, (index,))
        judge = Judge(RULES, KnownSizes((index,), part.axes, float(part.spread)), part.axes)
        fast = {
            one.entry.order
            for one in pairs.find_clashes(
                part, index.lying(part.around, part.keys, part.axes), judge, RULES
            )
        }
        slow = {
            entry.order
            for entry in index.entries
            if pairs._pair(part, entry, judge, RULES) is not None
        }
        assert fast == slow
        found += len(slow)
    return found


_ASKED = """
import sys
sys.path.insert(0, {tests!r})
from overlap.sequences import sequences
from overlap.walk import DEFAULTS, walked
for name in ("attacks.sql", "honest.sql"):
    for case in sequences(name)[::8]:
        walk = walked(case, DEFAULTS)
        said = walk.refusal and (str(walk.refusal), walk.refusal.hint)
        print(case.title, walk.asked, said)
"""


@pytest.mark.gateway
def test_verdicts_and_texts_are_the_same_when_sets_have_another_order() -> None:
    """Two processes with different seeds of hashing say word for word the same."""
    said = []
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", _ASKED.format(tests=str(TESTS))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            cwd=TESTS.parent,
        )
        said.append(run.stdout)
    assert said[0] == said[1]
    assert "GW401" in said[0]


def test_keys_that_begin_alike_are_not_taken_for_each_other() -> None:
    """Two lists of as many groups that have the first one in common have different groups."""
    one = by(YEAR, ranges((1900, 1909)), ranges((1910, 1989)), text="listed(t.year)")
    other = by(YEAR, ranges((1900, 1909)), ranges((1910, 1910)), text="listed(t.year)")
    history = History([past(1, EVERYTHING, one), past(2, where((SIDE, names("east"))), other)])
    assert [entry.keys for entry in history] == [(one,), (other,)]
    assert [entry.groupings[0].cells for entry in history if entry.groupings[0]] == [
        one.cells,
        other.cells,
    ]


def test_counted_regions_around_a_box_are_found_along_every_axis() -> None:
    """Those that are restricted along an axis of the box, or along another one, or not at all; uncounted ones are none."""
    history = History(
        [
            past(1, where((YEAR, ranges((1950, 1959)))), counts=[70]),
            past(2, where((YEAR, ranges((1900, 1979)))), counts=[500]),
            past(3, where((DAY, ranges((1, 5)))), counts=[300]),
            past(4, EVERYTHING, counts=[900]),
            past(5, where((YEAR, ranges((1940, 1989))))),
        ]
    )
    asked = scope(where((YEAR, ranges((1955, 1965)))))
    [index] = history.beside(asked)
    sizes = KnownSizes((index,), dict(index.axes), 1.0)
    found = sizes._covering({YEAR.name: ranges((1955, 1965))})
    assert {one.query_id for one in found} == {"q2", "q4"}
