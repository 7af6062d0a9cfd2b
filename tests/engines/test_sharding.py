"""A release that is asked for in parts is the release that is asked for whole, or nothing."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from engines.plain_expressing import PlainExpressing
from engines.sources import connections_of, in_postgresql
from engines.sql.test_release import SALT, VISITS, Database, Row, release, some_rows
from fix_sample import plain
from samples import draws
from sqlalchemy import URL, event, text

from gateway.bounding.bounded_release import BoundedRelease
from gateway.cancellation import CancelEvent
from gateway.catalog.types import parse_type
from gateway.engines.connections import Connections, open_source, split_parts
from gateway.engines.failures import Failures
from gateway.engines.postgresql_preparation import PostgresqlDatabase
from gateway.engines.sharding import MANY_ROWS, load_row_estimates, shard_count
from gateway.engines.source import SourceDatabase
from gateway.errors import Code, InternalError, Refusal
from gateway.events import ignore_event
from gateway.exact import ExactTable
from gateway.plan.relations import Scan
from gateway.sensitivity.measurement import Different, Measurement, Rows

_PATIENCE_S = 60.0
_SLOW = "SELECT 1, pg_sleep(600)"
_NO_SNAPSHOT = "SET LOCAL application_name = 'alone'"


@pytest.fixture
def database(sample_database: URL) -> Database:
    made = Database(sample_database)
    made._write(["CREATE TABLE visits (p bigint, k bigint, x bigint)"], [])
    return made


@pytest.fixture
def source(database: Database) -> Iterator[SourceDatabase]:
    made = opened(database.url)
    yield made
    made.close()


def opened(url: URL, *, spare: int = 4) -> SourceDatabase:
    return SourceDatabase.open(url, PlainExpressing(), salt=SALT, spare=spare)


def additive(least: int | None = None) -> BoundedRelease:
    """All measurements but counts of different values, which do not add up."""
    made = release(least=least)
    added = tuple(one for one in made.measurements if not isinstance(one.quantity, Different))
    return replace(made, measurements=added)


def everything(least: int | None = None) -> BoundedRelease:
    """Without keys: one row, whatever there is."""
    return replace(additive(least), keys=(), groups_per_unit=None)


def as_found(table: ExactTable) -> dict[Any, tuple[int, ...]]:
    found = dict(zip(table.keys, zip(*table.measured, strict=True), strict=True))
    assert len(found) == len(table.keys)
    return found


def ask(source: SourceDatabase, wanted: BoundedRelease, parts: int, **more: Any) -> dict[Any, Any]:  # noqa: ANN401
    return as_found(source.run(wanted, {}, limit_s=_PATIENCE_S, parts=parts, **more))


class Statements:
    """Those of each pool; `instead` may put another one in the place of one."""

    def __init__(self, source: SourceDatabase) -> None:
        self.first: list[str] = []
        self.others: list[str] = []
        self.instead: Callable[[str, bool], str] = lambda statement, _: statement
        for engine, where in (
            (connections_of(source).engine, self.first),
            (connections_of(source).spare, self.others),
        ):
            event.listen(engine, "before_cursor_execute", self._listener(where), retval=True)

    def _listener(self, where: list[str]) -> Callable[..., tuple[str, Any]]:
        def listen(_h: object, _c: object, statement: str, given: object, *_: object) -> Any:  # noqa: ANN401
            if statement.startswith("LOCK"):
                return statement, given
            where.append(statement)
            made = self.instead(statement, where is self.others)
            return made, given if made is statement else ()

        return listen

    @property
    def asked(self) -> tuple[int, int]:
        """How many statements about visits each pool was asked."""
        first, others = (
            sum("visits" in one for one in there) for there in (self.first, self.others)
        )
        return first, others


def busy(url: URL) -> int:
    """How many statements of others are under way."""
    with psycopg.connect(plain(url), autocommit=True) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
        ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("least", [None, 1, 2, 3])
@pytest.mark.parametrize("parts", [2, 3])
def test_parts_add_up_to_the_whole(
    database: Database, source: SourceDatabase, least: int | None, parts: int
) -> None:
    """Listed groups, groups with a threshold, no groups at all, capped or not: the same integers."""
    wanted = [additive(least), replace(additive(least), groups_per_unit=None), everything(least)]
    statements = Statements(source)
    many = draws(6, fewest=2)
    for seed in range(many):
        database.holds(some_rows(seed), seed)
        for one in wanted:
            assert ask(source, one, parts) == ask(source, one, 1)
    assert statements.asked == (many * 3 * 2, many * 3 * (parts - 1))


def test_threshold_is_held_against_the_sum_of_all_parts(
    database: Database, source: SourceDatabase
) -> None:
    """Two persons in different parts are two, though each part saw one."""
    for other in range(2, 20):
        database.holds([(1, 1, 5), (other, 1, 5)], 1)
        assert ask(source, additive(2), 2).keys() == {(1,)}
        assert ask(source, additive(3), 2) == {}


@pytest.mark.parametrize(
    ("kind", "units"),
    [
        ("smallint", "i - 20"),
        ("integer", "i * 1000003 - 2000000000"),
        ("bigint", "i::bigint << 40"),
        ("text", "CASE WHEN i = 1 THEN '' ELSE 'é' || i END"),
        ("varchar(20)", "'p' || i"),
        ("uuid", "md5(i::text)::uuid"),
    ],
)
def test_every_unit_is_in_one_part(database: Database, kind: str, units: str) -> None:
    """Of every type that a unit may have; and no part is all of it."""
    statements = (
        f"DROP TABLE visits; CREATE TABLE visits (p {kind}, k bigint, x bigint);"
        f"INSERT INTO visits SELECT {units}, i % 3, i % 7 FROM generate_series(1, 100) s(i)"
    )
    source = opened(in_postgresql(database.url, statements))
    table = replace(
        VISITS, columns=(replace(VISITS.columns[0], type=parse_type(kind)), *VISITS.columns[1:])
    )
    wanted = BoundedRelease(
        Scan(table, "v", "patient"), (), (Measurement(Rows(), 3),), 3, True, None, None
    )
    try:
        assert ask(source, wanted, 1) == ask(source, wanted, 3) == {(): (100,)}
        parts = [source.statement(wanted, {}, (place, 3)) for place in range(3)]
        with connections_of(source).engine.connect() as connection:
            counted = [connection.execute(one).all()[0][0] for one in parts]
        assert sum(counted) == 100
        assert max(counted) < 60
    finally:
        source.close()


@pytest.mark.parametrize("shared", [True, False])
def test_parts_are_of_one_snapshot_when_somebody_writes_between_them(
    database: Database, source: SourceDatabase, *, shared: bool
) -> None:
    """A commit between the parts is in none of them; without the shared snapshot it is in one."""
    before: list[Row] = [(unit, 1, 5) for unit in range(50)]
    database.holds(before, 1)
    whole = ask(source, everything(), 1)
    statements = Statements(source)

    def instead(statement: str, other: bool) -> str:  # noqa: FBT001 - called for each statement
        if other and "visits" in statement:
            database._write([], [(unit, 1, 5) for unit in range(50, 150)])
        if "SNAPSHOT" in statement and not shared:
            return _NO_SNAPSHOT
        return statement

    statements.instead = instead
    assert (ask(source, everything(), 2) == whole) is shared
    assert statements.asked == (1, 1)
    assert ask(source, everything(), 1) != whole


@pytest.mark.parametrize("other_fails", [True, False])
def test_question_fails_whole_when_one_part_fails(
    database: Database, source: SourceDatabase, *, other_fails: bool
) -> None:
    """One refusal, about the part that failed and not about those that were stopped for it."""
    statements = Statements(source)

    def instead(statement: str, other: bool) -> str:  # noqa: FBT001 - called for each statement
        if "visits" not in statement:
            return statement
        return "SELECT 1 / 0" if other is other_fails else _SLOW

    statements.instead = instead
    with pytest.raises(InternalError):
        ask(source, everything(), 2)
    assert busy(database.url) == 0
    statements.instead = lambda statement, _: statement
    assert ask(source, everything(), 2) == {(): (0,) * 7}


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("made", [CancelEvent, threading.Event])
def test_every_part_is_stopped_when_the_question_is(
    database: Database, source: SourceDatabase, made: Callable[[], threading.Event], *, late: bool
) -> None:
    """By its time or by a client that went away; the connections answer the next question."""
    statements, cancelled = Statements(source), made()
    statements.instead = lambda one, _: _SLOW if "visits" in one else one

    def cancel() -> None:
        while busy(database.url) < 2:
            threading.Event().wait(0.01)
        cancelled.set()

    began = threading.Thread(target=cancel)
    if not late:
        began.start()
    limit_s = 0.5 if late else _PATIENCE_S
    with pytest.raises(Refusal) as refused:
        source.run(everything(), {}, limit_s=limit_s, parts=2, cancelled=cancelled)
    assert refused.value.code is (Code.SOURCE_TIMEOUT if late else Code.SOURCE_CANCELLED)
    assert busy(database.url) == 0
    if not late:
        began.join()
    statements.instead = lambda statement, _: statement
    assert ask(source, everything(), 2) == {(): (0,) * 7}


def test_questions_do_not_wait_for_each_other_when_spare_connections_run_out(
    database: Database,
) -> None:
    """Each holds one and wants a second: those that find none are asked whole."""
    source = SourceDatabase.open(database.url, PlainExpressing(), salt=SALT, size=3, spare=1)
    database.holds([(unit, 1, 5) for unit in range(20)], 1)
    together, statements = threading.Barrier(3, timeout=_PATIENCE_S), Statements(source)
    wanted = everything()

    def question(_: int) -> dict[Any, Any]:
        with source.prepared(wanted, limit_s=_PATIENCE_S) as prepared:
            together.wait()  # all three hold a connection
            return as_found(source.run(wanted, {}, limit_s=_PATIENCE_S, parts=3, on=prepared))

    try:
        whole = ask(source, everything(), 1)
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(question, range(3))) == [whole] * 3
        assert statements.asked == (4, 0)
    finally:
        source.close()


def test_release_is_asked_whole_when_the_others_cannot_take_the_snapshot(
    database: Database, sample_database: URL
) -> None:
    """As behind a pooler, where the second connection may lead to another server: here, to another database."""
    database.holds([(unit, 1, 5) for unit in range(20)], 1)
    here, there = opened(database.url), opened(sample_database.set(database="postgres"))
    pools = Connections(connections_of(here).engine, connections_of(there).spare)
    apart = replace(here, database=PostgresqlDatabase(pools, Failures(ignore_event)))
    statements = Statements(apart)
    try:
        assert ask(apart, everything(), 2) == ask(here, everything(), 1)
        assert any("SNAPSHOT" in one for one in statements.others)
        assert statements.asked == (2, 0)
    finally:
        for one in (here, there, apart):
            one.close()


def test_parts_are_asked_again_when_kept_connections_are_dead(
    database: Database, source: SourceDatabase
) -> None:
    """A restart of the source between two questions is nobody's trouble."""
    database.holds([(unit, 1, 5) for unit in range(20)], 1)
    whole = ask(source, everything(), 2)
    with psycopg.connect(plain(database.url), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert ask(source, everything(), 2) == whole


def test_parts_leave_no_transaction_and_no_thread(
    database: Database, source: SourceDatabase
) -> None:
    """Connections go back to the pool as they were."""
    ask(source, everything(), 2)
    with suppress(Refusal):
        source.run(everything(), {}, limit_s=0.0, parts=2)
    with psycopg.connect(plain(database.url), autocommit=True) as connection:
        states = connection.execute(
            "SELECT DISTINCT state FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        ).fetchall()
    assert states == [("idle",)]
    assert not [one for one in threading.enumerate() if one.name.startswith("source-part")]


def test_release_is_asked_in_parts_when_the_catalog_says_that_its_tables_are_large(
    database: Database,
) -> None:
    """It goes by the estimate alone; what does not add up, or has nothing to cut, is asked whole."""
    large, small = {("", "visits"): MANY_ROWS}, {("", "visits"): MANY_ROWS - 1}
    assert shard_count(additive(), large, 2) == 2
    assert shard_count(additive(), small, 2) == 1
    assert shard_count(additive(), {}, 2) == 1
    assert shard_count(release(), large, 2) == 1
    assert shard_count(replace(additive(), by_unit=False), large, 2) == 1
    database.holds([(unit, 1, 5) for unit in range(200)], 1)
    in_postgresql(
        database.url,
        "ANALYZE visits; CREATE SCHEMA old; CREATE TABLE old.visits (LIKE visits)"
        " PARTITION BY RANGE (k); CREATE TABLE old.one PARTITION OF old.visits DEFAULT;"
        "INSERT INTO old.visits SELECT * FROM visits LIMIT 70; ANALYZE old.visits",
    )
    with open_source(database.url) as connection:
        found = load_row_estimates(connection)
    assert found["", "visits"] == found["public", "visits"] == 200
    assert found["old", "visits"] == 70
    assert ("", "old.visits") not in found


def test_url_says_in_how_many_parts(database: Database) -> None:
    """Two where it says nothing, never none, and no driver sees the option."""
    told = {one: split_parts(database.url.update_query_dict({"parts": one})) for one in "0149"}
    assert {one: parts for one, (_, parts) in told.items()} == {"0": 1, "1": 1, "4": 4, "9": 8}
    assert all(url == database.url for url, _ in told.values())
    assert split_parts(database.url) == (database.url, 2)
    assert split_parts(URL.create("duckdb", database="/a"))[1] == 1
    with open_source(database.url.update_query_dict({"parts": "3"})) as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
