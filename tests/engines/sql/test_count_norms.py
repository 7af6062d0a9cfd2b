"""Histograms of norms counted on real databases are what the definition says, and one unit moves them by no more."""

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import psycopg
import pytest
from fix_sample import plain
from samples import draws
from sqlalchemy import URL, Select, column, select, table
from sqlalchemy.dialects import postgresql

from gateway.engines.sql.clip_weights import ROWS
from gateway.engines.sql.count_norms import count_norms
from gateway.engines.sql.partial_select import UNIT, Dialect
from gateway.sensitivity.norm_buckets import (
    BUCKETS,
    DELTA1,
    DELTA2_SQUARED,
    bucket_of,
    spread_of,
)
from gateway.sensitivity.norm_buckets import (
    UNIT as WHOLE,
)

Contribution: TypeAlias = tuple[int, int]
"""A unit, and the number of its rows in one group."""
Histogram: TypeAlias = list[int]
MOST = 2**31 - 1
_both = pytest.mark.parametrize("squares", [True, False], ids=["gaussian", "laplace"])


class Database:
    """Rows of units in groups, in one of the two databases."""

    def __init__(self, dialect: Dialect, file: Path, url: URL | None) -> None:
        self.dialect = dialect
        self._file = file
        self._url = url
        self._run("CREATE TABLE there (u bigint, n bigint)")

    def _run(self, text: str) -> list[tuple[int, ...]]:
        if self._url is None:
            with duckdb.connect(str(self._file)) as here:
                return here.execute(text).fetchall()
        with psycopg.connect(plain(self._url)) as there:
            made = there.execute(text.encode())
            return made.fetchall() if made.description else []

    def holds(self, rows: Sequence[Contribution]) -> None:
        self._run("DELETE FROM there")
        if rows:
            listed = ", ".join(f"({unit}, {many})" for unit, many in rows)
            self._run(f"INSERT INTO there VALUES {listed}")

    def histogram(self, *, squares: bool) -> Histogram:
        """All units, and behind them all spreads where they are counted."""
        there = table("there", column(UNIT), column(ROWS))
        wanted: Select[Any] = select(there.c[UNIT], there.c[ROWS])
        made = count_norms(self.dialect, wanted, squares=squares)
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        found = [0] * (2 * BUCKETS if squares else BUCKETS)
        for bucket, *integers in self._run(str(made.compile(dialect=dialect))):
            for place, one in enumerate(integers):
                found[bucket + place * BUCKETS] = int(one)
        return found


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    file = tmp_path / "norms.duckdb"
    if request.param == "duckdb":
        return Database("duckdb", file, None)
    return Database("postgresql", file, request.getfixturevalue("sample_database"))


def reference(rows: Sequence[Contribution], *, squares: bool) -> Histogram:
    """The whole definition, one unit after the other."""
    units: dict[int, list[int]] = defaultdict(list)
    for unit, many in rows:
        units[unit].append(many)
    found = [0] * (2 * BUCKETS if squares else BUCKETS)
    for counts in units.values():
        added = bucket_of(sum(counts) ** 2)
        if not squares:
            found[added] += 1
            continue
        bucket = bucket_of(sum(min(one, MOST) ** 2 for one in counts))
        found[bucket] += WHOLE
        found[BUCKETS + bucket] += spread_of(bucket, added)
    return found


def some_units(seed: int) -> list[Contribution]:
    """Many units of few rows, and some of very many."""
    draw = random.Random(seed)  # noqa: S311 - numbers of a test
    found = []
    for unit in range(draws(200, fewest=60)):
        most = draw.choice([1, 2, 9, 300, 2**16, 2**31, 2**40])
        groups = draw.choice([1, 1, 2, 7, 30])
        found += [(unit, draw.randint(1, most)) for _ in range(groups)]
    draw.shuffle(found)
    return found


@_both
def test_norms_are_what_the_definition_says_on_random_units(
    database: Database, *, squares: bool
) -> None:
    """Every integer of every bucket, on both databases alike."""
    for seed in range(draws(10, fewest=3)):
        rows = some_units(seed)
        database.holds(rows)
        assert database.histogram(squares=squares) == reference(rows, squares=squares)


@_both
def test_norms_at_the_ends_of_buckets_are_placed_by_whole_numbers(
    database: Database, *, squares: bool
) -> None:
    """One row beside the end of a bucket, where logarithms of doubles would be wrong."""
    ends = [round(2 ** (bits / 2)) + beside for bits in range(62) for beside in (-1, 0, 1)]
    rows = [(unit, many) for unit, many in enumerate(ends) if many >= 1]
    # the sum of squares at 2^bits, and one above it
    rows += [(1_000 + bits, 2 ** (bits // 2)) for bits in range(0, 62, 2)]
    rows += [(2_000 + bits, many) for bits in range(0, 60, 2) for many in (2 ** (bits // 2), 1)]
    database.holds(rows)
    assert database.histogram(squares=squares) == reference(rows, squares=squares)


EXTREMES = {
    "one row": [1],
    "one group of 2^30 rows": [2**30],
    "more rows than are squared": [2**31],
    "the most rows that there can be": [2**62],
    "2^62 rows in each of eight groups": [2**62] * 8,
    "ten thousand groups": [1] * 10_000,
    "ten thousand groups of 2^31 rows": [2**31] * 10_000,
    "one heavy group among many": [1] * 500 + [2**20],
}


@pytest.mark.parametrize("counts", EXTREMES.values(), ids=EXTREMES.keys())
@_both
def test_one_unit_moves_the_histogram_by_no_more_than_declared(
    database: Database, counts: list[int], *, squares: bool
) -> None:
    """Extreme units add to one bucket what any other adds, raise nothing, and move nobody else."""
    others = some_units(7)
    database.holds(others)
    before = database.histogram(squares=squares)
    database.holds([*others, *((-1, one) for one in counts)])
    after = database.histogram(squares=squares)
    moves = [now - then for now, then in zip(after, before, strict=True)]
    if squares:
        assert sum(one * one for one in moves) <= DELTA2_SQUARED
        assert max(moves[:BUCKETS]) == WHOLE
    else:
        assert sum(map(abs, moves)) == DELTA1


def test_one_person_under_two_units_moves_the_histogram_too_far(database: Database) -> None:
    """The negative control: the bound is one of units, and two of them break it."""
    others = some_units(8)
    database.holds(others)
    before = database.histogram(squares=True)
    database.holds([*others, (-1, 5), (-2, 50)])
    after = database.histogram(squares=True)
    moves = [now - then for now, then in zip(after, before, strict=True)]
    assert sum(one * one for one in moves) > DELTA2_SQUARED


@_both
def test_histograms_of_parts_add_up(database: Database, *, squares: bool) -> None:
    """Each unit is in one part, so a source may be asked in parts."""
    rows = some_units(9)
    database.holds(rows)
    whole = database.histogram(squares=squares)
    parts = []
    for part in (0, 1):
        database.holds([one for one in rows if one[0] % 2 == part])
        parts.append(database.histogram(squares=squares))
    assert [sum(pair) for pair in zip(*parts, strict=True)] == whole


@_both
def test_histogram_of_nobody_is_empty(database: Database, *, squares: bool) -> None:
    """No bucket is named, and none is made up."""
    database.holds([])
    assert not any(database.histogram(squares=squares))
