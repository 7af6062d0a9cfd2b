"""Releases in which what a unit adds has a weight: exact on both databases, and bounded."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

import duckdb
import psycopg
import pytest
from engines.sql.test_release import (
    LATTICE,
    NOON,
    Database,
    G,
    R,
    Row,
    analysis,
    database,
    rank,
    some_rows,
)
from fix_sample import plain
from samples import draws
from sqlalchemy import URL, BigInteger, Select, column, select, table
from sqlalchemy.dialects import postgresql

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.engines.sql import clip_weights
from gateway.engines.sql.clip_weights import (
    divided_weight,
    guess_weight,
    joint_norm,
    proven_weight,
)
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.clip import Clip, Clips, clip_slot, units_clip

__all__ = ["database"]

SEEDS = draws(12, fewest=6)
LISTED = (1, 2, 3, 4)
LINE, SQUARE = (Clip(4, squares=squares) for squares in (False, True))
WITH_TOTAL = SQUARE.with_total(16)
_both = pytest.mark.parametrize("clip", [LINE, SQUARE], ids=["laplace", "gaussian"])
_Answer = Mapping[int | None, Sequence[int]]
_groups = pytest.mark.parametrize("least", [None, 2], ids=["listed", "found"])


def clipped(clip: Clip, least: int | None = None) -> Analysis:
    """Rows, rows with a value, units, values, sums from the middle and both ends; groups listed or found."""
    whole = analysis(least=least)
    listed = EnumeratedGroups(tuple((key,) for key in LISTED))
    groups = listed if least is None else whole.groups
    own = units_clip(clip, 2 if least is None else G)
    # what one row adds is R times less than what R rows add
    rows = [replace(one, most=one.most // R if one.most > 1 else 1) for one in whole.measurements]
    slots = tuple(
        clip_slot(replace(slot, measurements=(one,), most=one.most), clip, own)
        if place != 3
        else slot
        for place, (slot, one) in enumerate(zip(whole.slots, rows, strict=True))
    )
    units = own if own.lowers(len(LISTED) if least is None else G) else None
    return replace(whole, slots=slots, groups=groups, clips=Clips(clip, units))


def release(clip: Clip, least: int | None = None) -> BoundedRelease:
    return bound_release(clipped(clip, least), now=NOON, proven={})


def reference(
    rows: Sequence[Row], of: Analysis, least: int | None = None
) -> dict[int | None, list[int]]:
    """One unit after the other: what it adds to each of its groups, times the weight of all of them."""
    assert of.clips is not None
    units: dict[int, dict[int | None, list[int | None]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, x in rows:
        value = None if x is None else min(max(x, -7), 20)
        if unit is not None and value is not None and value != 19:
            units[unit][key].append(value)
    out: dict[int | None, list[int]] = defaultdict(lambda: [0] * 8)
    many: dict[int | None, int] = defaultdict(int)
    different: dict[int | None, set[int]] = defaultdict(set)
    for unit, groups in units.items():
        first = sorted(groups, key=lambda key, by=unit: rank(by, key))[:G]  # type: ignore[misc]
        there = groups if least is None else {key: groups[key] for key in first}
        weight = of.clips.rows.weight(map(len, there.values()))
        own = of.clips.units
        mine = of.clips.rows.whole if own is None else own.weight([1] * len(there))
        for key, found in there.items():
            counted = [one for one in found if one is not None]
            some = [one for one in counted if one > 0]
            added = [
                weight * len(counted),
                weight * len(some),
                mine * min(len(some), 1),
                0,
                weight * sum(one - LATTICE.middle for one in counted),
                weight * sum(one + 7 for one in some),
                weight * sum(20 - one for one in counted),
                mine,
            ]
            out[key] = [before + more for before, more in zip(out[key], added, strict=True)]
            many[key] += 1
        for key in first:
            counted = [one for one in groups[key] if one is not None]
            different[key] |= set(sorted(set(counted), key=lambda one, by=unit: rank(by, one))[:R])  # type: ignore[misc]
    for key, values_ in different.items():
        out[key][3] = len(values_)
    return {key: one for key, one in out.items() if least is None or many[key] >= least}


@_groups
@_both
def test_weighted_release_is_what_the_calculus_says_on_random_tables(
    database: Database, clip: Clip, least: int | None
) -> None:
    """Every integer of every group, also of NULL and of what is not listed, on both databases alike."""
    wanted = clipped(clip, least)
    bounded = bound_release(wanted, now=NOON, proven={})
    for seed in range(draws(12, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        assert database.answer(bounded) == reference(rows, wanted, least)


@_groups
@_both
def test_weighted_release_is_the_same_without_a_count_of_values(
    database: Database, clip: Clip, least: int | None
) -> None:
    """Then it is one SELECT; with many rows of a person it is not sorted first."""
    wanted = clipped(clip, least)
    whole = bound_release(wanted, now=NOON, proven={})
    fewer = replace(whole, measurements=whole.measurements[:3] + whole.measurements[4:])
    for seed in range(4):
        rows = some_rows(seed)
        database.holds(rows, seed)
        expected = {key: one[:3] + one[4:] for key, one in reference(rows, wanted, least).items()}
        assert database.answer(fewer) == expected
        assert database.answer(replace(fewer, rows_per_unit=1_000)) == expected


def _joint(before: _Answer, after: _Answer, place: int) -> Fraction:
    """Squares of the moves of listed cells, and that of their total with the weight that its noise gives it."""
    none = [0] * 8
    moves = [after.get(key, none)[place] - before.get(key, none)[place] for key in LISTED]
    return sum(one**2 for one in moves) + Fraction(sum(moves) ** 2, WITH_TOTAL.total)


def moved(database: Database, wanted: BoundedRelease, of: Analysis, seed: int) -> set[str]:
    """Which bounds one unit more exceeds, in the groups that can come back."""
    rows, draw = some_rows(seed), random.Random(seed)  # noqa: S311 - a table of a test
    more: list[Row] = [
        (99, draw.choice([None, 1, 2, 3, 4, 5]), draw.choice([-90, -7, 5, 90]))
        for _ in range(draw.choice([1, 5, 40]))
    ]
    database.holds(rows, seed)
    before = database.answer(wanted)
    database.holds([*rows, *more], seed + 1)
    after = database.answer(wanted)
    shown = LISTED if isinstance(of.groups, EnumeratedGroups) else {*before, *after}
    none, found = [0] * len(wanted.measurements), set()
    for place, slot in enumerate(of.slots):
        changes = [abs(after.get(key, none)[place] - before.get(key, none)[place]) for key in shown]
        if max(changes) > slot.most:
            found.add("group")
        if sum(change**2 for change in changes) > slot.delta2_squared(G):
            found.add("squares")
        if place != 3 and _joint(before, after, place) > slot.delta2_squared(G):
            found.add("total")
        bounded = slot.norm is None or slot.norm.added is not None
        if bounded and sum(changes) > slot.delta1(G):
            found.add("sum")
    return found


@_groups
@_both
def test_one_unit_moves_a_weighted_answer_by_no_more_than_declared(
    database: Database, clip: Clip, least: int | None
) -> None:
    """Per group, in the sum for Laplace's noise, in the sum of squares for both, whatever the order of rows."""
    of = clipped(clip, least)
    wanted = replace(bound_release(of, now=NOON, proven={}), least_units=None)
    assert not any(moved(database, wanted, of, seed) - {"total"} for seed in range(SEEDS))


def test_one_unit_moves_cells_and_their_total_by_no_more_than_declared(database: Database) -> None:
    """As one vector, in which the square of the total is divided by q; by the weights of the calculus."""
    of = clipped(WITH_TOTAL)
    wanted = bound_release(of, now=NOON, proven={})
    for seed in range(SEEDS):
        assert not moved(database, wanted, of, seed)
        rows = some_rows(seed)
        assert database.answer(wanted) != {}
        database.holds(rows, seed)
        assert database.answer(wanted) == reference(rows, of)


def test_cells_and_their_total_move_too_far_with_weights_of_cells_alone(database: Database) -> None:
    """The test above notices weights that leave the total out, under the same limit."""
    of = clipped(WITH_TOTAL)
    alone = Clips(SQUARE, units_clip(SQUARE, 2))
    broken = replace(bound_release(of, now=NOON, proven={}), clips=alone)
    found = [moved(database, broken, of, seed) for seed in range(SEEDS)]
    assert {"total"} in found
    assert not any("squares" in one for one in found)


_BROKEN: Mapping[str, Any] = {
    "a higher clip": lambda one: replace(
        one, clips=replace(one.clips, rows=replace(one.clips.rows, square=16))
    ),
    "units in full": lambda one: replace(one, clips=replace(one.clips, units=None)),
    "no weights": lambda one: replace(one, by_unit=False, groups_per_unit=None),
    "all groups of values": lambda one: replace(one, groups_per_unit=None),
}


@pytest.mark.parametrize("broken", sorted(_BROKEN))
@_both
def test_one_unit_moves_a_weighted_answer_too_far_when_weights_are_wrong(
    database: Database, clip: Clip, broken: str
) -> None:
    """Each weight that is left out, or is that of another clip, is noticed by the test above."""
    of = clipped(clip)
    wanted = _BROKEN[broken](bound_release(of, now=NOON, proven={}))
    assert any(moved(database, wanted, of, seed) - {"total"} for seed in range(SEEDS))


def test_weights_for_squares_move_a_sum_too_far(database: Database) -> None:
    """Under Laplace noise a unit of several groups would move more than is paid for."""
    of = clipped(LINE)
    wanted = replace(bound_release(of, now=NOON, proven={}), clips=clipped(SQUARE).clips)
    assert any("sum" in moved(database, wanted, of, seed) for seed in range(SEEDS))


def test_found_groups_move_too_far_when_a_unit_keeps_all_of_them(database: Database) -> None:
    """A count of units without weights rests on the choice of G groups: without it the test above notices."""
    of = clipped(SQUARE, 2)
    assert of.clips is not None
    assert of.clips.units is None
    wanted = bound_release(of, now=NOON, proven={})
    broken = replace(wanted, least_units=None, weighted_groups=None)
    assert any(moved(database, broken, of, seed) - {"total"} for seed in range(SEEDS))


@pytest.mark.parametrize(
    "counts",
    [[10_000], [1] * 3_000, [2] * 500 + [700], [4], [2, 2, 2, 2], [5]],
    ids=["one group", "thousands of groups", "both", "just the clip", "more groups", "one more"],
)
@_both
def test_unit_weighs_what_its_norm_leaves_it(
    database: Database, clip: Clip, counts: list[int]
) -> None:
    """Thousands of rows, or of groups, of one person come to no more than the clip; another one is not moved."""
    of = clipped(clip)
    rows: list[Row] = [
        (1, key, 90) for key, many in enumerate(counts, start=1) for _ in range(many)
    ]
    database.holds([*rows, (2, -1, 5)], 1)
    found = database.answer(bound_release(of, now=NOON, proven={}))
    weight = clip.weight(counts)
    assert [found[key][0] for key in range(1, len(counts) + 1)] == [weight * one for one in counts]
    assert [found[key][4] for key in range(1, len(counts) + 1)] == [
        weight * one * (20 - LATTICE.middle) for one in counts
    ]
    assert of.clips is not None
    assert of.clips.units is not None
    assert found[1][7] == of.clips.units.weight([1] * len(counts))
    assert found[-1][0] == found[-1][7] == clip.whole


@_groups
@_both
def test_release_is_whole_when_a_unit_has_one_row(
    database: Database, clip: Clip, least: int | None
) -> None:
    """Where a constraint says so nothing is counted for weights, and the answer is in the same parts."""
    rows: list[Row] = [(unit, unit % 3, unit % 9 - 4) for unit in range(20)]
    database.holds(rows, 1)
    wanted = clipped(clip, least)
    bounded = bound_release(wanted, now=NOON, proven={})
    direct = replace(bounded, by_unit=False, groups_per_unit=None)
    assert database.answer(direct) == reference(rows, wanted, least)
    same = replace(direct, measurements=direct.measurements[:3] + direct.measurements[4:])
    expected = {key: one[:3] + one[4:] for key, one in reference(rows, wanted, least).items()}
    assert database.answer(same) == expected


_STORED = "CREATE TEMP TABLE norms AS SELECT unnest(CAST({} AS bigint[])) AS n, unnest(CAST({} AS bigint[])) AS q"
NORMS = table("norms", column("n", BigInteger()), column("q", BigInteger()))


class Numbers:
    """Expressions over N and Q of `NORMS`, in one of the two databases."""

    def __init__(self, dialect: Dialect, url: URL | None) -> None:
        self.dialect = dialect
        self._url = url

    def select(
        self, wanted: Select[Any], norms: Sequence[tuple[int, int]]
    ) -> list[tuple[int, ...]]:
        """The expressions over these N and Q, which are stored: thousands are slow to write as a text."""
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        compiled = wanted.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
        columns = [list(one) for one in zip(*norms, strict=True)]
        if self._url is None:
            with duckdb.connect() as here:
                here.execute(_STORED.format("?", "?"), columns)
                return here.execute(str(compiled)).fetchall()
        with psycopg.connect(plain(self._url)) as there:
            there.execute(_STORED.format("%s", "%s").encode(), columns)
            return there.execute(str(compiled).encode()).fetchall()


@pytest.fixture(params=["duckdb", "postgresql"])
def numbers(request: pytest.FixtureRequest) -> Numbers:
    if request.param == "duckdb":
        return Numbers("duckdb", None)
    return Numbers("postgresql", request.getfixturevalue("sample_database"))


def _adversarial(clip: Clip, seed: int) -> list[int]:
    """Q at which a weight changes, beside them, and far away; up to 2^62."""
    draw = random.Random(seed)  # noqa: S311 - numbers of a test
    edges = [clip.bound // weight**2 for weight in (*range(1, 40), 65_535, 65_536)]
    edges += [clip.bound // draw.randint(1, clip.whole) ** 2 for _ in range(draws(4_000))]
    edges += [draw.randint(1, 2**62) for _ in range(draws(500))]
    edges += [isqrt(draw.randint(1, 2**62)) ** 2 for _ in range(draws(500))]
    found = {edge + beside for edge in edges for beside in (-2, -1, 0, 1, 2)}
    found |= {1, 2, 2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**62}
    return sorted(one for one in found if 1 <= one <= 2**62)


@pytest.mark.parametrize("square", [1, 2, 3, 16, 2**13, 2**28])
def test_weight_of_a_norm_is_proven_by_whole_numbers(numbers: Numbers, square: int) -> None:
    """For every Q, and N up to the last that counts: w²·Q ≤ B, and no larger one but where doubles have too few digits."""
    clip = Clip(square, squares=True)
    norms = [(min(one, 2**31 - 1), one) for one in _adversarial(clip, square)]
    weight = proven_weight(clip, NORMS.c.n, NORMS.c.q, guess_weight(clip, NORMS.c.q))
    told = numbers.select(select(NORMS.c.q, weight), norms)
    assert len(told) == len(norms)
    for norm, found in told:
        assert found**2 * norm <= clip.bound
        exact = min(clip.whole, isqrt(clip.bound // norm))
        assert found == exact if norm <= 2**53 else exact - 1 <= found <= exact


@pytest.mark.parametrize("square", [1, 3, 16, 2**28])
@pytest.mark.parametrize("total", [16, 160, 16_000])
def test_weight_beside_a_total_is_proven_by_whole_numbers(
    numbers: Numbers, square: int, total: int
) -> None:
    """w²·(16·Q + ⌈N²/G⌉) ≤ 16·B, up to the largest N and Q, and no larger weight but where doubles have too few digits."""
    clip = Clip(square, squares=True).with_total(total)
    edges = _adversarial(clip, square)
    norms = [(min(one, 2**31 - 1), one) for one in edges]
    norms += [(isqrt(one), isqrt(one)) for one in edges if one < 2**62]
    norms += [(2**31 - 1, 2**62), (2**62, 2**62), (2**31, 1), (2**31 - 1, 1)]
    joint = joint_norm(numbers.dialect, clip, NORMS.c.n, NORMS.c.q)
    beside = select(NORMS.c.n, NORMS.c.q, joint.label("j")).subquery("joint")
    weight = proven_weight(clip, beside.c.n, beside.c.j, guess_weight(clip, beside.c.j))
    told = numbers.select(select(beside.c.n, beside.c.q, weight), norms)
    assert len(told) == len(norms)
    for added, squares, found in told:
        if added > 2**31 - 1:
            assert found == 0
            continue
        norm = 16 * squares + -(-(added**2) // clip.groups)
        assert found**2 * (16 * squares * clip.groups + added**2) <= clip.limit * clip.groups
        exact = min(clip.whole, isqrt(clip.limit // norm))
        assert found == exact if norm <= 2**53 else exact - 1 <= found <= exact


def test_weight_is_none_for_a_unit_of_more_rows_than_are_squared(numbers: Numbers) -> None:
    """N beyond 2^31 - 1 weighs nothing, whatever Q says: 2^30 rows of one group are a number, not a table."""
    clip = Clip(2**28, squares=True)
    norms = [(2**30, 2**60), (2**31 - 1, 1), (2**31, 1), (2**62, 2**62)]
    weight = proven_weight(clip, NORMS.c.n, NORMS.c.q, guess_weight(clip, NORMS.c.q))
    found = numbers.select(select(NORMS.c.n, weight), norms)
    assert sorted(found) == [(2**30, 1), (2**31 - 1, clip.whole), (2**31, 0), (2**62, 0)]
    line = Clip(2**28, squares=False)
    divided = divided_weight(numbers.dialect, line, NORMS.c.n)
    assert sorted(numbers.select(select(NORMS.c.n, divided), norms)) == [
        (2**30, 1),
        (2**31 - 1, 0),
        (2**31, 0),
        (2**62, 0),
    ]


@pytest.mark.parametrize("square", [1, 3, 16, 2**28])
def test_divided_weight_is_the_largest_that_keeps_the_sum_within_its_limit(
    numbers: Numbers, square: int
) -> None:
    """Whole numbers alone: isqrt(B) div N, at most 2^f."""
    clip = Clip(square, squares=False)
    norms = [(one, 0) for one in range(1, 3_000)] + [(2**31 - 1, 0), (clip.most, 0)]
    divided = divided_weight(numbers.dialect, clip, NORMS.c.n)
    found = numbers.select(select(NORMS.c.n, divided), norms)
    assert len(found) == len(norms)
    assert all(weight == min(clip.whole, clip.most // norm) for norm, weight in found)


def test_weight_is_too_large_where_the_guess_is_not_tested(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative control: doubles alone give weights that are too large; the CASE takes the next, or none."""
    clip = Clip(2**28, squares=True)

    def guess(clip: Clip, squares: Sql) -> Sql:
        made: Sql = guess_weight(clip, squares) + own_integer(1)
        return made

    plain_guess = guess_weight(clip, NORMS.c.q)
    proven = proven_weight(clip, NORMS.c.n, NORMS.c.q, guess(clip, NORMS.c.q))
    wanted = select(NORMS.c.q, plain_guess, guess(clip, NORMS.c.q), proven)
    found = numbers.select(wanted, [(1, one) for one in _adversarial(clip, 7)])
    assert any(guessed**2 * norm > clip.bound for norm, _, guessed, _ in found)
    assert all(weight**2 * norm <= clip.bound for norm, _, _, weight in found)


def test_whole_release_is_unbounded_when_the_guess_is_not_tested(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guess that is taken as it is, and is wrong, moves an answer too far: the tests above would notice."""

    def untested(clip: Clip, _added: Sql, _squares: Sql, guess: Sql) -> Sql:
        made: Sql = guess * own_integer(2)
        return made

    monkeypatch.setattr(clip_weights, "proven_weight", untested)
    of = clipped(SQUARE)
    wanted = bound_release(of, now=NOON, proven={})
    assert any(moved(database, wanted, of, seed) for seed in range(SEEDS))
