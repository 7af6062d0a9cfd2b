"""The database with the rows of persons: it is read, for a limited time, and nothing else.

INVARIANT: whatever the source says in an error stays out of what is raised: an analyst gets one fixed text for
each code, the log a class and a state.
INVARIANT: an answer is made of the rows of one attempt. Asking again after a connection was found dead draws no
second noise for one charge: noise is drawn from the table that is returned, once, and a failed attempt returns none.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any, Final, TypeVar, cast

from sqlalchemy import URL, Connection, Engine
from sqlalchemy import column as sql_column
from sqlalchemy import select as sql_select
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql import quoted_name
from sqlalchemy.sql.expression import Select

from gateway.bounding.bounded import BoundedRelease
from gateway.catalog.tables import Table
from gateway.engines.cancelling import Stopped, Watchdog
from gateway.engines.connect import parts_told
from gateway.engines.connections import Attempt, Connections
from gateway.engines.exact_rows import added, whole
from gateway.engines.expressing import Dialect, Expressing
from gateway.engines.histogram import histogram_of, select_histogram
from gateway.engines.parted import Part
from gateway.engines.reading_values import value_of
from gateway.engines.release import Dressed, select_release
from gateway.engines.rendered import Rendered
from gateway.engines.sharding import in_parts, one_snapshot
from gateway.engines.staged import StagedRows
from gateway.errors import (
    BackendUnavailable,
    Code,
    InternalError,
    LimitExceeded,
    Refusal,
    SourceStopped,
)
from gateway.events import Crashed, Emit, SourceFailed, silent
from gateway.exact import ExactHistogram, ExactTable
from gateway.sensitivity.choices import Histogram

_FETCH_LIMIT_S: Final = 30.0
_SPARE: Final = 4
_UNREACHABLE: Final = frozenset({"08", "25", "40", "53", "57", "58"})
"""Classes of SQLSTATE that speak of the server, not of the statement; 25: it is a standby in recovery."""
_NO_ROOM: Final = frozenset({"OutOfMemoryException", "IOException", "ConnectionException"})

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """A release, and in how many parts it is asked for where the source has room for that."""

    release: BoundedRelease
    parts: int = 1


@dataclass(frozen=True)
class Source:
    """One dataset's database. `expressing` makes its SQL expressions, `salt` is public.

    `parts` is in how many parts a large release is asked for; 1 where the database itself uses all cores.
    """

    connections: Connections
    expressing: Expressing
    salt: str
    emit: Emit = silent
    parts: int = 1
    _watchdog: Watchdog = field(default_factory=Watchdog)
    _rendered: Rendered = field(default_factory=Rendered)
    _rendered_histograms: Rendered = field(default_factory=Rendered)

    @classmethod
    def open(
        cls,
        url: URL,
        expressing: Expressing,
        *,
        salt: str,
        emit: Emit = silent,
        size: int = 4,
        spare: int = _SPARE,
    ) -> "Source":
        """Nothing is reached yet; the first statement does."""
        there, parts = parts_told(url)
        return cls(Connections.open(there, size, spare), expressing, salt, emit, parts)

    def close(self) -> None:
        """Let go of all connections."""
        self.connections.drop()
        self._watchdog.close()

    @property
    def engine(self) -> Engine:
        return self.connections.engine

    @property
    def dialect(self) -> Dialect:
        return "duckdb" if self.engine.dialect.name == "duckdb" else "postgresql"

    def run(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
        parts: int = 1,
    ) -> ExactTable:
        """The exact integers of a release, as one snapshot of the source gives them."""
        wanted = Wanted(release, parts)
        return self.ask(lambda: wanted, staged, limit_s=limit_s, cancelled=cancelled)

    def ask(
        self,
        make: Callable[[], Wanted],
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> ExactTable:
        """The exact integers of what `make` gives, which is called when all connections are there.

        It is called again when one was made meanwhile, so that it can look at what the source proves now.
        """

        def work(connection: Connection, attempt: Attempt) -> ExactTable:
            wanted = make()
            if wanted.parts > 1:
                found = self._in_parts(connection, make, wanted.parts, staged, attempt)
                if found is not None:
                    return found
                wanted = make()
            made = self.statement(wanted.release, staged)
            return whole(wanted.release, connection.execute(made).all())

        return self._attempted(work, limit_s, cancelled)

    def count(
        self,
        make: Callable[[], BoundedRelease],
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> tuple[ExactHistogram, ...]:
        """The exact histograms of what `make` gives, one after the other: each as a snapshot of its own gives it."""

        def work(connection: Connection, _: Attempt) -> tuple[ExactHistogram, ...]:
            release = make()
            return tuple(
                histogram_of(
                    release,
                    one,
                    connection.execute(self.counting(release, one, staged)).all(),
                )
                for one in release.histograms
            )

        return self._attempted(work, limit_s, cancelled)

    def counting(
        self, release: BoundedRelease, histogram: Histogram, staged: Mapping[str, StagedRows]
    ) -> Select[Any]:
        """What will be sent for one histogram of a release; nothing is sent."""
        alone = replace(release, measurements=(), histograms=(histogram,))

        def render() -> Select[Any]:
            dressed = Dressed(self.dialect, self.expressing, self.salt)
            return select_histogram(alone, histogram, staged, dressed)

        return render() if staged else self._rendered_histograms.find(alone, None, render)

    def _in_parts(
        self,
        first: Connection,
        make: Callable[[], Wanted],
        parts: int,
        staged: Mapping[str, StagedRows],
        attempt: Attempt,
    ) -> ExactTable | None:
        """None where the source has no room, or no shared snapshot, for so many connections."""
        with ExitStack() as stack:
            others: list[Connection] = []
            for _ in range(parts - 1):
                another = stack.enter_context(self.connections.more(attempt))
                if another is None:
                    return None
                others.append(another)
            wanted = make()  # connections may just have been made
            if wanted.parts != parts:
                return None
            every = (first, *others)
            made = [
                self.statement(wanted.release, staged, (place, parts)) for place in range(parts)
            ]
            if not stack.enter_context(one_snapshot(first, others, attempt.watch)):
                return None
            return added(wanted.release, in_parts(list(zip(every, made, strict=True))))

    def statement(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        part: Part | None = None,
    ) -> Select[Any]:
        """What will be sent, or the refusal of what this source cannot compute; nothing is sent."""

        def render() -> Select[Any]:
            dressed = Dressed(self.dialect, self.expressing, self.salt)
            return select_release(release, staged, dressed, part)

        return render() if staged else self._rendered.find(release, part, render)

    def fetch(self, table: Table, most_rows: int) -> StagedRows:
        """A public table as it is; one with more rows is refused, not cut."""
        if not table.public:
            raise InternalError(self._incident("a protected table was to be fetched"))
        schema, _, name = table.name.rpartition(".")
        names: list[Any] = [sql_column(quoted_name(one.name, quote=True)) for one in table.columns]
        there = sql_table(
            quoted_name(name, quote=True),
            *names,
            schema=quoted_name(schema, quote=True) if schema else None,
        )
        wanted = cast("Select[Any]", sql_select(*there.c).limit(most_rows + 1))
        rows = self._attempted(
            lambda connection, _: connection.execute(wanted).all(), _FETCH_LIMIT_S, None
        )
        if len(rows) > most_rows:
            raise LimitExceeded(Code.TABLE_TOO_LARGE, f"`{table.name}`")
        kinds = [one.type for one in table.columns]
        return StagedRows(
            tuple((one.name, one.type) for one in table.columns),
            tuple(
                tuple(value_of(one, kind) for one, kind in zip(row, kinds, strict=True))
                for row in rows
            ),
        )

    def _attempted(
        self,
        work: Callable[[Connection, Attempt], T],
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> T:
        """Once, and once more where a connection that was kept from earlier questions was found dead.

        The charge stays what it is: it pays for one draw of noise, whatever the source is asked for it. `work`
        starts from nothing on a new connection, what it rests on proofs for included.
        """
        with self._watchdog.watching(limit_s, cancelled) as watch:
            attempt = Attempt(watch, limit_s)
            try:
                return self._once(work, attempt)
            except SQLAlchemyError as error:
                if not (_lost(error) and attempt.kept and watch.stopped is Stopped.NOT):
                    raise self._refused(error, watch.stopped) from None
            self.connections.drop()  # whatever ended it may have ended the others
            try:
                return self._once(work, Attempt(watch, limit_s))
            except SQLAlchemyError as error:
                raise self._refused(error, watch.stopped) from None

    def _once(self, work: Callable[[Connection, Attempt], T], attempt: Attempt) -> T:
        with self.connections.one(attempt) as connection:
            return work(connection, attempt)

    def _refused(self, error: SQLAlchemyError, stopped: Stopped) -> Refusal:
        cause = error.orig if isinstance(error, DBAPIError) else None
        state = str(getattr(cause, "sqlstate", None) or "")
        kind = type(cause or error).__name__
        interrupted = state == "57014" or kind == "InterruptException"
        if interrupted and stopped is Stopped.CANCELLED:
            return SourceStopped(Code.SOURCE_CANCELLED)
        if interrupted:
            return SourceStopped(Code.SOURCE_TIMEOUT)
        problem = f"{kind} {state}".strip()
        if (
            _lost(error)
            or state[:2] in _UNREACHABLE
            or kind in _NO_ROOM
            or _never_reached(kind, state)
        ):
            self.emit(SourceFailed(problem))
            return BackendUnavailable(Code.SOURCE_UNAVAILABLE)
        return InternalError(self._incident(f"the source refused our SQL: {problem}"))

    def _incident(self, problem: str) -> str:
        incident = token_hex(8)
        self.emit(Crashed(incident, problem))
        return incident


def _never_reached(kind: str, state: str) -> bool:
    return not state and kind in {"OperationalError", "ConnectionTimeout", "TimeoutError"}


def _lost(error: SQLAlchemyError) -> bool:
    return isinstance(error, DBAPIError) and error.connection_invalidated
