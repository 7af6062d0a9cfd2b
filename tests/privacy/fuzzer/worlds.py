"""A catalog's rows, and the same without each person in turn, side by side in one database of each kind.

The statements are those that the gateway renders: which world they are about is for the connection to say, by its
search path in PostgreSQL and by its database in DuckDB. Rows lie in another order in every world.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter, thread_time
from typing import Any, Final

import psycopg
from fix_sample import plain
from privacy.fuzzer.catalogs import Catalog
from property.people import World
from property.stores import filling
from sqlalchemy import URL, Connection, StaticPool, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.expression import Select

from gateway.bounding.bounded import BoundedRelease
from gateway.engines.described import describe
from gateway.engines.exact_histograms import histogram_of
from gateway.engines.exact_rows import whole
from gateway.engines.proving import Proven, proven
from gateway.engines.scalars import TotalScalars
from gateway.engines.shown import Key, bound
from gateway.engines.source import Source
from gateway.engines.staged import StagedRows
from gateway.exact import ExactHistogram, ExactTable

SALT: Final = "clinic"
LONGEST_S: Final = 5.0
"""What a statement over some fifty rows may compute: a hundred times what the longest of them takes."""
_STOPPED_S: Final = 30.0


class Raised(Exception):
    """A source raised an error, or computed for too long: either tells of the rows."""


@dataclass
class Alarm:
    """Calls what stops a statement when it runs for too long: DuckDB has no limit of its own."""

    _asked: threading.Condition = field(default_factory=threading.Condition)
    _until: float | None = None
    _stop: Callable[[], None] = lambda: None
    _ended: bool = False

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["Alarm"]:
        """One thread for all statements."""
        made = cls()
        thread = threading.Thread(target=made._wait, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            with made._asked:
                made._ended = True
                made._asked.notify()
            thread.join()

    @contextmanager
    def set_to(self, seconds: float, stop: Callable[[], None]) -> Iterator[None]:
        """While this is open."""
        with self._asked:
            self._until, self._stop = perf_counter() + seconds, stop
        try:
            yield
        finally:
            with self._asked:
                self._until = None

    def _wait(self) -> None:
        with self._asked:
            while not self._ended:
                self._asked.wait(1.0)
                if self._until is not None and perf_counter() > self._until:
                    self._stop()


@dataclass
class Server:
    """A database of each kind, and what the catalog that is there now is called in both."""

    postgresql: Connection
    writer: psycopg.Connection
    duckdb: Connection
    sources: Mapping[str, Source]
    url: URL
    prefix: str
    alarm: "Alarm"
    catalogs: int = 0

    @classmethod
    @contextmanager
    def open(cls, url: URL, prefix: str) -> Iterator["Server"]:
        """`url` is a database of PostgreSQL in which schemas may be made."""
        options = f"-c statement_timeout={int(_STOPPED_S * 1000)} -c jit=off -c TimeZone=UTC"
        there = url.update_query_dict({"options": options})
        sources = {
            "postgresql": Source.open(there, TotalScalars(), salt=SALT),
            "duckdb": Source.open(
                URL.create("duckdb", database=":memory:"), TotalScalars(), salt=SALT
            ),
        }
        engine = create_engine(
            "duckdb:///:memory:", poolclass=StaticPool, connect_args={"config": {"threads": "1"}},
            isolation_level="AUTOCOMMIT",
        )  # fmt: skip
        # DuckDB's driver looks for it on the disk again with every value that is bound
        absent = find_spec("pandas") is None
        if absent:
            sys.modules["pandas"] = None  # type: ignore[assignment]  # that is how Python is told
        try:
            with (
                Alarm.running() as alarm,
                sources["postgresql"].engine.connect() as postgresql,
                engine.connect() as duckdb,
                psycopg.connect(plain(url), autocommit=True) as writer,
            ):
                duckdb.exec_driver_sql("SET TimeZone = 'UTC'")
                # names of tables are never those of variables of ours
                duckdb.exec_driver_sql("SET python_enable_replacements = false")
                yield cls(postgresql, writer, duckdb, sources, there, prefix, alarm)
        finally:
            if absent:
                del sys.modules["pandas"]
            engine.dispose()
            for source in sources.values():
                source.close()


@dataclass
class Worlds:
    """Of one kind of database: the world, the worlds without one person, the world without the rows of nobody."""

    name: str
    source: Source
    connection: Connection
    places: tuple[str, ...]
    proven: Mapping[str, Proven]
    alarm: Alarm
    longest_s: float = 0.0

    def _stop(self) -> None:
        driver: Any = self.connection.connection.driver_connection
        if self.name == "duckdb":
            driver.interrupt()  # PostgreSQL has its own limit

    def public(self, url: URL) -> Source:
        """What public tables are read from: they are the same in every world."""
        options = f"{url.query['options']} -c search_path={self.places[0]}"
        return Source.open(url.update_query_dict({"options": options}), TotalScalars(), salt=SALT)

    def enter(self, place: str) -> None:
        """What is asked from now on is about this world."""
        how = f"USE {place}" if self.name == "duckdb" else f"SET search_path = {place}"
        self.connection.exec_driver_sql(how)

    def run(
        self, release: BoundedRelease, staged: Mapping[str, StagedRows], places: Sequence[str]
    ) -> list[ExactTable]:
        """The exact integers in each of these worlds."""
        made = self.source.statement(release, staged)
        return [
            self._asked(place, lambda: whole(release, self.connection.execute(made)), made)
            for place in places
        ]

    def count(
        self, release: BoundedRelease, staged: Mapping[str, StagedRows], shown: Sequence[Key]
    ) -> list[tuple[ExactHistogram, ...]]:
        """The exact histograms of these groups in each world."""
        keys = bound(release.keys, shown)
        made = [self.source.counting(release, one, staged) for one in release.histograms]

        def work() -> tuple[ExactHistogram, ...]:
            return tuple(
                histogram_of(release, one, [self.connection.execute(each, keys).all()])
                for one, each in zip(release.histograms, made, strict=True)
            )

        return [self._asked(place, work, made[0]) for place in self.places]

    def _asked(self, place: str, work: Callable[[], Any], made: Select[Any]) -> Any:  # noqa: ANN401 - what `work` gives
        self.enter(place)
        before, at = thread_time(), perf_counter()
        try:
            with self.alarm.set_to(_STOPPED_S, self._stop):
                found = work()
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            text = str(made.compile(dialect=self.connection.dialect))[:4000]
            raise Raised(
                f"{self.name}: {type(cause).__name__}: {str(cause)[:300]}\n{text}"
            ) from None
        # threads of ours wait for PostgreSQL, so there it is the clock's time
        took = thread_time() - before if self.name == "duckdb" else perf_counter() - at
        self.longest_s = max(self.longest_s, took)
        if took > LONGEST_S:
            raise Raised(f"{self.name}: a statement took {took:.1f} s")
        return found


@contextmanager
def worlds_in(server: Server, catalog: Catalog) -> Iterator[tuple[Worlds, Worlds]]:
    """In both databases, gone afterwards."""
    server.catalogs += 1
    base = catalog.world
    every = [base, *(catalog.without(one) for one in catalog.units), catalog.without(None)]
    stem = f"{server.prefix}_{server.catalogs}"
    places = tuple(f"{stem}_{number}" for number in range(len(every)))
    try:
        _fill_postgresql(server, catalog, places, every)
        _fill_duckdb(server, catalog, places, every)
        yield (
            _described(server, catalog, "duckdb", places),
            _described(server, catalog, "postgresql", places),
        )
    finally:
        server.duckdb.exec_driver_sql("USE memory")
        for place in places:
            server.duckdb.exec_driver_sql(f"DETACH DATABASE IF EXISTS {place}")
        with server.writer.transaction():
            for place in places:
                server.writer.execute(f"DROP SCHEMA IF EXISTS {place} CASCADE".encode())


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
    driver: Any = server.duckdb.connection.driver_connection
    for number, (place, world) in enumerate(zip(places, every, strict=True)):
        driver.execute(f"ATTACH ':memory:' AS {place}")
        driver.execute(f"USE {place}")
        for sql, values in filling(world.shuffled(-number), "duckdb", catalog.constraints):
            driver.execute(sql, values)


def _described(server: Server, catalog: Catalog, name: str, places: tuple[str, ...]) -> Worlds:
    connection = server.duckdb if name == "duckdb" else server.postgresql
    found = Worlds(name, server.sources[name], connection, places, {}, server.alarm)
    found.enter(places[0])
    found.proven = proven(catalog.policy.dataset, describe(connection))
    return found
