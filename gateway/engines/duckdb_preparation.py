"""Preparation of queries on DuckDB: a process that holds the file, and the catalog of that file.

A process is taken before the charge and runs the statements of one query. It opened its file for reading alone, so
nothing in it changes while the process exists: its catalog is read once, in that process, and stays valid.

DuckDB SQL of a statement: its text and its parameters, `$1`, `$2`, … and a list. SQLAlchemy compiles a statement
object once and caches it. No database is reached here.

INVARIANT: statements run in the process whose catalog was read, on the file that it opened. The end of that
process ends the query: no other process continues it.
INVARIANT: the computing time begins when the process is told to run. Waiting for a process comes before the charge
and is no time-out of the source's.
INVARIANT: DuckDB's own PREPARE plans, and planning computes: nothing is parsed in advance. The catalog says that a
file has tables and columns as declared.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final
from weakref import WeakKeyDictionary

from duckdb_sqlalchemy import Dialect
from sqlalchemy import URL, Select

from gateway.cancellation import Computation, SourceEnd, call_when_cancelled
from gateway.catalog.zones import UTC_NAME
from gateway.engines.catalog.describe import duckdb_tables
from gateway.engines.duckdb_process.frames import BrokenFrame, Row
from gateway.engines.duckdb_process.pool import (
    LeasedProcess,
    Pool,
    PoolBusy,
    PoolStopped,
    WaitCancelled,
    places_for,
)
from gateway.engines.duckdb_process.process import (
    Identity,
    Launcher,
    ProcessLate,
    ProcessLost,
    ProcessSettings,
    StatementFailed,
)
from gateway.engines.failures import Failures
from gateway.engines.preparation import (
    Given,
    Preparation,
    Read,
    Render,
    SourceCatalog,
    Statement,
    T,
)
from gateway.errors import BackendUnavailable, Code, Refusal, SourceStopped
from gateway.events import SourceFailed

_DIALECT: Final = Dialect(paramstyle="numeric_dollar")
_Process = Callable[[Any], object]


@dataclass(frozen=True)
class DuckdbSql:
    """One statement: its text, and for each of its parameters the name, the value and the conversion."""

    text: str
    places: tuple[tuple[str, Any, _Process | None], ...]

    def parameters(self, given: Mapping[str, list[str | None]]) -> list[object]:
        """The values in the order of their numbers; `given` ones replace those of the statement."""
        return [
            value if process is None else process(value)
            for name, there, process in self.places
            for value in (given.get(name, there),)
        ]


class DuckdbStatements:
    """The compiled statements, as long as a caller holds them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Select[Any], DuckdbSql] = WeakKeyDictionary()

    def find(self, statement: Select[Any]) -> DuckdbSql:
        """The SQL of this statement; it is compiled once."""
        with self._lock:
            found = self._known.get(statement)
        if found is None:
            found = compile_for_duckdb(statement)
            with self._lock:
                self._known[statement] = found
        return found


def compile_for_duckdb(statement: Select[Any]) -> DuckdbSql:
    """The text of the statement, and its parameters by position."""
    compiled: Any = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    values, binds = compiled.construct_params(_check=False), compiled.binds
    places = []
    for name in compiled.positiontup or ():
        bind = binds.get(name)
        kind = None if bind is None else bind.type.dialect_impl(_DIALECT)
        places.append((name, values[name], None if kind is None else kind.bind_processor(_DIALECT)))
    return DuckdbSql(str(compiled), tuple(places))


_CATALOG_S: Final = 10.0
_NO_ROOM: Final = frozenset({"OutOfMemoryException", "MemoryError"})
_AWAY: Final = frozenset({*_NO_ROOM, "IOException", "ConnectionException", "OSError"})
"""Classes of errors that speak of the machine or the file, not of the statement."""
_BROKEN = (StatementFailed, ProcessLate, ProcessLost, BrokenFrame)


_LAUNCHER: Final = Launcher()
"""One for all files of this process: DuckDB is loaded once. It starts nothing before the first question."""
atexit.register(_LAUNCHER.close)


class DuckDbDatabase:
    """The database in one DuckDB file. Safe among threads."""

    def __init__(
        self,
        url: URL,
        failures: Failures,
        search_path: Sequence[str] = (),
        zone: str = UTC_NAME,
    ) -> None:
        self.failures = failures
        self.search_path = tuple(search_path)
        self.statements = DuckdbStatements()
        config = {name: str(value) for name, value in url.query.items() if name != "access_mode"}
        config["TimeZone"] = zone
        places = places_for(os.cpu_count() or 1)
        settings = ProcessSettings(url.database or "", config, places, self.search_path)
        self.pool = Pool(settings, _LAUNCHER)
        self._lock = threading.Lock()
        self._catalogs: dict[Identity, SourceCatalog] = {}

    def prepare(
        self,
        tables: Sequence[str],
        *,
        subject: str,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> Preparation:
        """Lease a process. A subject that has its share of them waits for one of its own."""
        with ExitStack() as stack:
            with self._before_charge(cancelled):
                leased = stack.enter_context(self.pool.lease(subject, limit_s, cancelled))
                catalog = self._catalog(leased)
            if any(catalog.described.find(name) is None for name in tables):
                raise BackendUnavailable(Code.SOURCE_SCHEMA)
            return _Prepared(self, leased, catalog, stack.pop_all())

    def close(self) -> None:
        """End the processes that are not in use."""
        self.pool.close()

    def stop(self) -> None:
        """Kill every process."""
        self.pool.stop()

    def _catalog(self, leased: LeasedProcess) -> SourceCatalog:
        """The catalog of the file that this process has open; equal catalogs are one object."""
        with self._lock:
            found = self._catalogs.get(leased.identity)
        if found is not None:
            return found
        deadline = monotonic() + _CATALOG_S

        def ask(sql: str) -> Iterator[Row]:
            for some in leased.process.run(sql, (), deadline):
                yield from some

        made = SourceCatalog(duckdb_tables(ask, self.search_path))
        with self._lock:
            for there in self._catalogs.values():
                if there.described == made.described:
                    made = there
            self._catalogs = {
                **{one: had for one, had in self._catalogs.items() if self.pool.has(one.number)},
                leased.identity: made,
            }
        return made

    @contextmanager
    def _before_charge(self, cancelled: threading.Event | None) -> Iterator[None]:
        """The error before a charge."""
        try:
            yield
        except WaitCancelled:
            raise SourceStopped(Code.SOURCE_CANCELLED) from None
        except PoolStopped:
            raise SourceStopped(Code.SOURCE_CANCELLED, "the gateway is stopping") from None
        except PoolBusy:
            raise BackendUnavailable(
                Code.SOURCE_UNAVAILABLE,
                "your earlier queries to this source are still running",
                "try again after one of them has finished",
            ) from None
        except _BROKEN as error:
            if self.pool.is_stopped or (cancelled is not None and cancelled.is_set()):
                raise SourceStopped(Code.SOURCE_CANCELLED) from None
            raise self._unavailable(error) from None

    def failed(
        self, error: Exception, ran: Computation, cancelled: threading.Event | None
    ) -> Refusal:
        """The error after a charge."""
        if isinstance(error, ProcessLate):
            return SourceStopped(Code.SOURCE_TIMEOUT, computation=ran)
        if self.pool.is_stopped:
            stopped = Computation(ran.seconds, ran.limit_s, SourceEnd.STOP)
            return SourceStopped(Code.SOURCE_CANCELLED, computation=stopped)
        if isinstance(error, ProcessLost) and cancelled is not None and cancelled.is_set():
            left = Computation(ran.seconds, ran.limit_s, SourceEnd.CANCEL)
            return SourceStopped(Code.SOURCE_CANCELLED, computation=left)
        kind = _kind(error)
        if isinstance(error, ProcessLost) or kind in _NO_ROOM:
            # where the kernel is short of memory it kills such a process
            return self.failures.exhausted(kind, ran)
        if isinstance(error, StatementFailed) and kind not in _AWAY:
            return self.failures.incident(f"the source refused our SQL: {kind}")
        return self._unavailable(error)

    def _unavailable(self, error: Exception) -> Refusal:
        self.failures.emit(SourceFailed(_kind(error)))
        return BackendUnavailable(Code.SOURCE_UNAVAILABLE)


class _Prepared:
    """One query on its process."""

    def __init__(
        self,
        database: DuckDbDatabase,
        leased: LeasedProcess,
        catalog: SourceCatalog,
        held: ExitStack,
    ) -> None:
        self.catalog = catalog
        self._database = database
        self._leased = leased
        self._held = held

    def parse(self, statements: Sequence[Statement], given: Given) -> None:
        """Refuse a statement that the source cannot parse."""

    def run(
        self,
        render: Render,
        parts: int,  # noqa: ARG002 - it uses all cores for one statement
        given: Given,
        read: Read[T],
        *,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> T:
        [statement] = render(1)
        sql = self._database.statements.find(statement)
        began = monotonic()
        try:
            with call_when_cancelled(cancelled, self._leased.process.abandon):
                rows = self._leased.process.run(sql.text, sql.parameters(given), began + limit_s)
                return read([rows])
        except _BROKEN as error:
            ran = Computation(monotonic() - began, limit_s, SourceEnd.LIMIT)
            raise self._database.failed(error, ran, cancelled) from None

    def close(self) -> None:
        self._held.close()


def _kind(error: Exception) -> str:
    """The kind of failure for the operator's log."""
    return error.kind if isinstance(error, StatementFailed) else type(error).__name__
