"""Releases run on real databases give what the calculus says, and one unit moves them by no more."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from hashlib import md5
from pathlib import Path
from threading import Event
from time import sleep
from typing import TypeAlias

import duckdb
import psycopg
import pytest
from engines.plain_expressing import PlainExpressing
from engines.sources import connections_of, insert_in_duckdb, quick_preparation, run_text
from fix_sample import plain
from samples import draws
from sqlalchemy import URL, nulls_last, text
from sqlalchemy.exc import DBAPIError

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.partial_select import Sql
from gateway.engines.sql.per_unit import hash_order
from gateway.errors import Code, LimitExceeded, Refusal
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BIGINT, BOOLEAN
from gateway.plan.relations import Filter, Scan
from gateway.plan.scalars import Call, Literal, Ref
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Measurement,
    Rows,
    Slot,
    Total,
    Units,
)

Row: TypeAlias = tuple[int | None, int | None, int | None]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SALT = "clinic"
R, G = 3, 2
LATTICE = Lattice(Fraction(1), -7, 20)
VISITS = Table(
    "visits",
    (
        Column("p", parse_type("bigint")),
        Column("k", parse_type("bigint")),
        Column("x", parse_type("bigint"), Interval(-7, 20, Fraction(1))),
    ),
    Protection("p", R, G),
)
CODES = Table("codes", (Column("k", parse_type("bigint")), Column("name", parse_type("text"))))


def analysis(*, least: int | None) -> Analysis:
    scan = Scan(VISITS, "v", "patient")
    _, k, x = scan.fields
    above = Call(">", (Ref(x), Literal(0, BIGINT)), BOOLEAN)
    rows = Filter(scan, Call("<>", (Ref(x), Literal(19, BIGINT)), BOOLEAN))
    plan = Aggregate(rows, (("k1", Ref(k)),), (("m1", Measure("count", (), BIGINT)),), ((0,),))
    reach = LATTICE.reach
    measured = [
        Measurement(Rows(), R),
        Measurement(Rows((Ref(x),), above), R),
        Measurement(Units(above), 1),
        Measurement(Different(Ref(x)), R),
        Measurement(Total(Ref(x), LATTICE, DistanceOrigin.MIDDLE), R * reach),
        Measurement(Total(Ref(x), LATTICE, DistanceOrigin.LOW, above), R * LATTICE.width),
        Measurement(Total(Ref(x), LATTICE, DistanceOrigin.HIGH), R * LATTICE.width),
        Measurement(Units(), 1),
    ]
    slots = tuple(Slot((one,), one.most) for one in measured)
    groups = (
        EnumeratedGroups(tuple((k,) for k in range(9)))
        if least is None
        else ThresholdGroups(7, least)
    )
    return Analysis(plan, R, G, slots, (), groups)


def release(*, least: int | None = None) -> BoundedRelease:
    return bound_release(analysis(least=least), now=NOON, proven={})


def reference(rows: Sequence[Row], least: int | None) -> dict[int | None, list[int]]:
    """The whole bounded semantics, one unit after the other."""
    units: dict[int, dict[int | None, list[int | None]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, x in rows:
        value = None if x is None else min(max(x, -7), 20)
        if unit is not None and value is not None and value != 19:
            units[unit][key].append(value)
    out: dict[int | None, list[int]] = defaultdict(lambda: [0] * 8)
    different: dict[int | None, set[int]] = defaultdict(set)
    for unit, groups in units.items():
        for key in sorted(groups, key=partial(rank, unit))[:G]:
            values = [one for one in groups[key] if one is not None]
            some = [one for one in values if one > 0]
            middle = sum(one - LATTICE.middle for one in values)
            low = sum(one + 7 for one in some)
            high = sum(20 - one for one in values)
            added = [
                min(len(values), R),
                min(len(some), R),
                min(len(some), 1),
                0,
                _cut(middle, len(values)),
                _cut(low, len(some)),
                _cut(high, len(values)),
                1,
            ]
            out[key] = [mine + more for mine, more in zip(out[key], added, strict=True)]
            different[key] |= set(sorted(set(values), key=partial(rank, unit))[:R])
    for key, values_of in different.items():
        out[key][3] = len(values_of)
    return {key: one for key, one in out.items() if least is None or one[7] >= least}


def rank(unit: int, key: int | None) -> tuple[str, bool, int]:
    written = "~" if key is None else str(key)
    return md5(f"{SALT}|{unit}|{written}".encode()).hexdigest(), key is None, key or 0  # noqa: S324


def _cut(s: int, n: int) -> int:
    if n <= R:
        return s
    size = abs(s)
    short = (size // n) * R + ((size % n) * R) // n
    return short if s >= 0 else -short


def when_free(path: str) -> duckdb.DuckDBPyConnection:
    """A connection that writes: processes that read the file may take a moment to end."""
    for _ in range(100):
        try:
            return duckdb.connect(path)
        except duckdb.IOException:
            sleep(0.05)
    return duckdb.connect(path)


class Database:
    """Rows of visits in one of the two databases, written in an order that is drawn."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._kept: SourceDatabase | None = None

    def holds(self, rows: Sequence[Row], seed: int) -> None:
        shuffled = list(rows)
        random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order of rows
        self._write(["DELETE FROM visits"], shuffled)

    def _write(self, before: Sequence[str], rows: Sequence[Row]) -> None:
        insert = b"INSERT INTO visits VALUES (%s, %s, %s)"
        if self.url.get_backend_name() == "duckdb":
            with when_free(str(self.url.database)) as here:
                for one in before:
                    here.execute(one)
                insert_in_duckdb(here, "visits", rows)
            return
        with psycopg.connect(plain(self.url)) as there, there.cursor() as cursor:
            for one in before:
                cursor.execute(one.encode())
            cursor.executemany(insert, rows)

    def open(self) -> SourceDatabase:
        return SourceDatabase.open(self.url, PlainExpressing(), salt=SALT)

    def answer(self, wanted: BoundedRelease) -> dict[int | None, list[int]]:
        # what was rendered and compiled serves again
        source = self._kept = self._kept or self.open()
        quick = quick_preparation(source, self.url)
        table = source.run(wanted, {}, limit_s=20, on=quick)
        if self.url.get_backend_name() == "duckdb":
            source.close()  # a process that has the file open keeps others from writing
        columns = zip(*table.measured, strict=True)
        found = {}
        for (key,), measured in zip(table.keys, columns, strict=True):
            assert key is None or isinstance(key, int)
            found[key] = list(measured)
        assert len(found) == len(table.keys)
        return found

    def forget(self) -> None:
        """Nothing is rendered, and nothing is open."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = URL.create("duckdb", database=str(tmp_path / "clinic.duckdb"))
    if request.param == "postgresql":
        url = request.getfixturevalue("sample_database")
    made = Database(url)
    tables = ["CREATE TABLE visits (p bigint, k bigint, x bigint)"]
    tables += ["CREATE TABLE codes (k bigint, name text)"]
    made._write([*tables, "INSERT INTO codes VALUES (1, 'a'), (2, NULL), (3, 'it''s')"], [])
    yield made
    made.forget()


def some_rows(seed: int) -> list[Row]:
    draw = random.Random(seed)  # noqa: S311 - a table of a test
    rows: list[Row] = []
    for unit in range(draw.randint(0, 6)):
        for _ in range(draw.choice([0, 1, 2, 4, 12])):
            x = draw.choice([None, -50, -7, 0, 3, 11, 19, 20, 90])
            rows.append((unit, draw.choice([None, 1, 2, 3, 4]), x))
    return [*rows, (None, 1, 5), (None, 8, 5)]


@pytest.mark.parametrize("least", [None, 2])
def test_release_is_what_the_calculus_says_on_random_tables(
    database: Database, least: int | None
) -> None:
    """Every integer of every group is that of the definition, on both databases alike."""
    for seed in range(draws(12, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        assert database.answer(release(least=least)) == reference(rows, least)


def moves(database: Database, wanted: BoundedRelease, seed: int) -> bool:
    """Whether one unit more moves the answer by more than is declared."""
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
        changes = [
            abs(after.get(key, none)[place] - before.get(key, none)[place])
            for key in {*before, *after}
        ]
        slot = Slot((one,), one.most)
        if max(changes, default=0) > one.most or sum(changes) > slot.delta1(G):
            return True
        if sum(change**2 for change in changes) > slot.delta2_squared(G):
            return True
    return False


def test_one_unit_moves_the_exact_answer_by_no_more_than_declared(database: Database) -> None:
    """Per group, in L1 and in L2, whatever the order in which rows are stored."""
    assert not any(moves(database, release(), seed) for seed in range(draws(12, fewest=6)))


@pytest.mark.parametrize(
    "broken", [replace(release(), rows_per_unit=40), replace(release(), groups_per_unit=None)]
)
def test_one_unit_moves_the_exact_answer_too_far_when_a_cut_is_left_out(
    database: Database, broken: BoundedRelease
) -> None:
    """The test above notices a release without its cut to R rows, or to G groups."""
    assert any(moves(database, broken, seed) for seed in range(draws(12, fewest=6)))


def test_values_beyond_the_limit_are_chosen_by_each_unit_for_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units with the same eight values, R of them each, count all eight together; in one order for all they count R."""
    database.holds([(unit, 1, x) for unit in range(60) for x in range(8)], 1)
    assert database.answer(release())[1][3] == 8

    def order(salt: str, _unit: Sql, keys: Sequence[Sql]) -> list[Sql]:
        return [hash_order(salt, list(keys)), *(nulls_last(one.asc()) for one in keys)]

    monkeypatch.setattr("gateway.engines.sql.release.own_order", order)
    database.forget()
    assert database.answer(release())[1][3] == R


def test_unit_with_many_rows_counts_as_declared(database: Database) -> None:
    """Ten thousand rows of one person come to R rows in each of G groups."""
    database.holds([(1, place % 5, 90) for place in range(10_000)], 1)
    found = database.answer(release())
    assert len(found) == G
    assert all(one[0] == R and one[4] == R * (20 - LATTICE.middle) for one in found.values())


def test_release_without_rows_is_answered(database: Database) -> None:
    """No rows, no groups, no error."""
    database.holds([], 1)
    assert database.answer(release()) == {}


def test_source_cannot_be_written_to(database: Database) -> None:
    """The connections that answer are read-only; DuckDB's processes: see `duckdb_process/test_pool.py`."""
    if database.url.get_backend_name() == "duckdb":
        pytest.skip("there is no connection to look into")
    source = database.open()
    try:
        with pytest.raises(DBAPIError), connections_of(source).engine.connect() as connection:
            connection.execute(text("INSERT INTO visits VALUES (1, 1, 1)"))
    finally:
        source.close()


def test_public_table_is_fetched_whole_or_refused(database: Database) -> None:
    """A table over the cap is refused, never cut."""
    source = database.open()
    try:
        assert sorted(source.fetch(CODES, 3).rows) == [(1, "a"), (2, None), (3, "it's")]
        with pytest.raises(LimitExceeded):
            source.fetch(CODES, 2)
    finally:
        source.close()


@pytest.mark.parametrize(
    ("set_first", "code"), [(True, Code.SOURCE_CANCELLED), (False, Code.SOURCE_TIMEOUT)]
)
def test_statement_is_stopped_when_late_or_cancelled(
    database: Database, *, set_first: bool, code: Code
) -> None:
    """A statement that would take hours ends, and the connection answers the next one."""
    numbers = {"duckdb": "range(100000000)"}.get(
        database.url.get_backend_name(), "generate_series(1::bigint, 100000000)"
    )
    heavy = f"SELECT count(*) AS v FROM {numbers} a(x), {numbers} b(x) WHERE (a.x * b.x) % 7 = 3"
    source, cancelled = database.open(), Event()
    if set_first:
        cancelled.set()
    limit_s = 60.0 if set_first else 0.3
    try:
        with pytest.raises(Refusal) as refused:
            run_text(source, heavy, limit_s, cancelled)
        assert refused.value.code is code
        assert source.run(release(), {}, limit_s=20).keys == ()
    finally:
        source.close()


@pytest.mark.parametrize("least", [None, 2])
def test_release_without_cut_is_the_same_where_a_unit_has_one_row(
    database: Database, least: int | None
) -> None:
    """Leaving the inner grouping out changes nothing when there is nothing to cut."""
    rows: list[Row] = [(unit, unit % 3, unit % 9 - 4) for unit in range(20)]
    database.holds(rows, 1)
    direct = replace(release(least=least), by_unit=False, groups_per_unit=None, rows_per_unit=1)
    assert database.answer(direct) == reference(rows, least)
    same = replace(direct, measurements=direct.measurements[:3] + direct.measurements[4:])
    wanted = {key: one[:3] + one[4:] for key, one in reference(rows, least).items()}
    assert database.answer(same) == wanted


@pytest.mark.parametrize("least", [None, 2])
def test_release_is_what_the_calculus_says_when_no_values_are_counted(
    database: Database, least: int | None
) -> None:
    """Without a count of different values the rows are grouped once, and keep the same groups of every unit."""
    whole = release(least=least)
    fewer = replace(whole, measurements=whole.measurements[:3] + whole.measurements[4:])
    for seed in range(6):
        rows = some_rows(seed)
        database.holds(rows, seed)
        wanted = {key: one[:3] + one[4:] for key, one in reference(rows, least).items()}
        assert database.answer(fewer) == wanted


def test_one_unit_moves_no_more_than_declared_when_no_values_are_counted(
    database: Database,
) -> None:
    """The groups that a unit keeps depend on its own rows alone, however the rows are grouped."""
    whole = release()
    fewer = replace(whole, measurements=whole.measurements[:3] + whole.measurements[4:])
    assert not any(moves(database, fewer, seed) for seed in range(draws(12, fewest=6)))
    assert any(
        moves(database, replace(fewer, groups_per_unit=4), seed)
        for seed in range(draws(12, fewest=6))
    )


@pytest.mark.parametrize("least", [None, 2])
def test_release_by_clamped_numbers_is_the_same_when_they_are_clamped_after_grouping(
    database: Database, least: int | None
) -> None:
    """What is outside the domain is counted at its nearest end, NULL by itself, and thresholds see the whole group."""
    values = [None, None, -(2**62), -50, -8, -7, 0, 3, 3, 20, 21, 90, 2**62]
    database.holds([(unit, 1, value) for unit, value in enumerate(values)], 1)
    scan = Scan(VISITS, "v", "patient")
    x = Ref(scan.fields[2])
    measured = (
        Measurement(Rows(), 1),
        Measurement(Rows((x,)), 1),
        Measurement(Total(x, LATTICE, DistanceOrigin.LOW), LATTICE.width),
    )
    wanted_release = BoundedRelease(
        rows=scan,
        keys=(x,),
        measurements=measured,
        rows_per_unit=1,
        by_unit=False,
        groups_per_unit=None,
        least_units=least,
    )
    found = database.answer(wanted_release)
    wanted: dict[int | None, list[int]] = defaultdict(lambda: [0, 0, 0])
    for value in values:
        key = None if value is None else min(max(value, -7), 20)
        added = [1, 0, 0] if key is None else [1, 1, key + 7]
        wanted[key] = [mine + more for mine, more in zip(wanted[key], added, strict=True)]
    assert found == {key: one for key, one in wanted.items() if least is None or one[0] >= least}
