"""Sums of distances are exact at the ends of lattices that a small type holds, and of those that it does not hold."""

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final

import duckdb
import psycopg
import pytest
from fix_sample import plain
from sensitivity.analyses import analysed, dataset, whole
from sensitivity.released import Person, released
from sqlalchemy import URL

from gateway.bounding.bounded_release import bound_release
from gateway.catalog.domains import Domain, Values
from gateway.engines.duckdb_preparation import compile_for_duckdb
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.clip import ClipRule

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
R: Final = 100_000
MANY: Final = 70_000
_LOW: Final = -5
_SMALL: Final = 2**15 - 1
"""The largest distance that a SMALLINT holds."""


@pytest.fixture
def urls(sample_database: URL, tmp_path: Path) -> tuple[URL, URL]:
    """Both databases; what the definition says takes longer than they do."""
    return URL.create("duckdb", database=str(tmp_path / "t.duckdb")), sample_database


def _run(url: URL, *statements: str) -> None:
    if url.get_backend_name() == "duckdb":
        with duckdb.connect(str(url.database)) as here:
            for one in statements:
                here.execute(one)
        return
    with psycopg.connect(plain(url)) as there:
        for one in statements:
            there.execute(one.encode())


def _analysis(width: int, *, pairs: bool) -> Analysis:
    columns: dict[str, tuple[str, Domain | None]] = {
        "g": ("text", Values(("p", "q"))),
        "x": ("bigint", whole(_LOW, _LOW + width)),
    }
    return analysed(
        "SELECT g, SUM(x) FROM t GROUP BY g",
        pairs=pairs,
        of=dataset(R, columns, 2),
        clip=ClipRule(16),
    )


@pytest.mark.parametrize("pairs", [True, False], ids=["from an end", "from the middle"])
@pytest.mark.parametrize("width", [_SMALL, _SMALL + 1, 2 * _SMALL, 2 * _SMALL + 1])
def test_sums_of_distances_are_exact_at_the_ends_of_a_lattice(
    urls: tuple[URL, URL], width: int, *, pairs: bool
) -> None:
    """Tens of thousands of rows of one person at both ends, and outside of them, come to what the definition says."""
    ends = [-(2**40), _LOW, _LOW + width, 2**40]
    rows: list[tuple[str, int | None]] = [*zip("pqpq", ends, strict=True), ("q", None)]
    analysis = _analysis(width, pairs=pairs)
    people = [
        Person(
            1,
            group,
            {"t.x": None if x is None else Fraction(min(max(x, _LOW), _LOW + width))},
        )
        for group, x in rows
    ]
    expected = released([one for one in people for _ in range(MANY)], analysis)
    is_small = (width if pairs else -(-width // 2)) <= _SMALL
    for url in urls:
        _fill(url, rows)
        assert _found(url, analysis, is_small=is_small) == expected


def _fill(url: URL, rows: list[tuple[str, int | None]]) -> None:
    values = ", ".join(f"('{group}', {'NULL' if x is None else x})" for group, x in rows)
    _run(
        url,
        "CREATE TABLE t (u bigint, g text, x bigint)",
        "INSERT INTO t SELECT 1, v.g, CAST(v.x AS bigint)"
        f" FROM (VALUES {values}) AS v(g, x), generate_series(1, {MANY}) AS s(i)",
    )


def _found(url: URL, analysis: Analysis, *, is_small: bool) -> dict[str, list[int]]:
    source = SourceDatabase.open(url, TotalScalarSql(), salt="clinic")
    try:
        wanted = bound_release(analysis, now=NOON, proven={})
        table = source.run(wanted, {}, limit_s=60)
        statement = source.statement(wanted, {})
    finally:
        source.close()
    if source.dialect == "duckdb":
        assert ("AS SMALLINT" in compile_for_duckdb(statement).text) == is_small
    columns = zip(*table.measured, strict=True)
    return {str(key): list(one) for (key,), one in zip(table.keys, columns, strict=True)}
