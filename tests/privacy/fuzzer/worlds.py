"""A catalog's rows, and the same without each person in turn, side by side in one database of each kind.

The statements are those that the gateway renders: which world they are about is for the connection to say, by its
search path in PostgreSQL and by its database in DuckDB. Rows lie in another order in every world.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar

import duckdb
import psycopg
from fix_sample import plain
from no_pandas import do_not_look_for_pandas
from privacy.fuzzer.alarm import Alarm
from privacy.fuzzer.catalogs import Catalog
from privacy.fuzzer.ladders import blurred
from property.small_worlds import World
from property.stores import filling
from sqlalchemy import URL, Connection, NullPool, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.expression import Select

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.catalog.describe import SourceTables, describe_source, read_duckdb
from gateway.engines.catalog.proofs import TableProof, prove_tables
from gateway.engines.duckdb_preparation import DuckdbStatements
from gateway.engines.exact_rows import read_histogram, read_table
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.engines.sql.group_limits import Key, shown_parameters
from gateway.exact import ExactHistogram, ExactTable
from gateway.plan.relations import StagedRows

T = TypeVar("T")
Given = Mapping[str, Any]
SALT: Final = "clinic"
LONGEST_S: Final = 5.0
"""What a statement over some fifty rows may compute: several times what the longest of them takes."""
_STOPPED_S: Final = 30.0
_RETRIES: Final = 2


class Raised(Exception):
    """A source raised an error, or computed for too long: either tells of the rows."""


@dataclass
class Server:
    """A database of each kind, in which the worlds of one catalog after the other are made."""

    postgresql: Connection
    writer: psycopg.Connection
    duckdb: duckdb.DuckDBPyConnection
    url: URL
    prefix: str
    alarm: Alarm
    catalogs: int = 0

    @classmethod
    @contextmanager
    def open(cls, url: URL, prefix: str) -> Iterator["Server"]:
        """`url` is a database of PostgreSQL in which schemas may be made."""
        options = f"-c statement_timeout={int(_STOPPED_S * 1000)} -c jit=off -c TimeZone=UTC"
        do_not_look_for_pandas()
        there = url.update_query_dict({"options": options})
        engine = create_engine(there, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with (
            Alarm.running() as alarm,
            engine.connect() as postgresql,
            psycopg.connect(plain(url), autocommit=True) as writer,
            duckdb.connect(":memory:", config={"threads": "1"}) as there_too,
        ):
            there_too.execute("SET TimeZone = 'UTC'")
            # names of tables are never those of variables of ours
            there_too.execute("SET python_enable_replacements = false")
            yield cls(postgresql, writer, there_too, there, prefix, alarm)


@dataclass
class Worlds:
    """Of one kind of database: the world, the worlds without one person, the world without the rows of nobody.

    `blurred` is the world of which nothing that may be read differs, where there is one. `enter` makes a world the one that `execute` asks.
    """

    name: str
    source: SourceDatabase
    enter: Callable[[str], object]
    execute: Callable[[Select[Any], Given], Sequence[Any]]
    stop: Callable[[], object]
    alarm: Alarm
    places: Sequence[str]
    proven: Mapping[str, TableProof]
    blurred: str | None = None
    longest_s: float = 0.0

    def run(
        self, release: BoundedRelease, staged: Mapping[str, StagedRows], places: Sequence[str]
    ) -> list[ExactTable]:
        """The exact integers in each of these worlds."""
        made = self.source.statement(release, staged)

        def work() -> ExactTable:
            rows = self.execute(made, {})
            return read_table(release, iter([rows] if rows else []))

        return [self._asked(place, work, made) for place in places]

    def count(
        self, release: BoundedRelease, staged: Mapping[str, StagedRows], shown: Sequence[Key]
    ) -> list[tuple[ExactHistogram, ...]]:
        """The exact histograms of these groups in each world."""
        keys = shown_parameters(release.keys, shown)
        made = [self.source.counting(release, one, staged) for one in release.histograms]

        def work() -> tuple[ExactHistogram, ...]:
            return tuple(
                read_histogram(release, one, [self.execute(each, keys)])
                for one, each in zip(release.histograms, made, strict=True)
            )

        return [self._asked(place, work, made[0]) for place in self.places]

    def _asked(self, place: str, work: Callable[[], T], made: Select[Any]) -> T:
        """The answer of a world; what took long by the clock of a busy machine is tried again."""
        found, took = self._timed(place, work, made)
        for _ in range(_RETRIES):
            if took > LONGEST_S:
                found, took = self._timed(place, work, made)
        self.longest_s = max(self.longest_s, took)
        if took > LONGEST_S:
            raise Raised(f"{self.name}: a statement took {took:.1f} s, and as long again and again")
        return found

    def _timed(self, place: str, work: Callable[[], T], made: Select[Any]) -> tuple[T, float]:
        self.enter(place)
        before, at = thread_time(), perf_counter()
        try:
            with self.alarm.set_to(_STOPPED_S, self.stop):
                found = work()
        except (SQLAlchemyError, duckdb.Error) as error:
            cause = getattr(error, "orig", None) or error
            text = f"{type(cause).__name__}: {str(cause)[:300]}\n{str(made)[:4000]}"
            raise Raised(f"{self.name}: {text}") from None
        # this thread waits for PostgreSQL, so there it is the clock's time
        return found, thread_time() - before if self.name == "duckdb" else perf_counter() - at


@contextmanager
def worlds_in(server: Server, catalog: Catalog) -> Iterator[tuple[Worlds, Worlds]]:
    """In both databases, gone afterwards."""
    server.catalogs += 1
    every = [
        catalog.world,
        *(catalog.without(one) for one in catalog.units),
        catalog.without(None),
    ]
    if catalog.blurs:
        every.append(replace(catalog.world, rows=blurred(catalog)))
    places = tuple(f"{server.prefix}_{server.catalogs}_{number}" for number in range(len(every)))
    pair = _in_duckdb(server, catalog, places), _in_postgresql(server, catalog, places)
    for worlds in pair:
        if catalog.blurs:
            *worlds.places, worlds.blurred = places
    try:
        _fill_postgresql(server, catalog, places, every)
        _fill_duckdb(server, catalog, places, every)
        for worlds in pair:
            worlds.enter(places[0])
        mine = SourceTables(
            ("main",), read_duckdb(lambda sql: server.duckdb.execute(sql).fetchall())
        )
        pair[0].proven = prove_tables(catalog.policy.dataset, mine)
        pair[1].proven = prove_tables(catalog.policy.dataset, describe_source(server.postgresql))
        yield pair
    finally:
        for worlds in pair:
            worlds.source.close()
        server.duckdb.execute("USE memory")
        for place in places:
            server.duckdb.execute(f"DETACH DATABASE IF EXISTS {place}")
        with server.writer.transaction():
            for place in places:
                server.writer.execute(f"DROP SCHEMA IF EXISTS {place} CASCADE".encode())


def _in_postgresql(server: Server, catalog: Catalog, places: tuple[str, ...]) -> Worlds:
    """Its source reads what is public, which is the same in every world."""
    options = f"{server.url.query['options']} -c search_path={places[0]}"
    there = server.url.update_query_dict({"options": options})
    connection = server.postgresql
    return Worlds(
        "postgresql",
        SourceDatabase.open(there, TotalScalarSql(), salt=SALT),
        lambda place: connection.exec_driver_sql(f"SET search_path = {place}"),
        lambda made, given: connection.execute(made, given).all(),
        lambda: None,  # it has a limit of its own
        server.alarm,
        places,
        {},
    )


def _in_duckdb(server: Server, catalog: Catalog, places: tuple[str, ...]) -> Worlds:
    """Its source renders alone."""
    connection, known = server.duckdb, DuckdbStatements()

    def execute(made: Select[Any], given: Given) -> Sequence[Any]:
        one = known.find(made)
        return connection.execute(one.text, one.parameters(given)).fetchall()

    return Worlds(
        "duckdb",
        SourceDatabase.open(URL.create("duckdb", database=":memory:"), TotalScalarSql(), salt=SALT),
        lambda place: connection.execute(f"USE {place}"),
        execute,
        connection.interrupt,
        server.alarm,
        places,
        {},
    )


def _fill_postgresql(
    server: Server, catalog: Catalog, places: Sequence[str], every: Sequence[World]
) -> None:
    with server.writer.transaction(), server.writer.pipeline():
        for number, (place, world) in enumerate(zip(places, every, strict=True)):
            server.writer.execute(f"CREATE SCHEMA {place}".encode())
            server.writer.execute(f"SET LOCAL search_path = {place}".encode())
            for sql, values in filling(world.shuffled(number), "postgresql", catalog.constraints):
                server.writer.execute(sql.encode(), values)


def _fill_duckdb(
    server: Server, catalog: Catalog, places: Sequence[str], every: Sequence[World]
) -> None:
    for number, (place, world) in enumerate(zip(places, every, strict=True)):
        server.duckdb.execute(f"ATTACH ':memory:' AS {place}")
        server.duckdb.execute(f"USE {place}")
        for sql, values in filling(world.shuffled(-number), "duckdb", catalog.constraints):
            server.duckdb.execute(sql, values)
