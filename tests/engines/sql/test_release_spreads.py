"""Sums of squares and of products are what the calculus says, on both databases, whatever is stored."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TypeAlias

import duckdb
import psycopg
import pytest
from fix_sample import plain
from samples import draws
from sensitivity.analyses import analysed, dataset, whole
from sensitivity.released import Exact, Person, released
from sqlalchemy import URL

from gateway.bounding.bounded_release import bound_release
from gateway.catalog.domains import Domain, Interval, Values
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.measurement import Products, Squares

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
R = 3
FAR = 10**9
NAN = float("nan")
Row: TypeAlias = tuple[int, str, int | None, float | None, float | None]

_COLUMNS: Mapping[str, tuple[str, Domain | None]] = {
    "g": ("text", Values(("p", "q", "r"))),
    "x": ("integer", whole(-FAR, FAR)),
    "y": ("numeric(10,2)", Interval(Fraction(0), Fraction(2), Fraction(1, 4))),
    "f": ("double precision", Interval(Fraction(-(10**6)), Fraction(10**6), Fraction(1, 64))),
}
_SQL = """
    SELECT g, VAR_POP(x), VAR_SAMP(y), CORR(x, y), STDDEV(y) FILTER (WHERE x > 1), COVAR_POP(f, x),
           REGR_R2(y, f) FILTER (WHERE x < 100), CORR(y, y), COVAR_SAMP(x, -x)
    FROM t GROUP BY g
"""


class Database:
    """Rows of `t` in one of the two databases."""

    def __init__(self, url: URL) -> None:
        self.url = url

    def holds(self, rows: Sequence[Row], times: int = 1) -> None:
        """Each row so many times."""
        values = ", ".join(f"({', '.join(map(_written, row))})" for row in rows)
        self.run("DELETE FROM t")
        if rows:
            many = f"generate_series(1, {times}) AS s(i)"
            self.run(f"INSERT INTO t SELECT v.* FROM (VALUES {values}) AS v(u, g, x, y, f), {many}")

    def run(self, statement: str) -> None:
        if self.url.get_backend_name() == "duckdb":
            with duckdb.connect(str(self.url.database)) as here:
                here.execute(statement)
            return
        with psycopg.connect(plain(self.url)) as there:
            there.execute(statement.encode())

    def answer(self, analysis: Analysis) -> Exact:
        source = SourceDatabase.open(self.url, TotalScalarSql(), salt="clinic")
        try:
            table = source.run(bound_release(analysis, now=NOON, proven={}), {}, limit_s=60)
        finally:
            source.close()
        columns = zip(*table.measured, strict=True)
        return {str(key): list(one) for (key,), one in zip(table.keys, columns, strict=True)}


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    create = "CREATE TABLE t (u bigint, g text, x integer, y numeric(10,2), f double precision)"
    url = URL.create("duckdb", database=str(tmp_path / "t.duckdb"))
    if request.param == "postgresql":
        url = request.getfixturevalue("sample_database")
    made = Database(url)
    made.run(create)
    return made


def _written(value: float | str | None) -> str:
    if value is None:
        return "NULL"
    return f"CAST('{value!r}' AS double precision)" if isinstance(value, float) else f"{value!r}"


def _analysis(groups: int, *, pairs: bool) -> Analysis:
    return analysed(_SQL, pairs=pairs, of=dataset(R, _COLUMNS, groups), clip=ClipRule(16))


def _person(row: Row) -> Person:
    """As the scan hands it on: within its domain, NULL for what is no number."""
    unit, group, x, y, f = row
    there = None if f is None or not isfinite(f) else Fraction(f)
    return Person(
        unit,
        group,
        {
            "t.x": _within(None if x is None else Fraction(x), FAR, -FAR),
            "t.y": _within(None if y is None else Fraction(y), 2, 0),
            "t.f": _within(there, 10**6, -(10**6)),
        },
    )


def _within(value: Fraction | None, high: int, low: int) -> Fraction | None:
    return None if value is None else min(max(value, Fraction(low)), Fraction(high))


def _rows(seed: int) -> list[Row]:
    draw = random.Random(seed)  # noqa: S311 - a table of a test
    return [
        (
            unit,
            draw.choice("pqr"),
            draw.choice([None, 0, 1, 7, 99, -(2**31), 2**31 - 1, draw.randint(-FAR, FAR)]),
            draw.choice([None, 0, 0.25, 1.75, 2, 5, -1]),
            draw.choice([None, NAN, 1e300, -1e300, 0.0, draw.randint(-(10**6), 10**6) / 64]),
        )
        for unit in range(20)
        for _ in range(draw.choice([0, 1, 2, 5, 12]))
    ]


@pytest.mark.parametrize("groups", [4, 1])
@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
def test_release_is_what_the_calculus_says_on_random_tables(
    database: Database, groups: int, *, pairs: bool
) -> None:
    """Every integer of every group is that of the definition, with NULL in one of two values, filters and cuts."""
    analysis = _analysis(groups, pairs=pairs)
    assert analysis.clips is not None
    kinds = {type(one.quantity) for one in analysis.measurements}
    assert kinds >= {Squares, Products}
    units = {getattr(one.quantity, "unit", 1) for one in analysis.measurements}
    assert 1 in units, "something is exact"
    assert max(units) > 1, "something is counted in units of many"
    for seed in range(draws(3)):
        rows = _rows(seed)
        database.holds(rows)
        assert database.answer(analysis) == released(list(map(_person, rows)), analysis)


@pytest.mark.parametrize(("x", "f"), [(2**31 - 1, 1e300), (-(2**31), 1e300)])
def test_unit_with_many_rows_at_the_ends_counts_as_declared(
    database: Database, x: int, f: float
) -> None:
    """Thousands of rows of one person at the far ends come to no more than the clip, and nothing overflows."""
    analysis = _analysis(3, pairs=False)
    rows: list[Row] = [(1, "p", x, 5.0, f), (1, "p", x, -5.0, f)]
    many = 2_048  # with a power of two a weight leaves nothing over
    database.holds(rows, many)
    found = database.answer(analysis)
    assert found == released([_person(one) for one in rows] * many, analysis)
    for value, one in zip(found["p"], analysis.measurements, strict=True):
        assert abs(value) <= one.most
    products = [
        abs(value) == one.most
        for value, one in zip(found["p"], analysis.measurements, strict=True)
        if isinstance(one.quantity, Products)
    ]
    assert any(products), "the bound is reached"


def test_release_is_another_when_the_clip_is_higher(database: Database) -> None:
    """A negative control: with another clip, the integers are others."""
    rows: list[Row] = [(1, "p", FAR, 2.0, 5.0)] * 5
    database.holds(rows)
    declared = _analysis(3, pairs=False)
    wider = analyze_release(
        declared.plan, pairs=False, enumerated_groups=10_000, min_units=10, clip=ClipRule(25)
    )
    people = list(map(_person, rows))
    assert database.answer(declared) == released(people, declared)
    assert database.answer(wider) != released(people, declared)
