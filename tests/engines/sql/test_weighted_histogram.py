"""Histograms in which what a unit adds has a weight: exact on both databases, and bounded over all groups together."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from engines.sql.test_histogram import (
    FINE,
    HISTOGRAMS,
    NOON,
    SCAN,
    SHOWN,
    WORDS,
    Database,
    G,
    K,
    Row,
    _bucket_of,
    _rank,
    _without_zeros,
    a_row,
    database,
    some_rows,
)
from samples import Samples, draws
from sqlalchemy import Select, select

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.engines.sql import histogram as rendering
from gateway.engines.sql.clip_weights import ROWS as NORM_ROWS
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BIGINT
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.choices import Choice, Histogram, QuantileLevel
from gateway.sensitivity.clip import Clip, Clips, clip_choice, clip_slot
from gateway.sensitivity.measurement import Measurement, Slot, Units

__all__ = ["database"]

SEEDS = draws(12, fewest=6)
LINE, SQUARE = (Clip(4, squares=squares) for squares in (False, True))
_both = pytest.mark.parametrize("clip", [LINE, SQUARE], ids=["laplace", "gaussian"])
_groups = pytest.mark.parametrize("found", [False, True], ids=["listed", "found"])


def weighted(
    clip: Clip, *histograms: Histogram, found: bool = False, keyed: bool = True
) -> Analysis:
    keys = (("k1", K),) if keyed else ()
    counted = (("m1", Measure("count", (), BIGINT)),)
    plan = Aggregate(SCAN, keys, counted, (tuple(range(len(keys))),))
    half = QuantileLevel(Fraction(1, 2))
    choices = tuple(clip_choice(Choice(one, half, 1), clip) for one in histograms)
    listed = EnumeratedGroups(tuple((k,) for k in range(9)) if keyed else ((),))
    slots = (clip_slot(Slot((Measurement(Units(), 1),), 1), clip, clip),) if found else ()
    groups = ThresholdGroups(0, 2) if found else listed
    clips = Clips(clip, None)
    return Analysis(plan, 1, G, slots, (), groups, clips, choices)


def release(
    clip: Clip, *histograms: Histogram, found: bool = False, keyed: bool = True
) -> BoundedRelease:
    made = bound_release(weighted(clip, *histograms, found=found, keyed=keyed), now=NOON, proven={})
    return replace(made, measurements=(), least_units=None)


def reference(
    histogram: Histogram, rows: Sequence[Row], clip: Clip, *, found: bool = False
) -> dict[int | None, dict[int, int]]:
    """One unit after the other: the rows of its groups in each bucket, times the weight of all rows of all groups."""
    units: dict[int, dict[int | None, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[0] is not None:
            units[row[0]][row[1]].append(row)
    out: dict[int | None, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for unit, groups in units.items():
        kept = sorted(groups, key=lambda key, by=unit: _rank(by, key))  # type: ignore[misc]
        kept = kept[:G] if found else kept
        weight = clip.weight(len(groups[key]) for key in kept)
        for key in kept:
            for row in groups[key]:
                bucket = _bucket_of(histogram, row)
                if bucket is not None:
                    out[key][bucket] += weight
    return _without_zeros(out)


@_groups
@_both
def test_weighted_histograms_are_what_the_calculus_says_on_random_tables(
    database: Database, clip: Clip, *, found: bool
) -> None:
    """NULL and rows that a filter leaves out lower the weight and are in no bucket; groups not listed lower it too."""
    for seed in range(draws(12, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        assert database.counts(release(clip, *HISTOGRAMS, found=found)) == [
            reference(one, rows, clip, found=found) for one in HISTOGRAMS
        ]


@_both
def test_weighted_histogram_without_keys_is_of_all_rows(database: Database, clip: Clip) -> None:
    """All rows of a unit are in one group; no rows are no counts."""
    database.holds([], 1)
    assert database.counts(release(clip, *HISTOGRAMS, keyed=False)) == [{}] * len(HISTOGRAMS)
    assert database.counts(release(clip, *HISTOGRAMS)) == [{}] * len(HISTOGRAMS)
    rows: list[Row] = [(p, None, *rest) for p, _, *rest in some_rows(3)]  # type: ignore[misc]
    database.holds(rows, 1)
    assert database.counts(release(clip, *HISTOGRAMS, keyed=False)) == [
        reference(one, rows, clip) for one in HISTOGRAMS
    ]


@_groups
@_both
def test_weighted_histogram_of_shown_groups_is_the_whole_one_without_the_others(
    database: Database, clip: Clip, *, found: bool
) -> None:
    """What is left out afterwards changes no weight, and parts of the persons add up."""
    parts = (1,) if database.url.get_backend_name() == "duckdb" else (1, 2)
    for seed in range(draws(4, fewest=2)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        whole = [reference(one, rows, clip, found=found) for one in HISTOGRAMS]
        wanted = release(clip, *HISTOGRAMS, found=found)
        for shown in SHOWN:
            kept = [{key: one[key] for key in shown if key in one} for one in whole]
            for many in parts:
                assert database.counts(wanted, shown, many) == kept


def test_histogram_of_a_unit_with_one_row_is_in_the_same_parts(database: Database) -> None:
    """Where a constraint says so nothing is counted for weights."""
    draw = random.Random(5)  # noqa: S311 - a table of a test
    rows = [a_row(draw, unit) for unit in range(40)]
    database.holds(rows, 1)
    direct = replace(release(SQUARE, *HISTOGRAMS), by_unit=False, groups_per_unit=None)
    assert database.counts(direct) == [reference(one, rows, SQUARE) for one in HISTOGRAMS]


def _moved(before: Sequence[Any], after: Sequence[Any], clip: Clip) -> set[str]:
    """Which bounds are exceeded by what one unit more changes in whole histograms."""
    exceeded = set()
    for old, new in zip(before, after, strict=True):
        by_group = []
        for key in {*old, *new}:
            was, now = old.get(key, {}), new.get(key, {})
            changes = [now.get(one, 0) - was.get(one, 0) for one in {*was, *now}]
            if min(changes, default=0) < 0:
                exceeded.add("fewer rows")
            by_group.append(sum(changes))
        if sum(one * one for one in by_group) > clip.bound:
            exceeded.add("squares")
        if not clip.squares and sum(by_group) > clip.most:
            exceeded.add("sum")
    return exceeded


def moved(database: Database, wanted: BoundedRelease, clip: Clip, seed: int) -> set[str]:
    rows, draw = some_rows(seed), random.Random(seed)  # noqa: S311 - a table of a test
    more = [a_row(draw, 99) for _ in range(draw.choice([1, 5, 40]))]
    database.holds(rows, seed)
    before = database.counts(wanted)
    database.holds([*rows, *more], seed + 1)
    return _moved(before, database.counts(wanted), clip)


@_groups
@_both
def test_one_unit_moves_all_groups_of_a_histogram_by_no_more_than_the_clip(
    database: Database, clip: Clip, *, found: bool
) -> None:
    """Whole numbers that are not negative; squares of all groups, listed or not, or their sum, within B."""
    wanted = release(clip, *HISTOGRAMS, found=found)
    assert not any(moved(database, wanted, clip, seed) for seed in range(SEEDS))


_BROKEN: Mapping[str, Any] = {
    "a higher clip": lambda one: replace(
        one, clips=replace(one.clips, rows=replace(one.clips.rows, square=16))
    ),
    "no weights": lambda one: replace(one, by_unit=False, groups_per_unit=None),
}


@pytest.mark.parametrize("broken", sorted(_BROKEN))
@_both
def test_one_unit_moves_a_histogram_too_far_when_weights_are_wrong(
    database: Database, clip: Clip, broken: str
) -> None:
    """Each weight that is left out, or is that of another clip, is noticed by the test above."""
    wanted = _BROKEN[broken](release(clip, *HISTOGRAMS))
    assert any(moved(database, wanted, clip, seed) for seed in range(SEEDS))


def test_weights_for_squares_move_the_sum_of_a_histogram_too_far(database: Database) -> None:
    """Under Laplace noise a unit of several groups would move more than is paid for."""
    wanted = release(SQUARE, *HISTOGRAMS)
    assert any("sum" in moved(database, wanted, LINE, seed) for seed in range(SEEDS))


def test_norm_of_cells_instead_of_groups_is_noticed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the squares of the rows of each bucket sum to less than those of each group."""
    of_groups = rendering._cells

    def of_cells(*given: Any) -> Select[Any]:  # noqa: ANN401 - what renders is broken on purpose
        there = of_groups(*given).subquery("of_groups")
        kept = [one for one in there.c if one.name != NORM_ROWS]
        return select(*kept, there.c[rendering._CELL].label(NORM_ROWS))

    monkeypatch.setattr(rendering, "_cells", of_cells)
    wanted = release(SQUARE, FINE)
    assert any(moved(database, wanted, SQUARE, seed) for seed in range(SEEDS))


# with `--full-samples` a million: each group is a row of the answer, and so many of them take ten seconds to read
_ROWS, _GROUPS = (2**20, 2**20) if Samples.full else (2**17, 2**15)
_HEAVY: Mapping[str, str] = {
    # all rows in one bucket, in one group
    "one bucket": "SELECT 1, 1, 3 FROM numbers",
    # a row in each group
    "many groups": "SELECT 1, i, 3 FROM numbers",
    # a thousand groups of many rows each, in all buckets, some without a value
    "both": "SELECT 1, i % 1024, CASE WHEN i % 3 = 0 THEN NULL ELSE i % 28 - 7 END FROM numbers",
}


@pytest.mark.parametrize("heavy", sorted(_HEAVY))
@_both
def test_unit_with_very_many_rows_moves_a_histogram_by_no_more_than_the_clip(
    database: Database, clip: Clip, heavy: str
) -> None:
    """Among hundreds of others: the whole histogram, of all groups, moves by a norm of B at most, and by all of it nearly."""
    wanted = release(clip, FINE)
    database.holds([(unit, unit % 5, unit % 20, None, None, None) for unit in range(2, 400)], 1)
    before = database.counts(wanted)
    rows = _GROUPS if heavy == "many groups" else _ROWS
    sql = (
        "INSERT INTO visits (p, k, x) WITH numbers AS"
        f" (SELECT i FROM generate_series(1, {rows}) s(i)) {_HEAVY[heavy]}"
    )
    database.write([sql], [])
    after = database.counts(wanted)
    assert not _moved(before, after, clip)
    [old], [new] = before, after
    by_group = [
        sum(new.get(key, {}).values()) - sum(old.get(key, {}).values()) for key in {*old, *new}
    ]
    many = {"one bucket": [rows], "many groups": [1] * rows, "both": [rows // 1024] * 1024}[heavy]
    weight = clip.weight(many)
    share = 2 / 3 if heavy == "both" else 1
    assert sum(by_group) == pytest.approx(weight * share * rows, rel=0.01)
    # control: in full it moves by far more
    assert _moved(before, database.counts(replace(wanted, by_unit=False)), clip)


def test_hundred_units_at_the_clip_add_up(database: Database) -> None:
    """Each has its own weight: the others change nothing of it."""
    rows: list[Row] = [
        (unit, place % (unit + 1), unit % 20, None, None, None)
        for unit in range(60)
        for place in range(unit * unit // 9 + 1)
    ]
    database.holds(rows, 1)
    for clip in (LINE, SQUARE, Clip(3, squares=True)):
        assert database.counts(release(clip, FINE, WORDS)) == [
            reference(one, rows, clip) for one in (FINE, WORDS)
        ]


def test_buckets_that_no_word_holds_are_cut(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many units there are, a count is a word of 64 bits: here its limit is 100,000 instead of 2^59."""
    assert 8 * rendering._MOST_COUNT < 2**63
    rows: list[Row] = [(unit, 1, unit % 2, None, None, None) for unit in range(9)]
    database.holds(rows, 1)
    monkeypatch.setattr(rendering, "_MOST_COUNT", 100_000)
    database.forget()
    assert database.counts(release(SQUARE, FINE)) == [{1: {7: 100_000, 8: 100_000}}]
    direct = replace(release(SQUARE, FINE), by_unit=False, groups_per_unit=None)
    assert database.counts(direct) == [{1: {7: 100_000, 8: 100_000}}]
