"""A histogram of norms through the whole SQL line: what the definition says, in one row, and the same in parts."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import duckdb
import psycopg
import pytest
from engines.sql.test_count_norms import reference
from fix_sample import plain
from samples import draws
from sensitivity.analyses import dataset, plan_of, whole
from sqlalchemy import URL

from gateway.bounding.bounded_release import bound_release
from gateway.catalog.domains import Values
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.plan.rewrite import without_conditions
from gateway.sensitivity.norm_buckets import BUCKETS, DELTA1, DELTA2_SQUARED
from gateway.sensitivity.norm_release import analyze_norms

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Row: TypeAlias = tuple[int | None, str | None, int | None]
_TABLE = dataset(2, {"g": ("text", Values(("p", "q"))), "x": ("integer", whole(0, 9))}, 3)
_SQL = "SELECT g, SUM(x) FROM t WHERE x > 3 GROUP BY g"
_both = pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])


class Database:
    """Rows of `t` in one of the two databases."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._run("CREATE TABLE t (u bigint, g text, x integer)")

    def _run(self, statement: str) -> None:
        if self.url.get_backend_name() == "duckdb":
            with duckdb.connect(str(self.url.database)) as here:
                here.execute(statement)
            return
        with psycopg.connect(plain(self.url)) as there:
            there.execute(statement.encode())

    def holds(self, rows: Sequence[Row]) -> None:
        self._run("DELETE FROM t")
        if rows:
            listed = ", ".join(f"({', '.join(map(_written, row))})" for row in rows)
            self._run(f"INSERT INTO t VALUES {listed}")

    def histogram(self, sql: str = _SQL, *, pairs: bool, parts: int = 1) -> list[int]:
        rows = without_conditions(plan_of(sql, _TABLE))
        analysis = analyze_norms(rows, tuple(key for _, key in rows.keys), pairs=pairs)
        source = SourceDatabase.open(self.url, TotalScalarSql(), salt="clinic")
        try:
            release = bound_release(analysis, now=NOON, proven={})
            table = source.run(release, {}, limit_s=60, parts=parts)
        finally:
            source.close()
        assert table.keys == ((),)
        return [int(one[0]) for one in table.measured]


def _written(value: object) -> str:
    return "NULL" if value is None else repr(value)


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "duckdb":
        return Database(URL.create("duckdb", database=str(tmp_path / "t.duckdb")))
    return Database(request.getfixturevalue("sample_database"))


def _rows(seed: int) -> list[Row]:
    """Keys outside of the list and NULL are one group; rows of nobody count nowhere."""
    draw = random.Random(seed)  # noqa: S311 - rows of a test
    made: list[Row] = []
    for unit in range(draws(40, fewest=20)):
        made += [
            (unit, draw.choice(["p", "q", "r", None]), draw.choice([None, 1, 5, 9]))
            for _ in range(draw.choice([1, 1, 2, 5, 40]))
        ]
    made += [(None, "p", 5)] * 3
    draw.shuffle(made)
    return made


def _expected(rows: Sequence[Row], *, pairs: bool) -> list[int]:
    """Over the keys as they are enforced, whatever WHERE says."""
    counted = Counter(
        (unit, key if key in {"p", "q"} else None) for unit, key, _ in rows if unit is not None
    )
    return reference([(unit, many) for (unit, _), many in counted.items()], squares=not pairs)


@_both
def test_histogram_is_what_the_definition_says(database: Database, *, pairs: bool) -> None:
    """Every integer, over all rows of the table: the condition of the statement is not in it."""
    for seed in range(draws(4, fewest=2)):
        rows = _rows(seed)
        database.holds(rows)
        assert database.histogram(pairs=pairs) == _expected(rows, pairs=pairs)


@_both
def test_histogram_of_two_parts_adds_up(database: Database, *, pairs: bool) -> None:
    """Each unit is in one part."""
    database.holds(_rows(7))
    whole_ = database.histogram(pairs=pairs)
    assert any(whole_)
    assert database.histogram(pairs=pairs, parts=2) == whole_


@_both
def test_histogram_of_nobody_is_one_row_of_zeros(database: Database, *, pairs: bool) -> None:
    """No unit, and no other form of the answer."""
    database.holds([])
    assert database.histogram(pairs=pairs) == [0] * (BUCKETS if pairs else 2 * BUCKETS)


@_both
@pytest.mark.parametrize("many", [1, 3, 700])
def test_one_unit_moves_the_histogram_by_no_more_than_declared(
    database: Database, many: int, *, pairs: bool
) -> None:
    """A unit with few rows or many, in one group or in all of them."""
    rows = _rows(9)
    database.holds(rows)
    before = database.histogram(pairs=pairs)
    added: list[Row] = [(-1, ("p", "q", None)[at % 3], 5) for at in range(many)]
    database.holds([*rows, *added])
    moved = [new - old for new, old in zip(database.histogram(pairs=pairs), before, strict=True)]
    assert any(moved)
    if pairs:
        assert sum(map(abs, moved)) == DELTA1
    else:
        assert sum(one * one for one in moved) <= DELTA2_SQUARED
    database.holds([*rows, *added, *((-2, "p", 1) for _ in range(10 * many))])
    two = [new - old for new, old in zip(database.histogram(pairs=pairs), before, strict=True)]
    # the negative control: two units
    assert sum(map(abs, two)) > DELTA1
    assert pairs or sum(one * one for one in two) > DELTA2_SQUARED
