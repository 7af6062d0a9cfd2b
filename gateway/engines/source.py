"""The database with the rows of persons: it is read, for a limited time, and nothing else.

INVARIANT: whatever the source says in an error stays out of what is raised: an analyst gets one fixed text for
each code, the log a class and a state.
INVARIANT: an answer is made of the rows of one attempt. Asking again after a connection was found dead draws no
second noise for one charge: noise is drawn from the table that is returned, once, and a failed attempt returns none.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
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
from gateway.engines.exact_histograms import histogram_of
from gateway.engines.exact_rows import Rows, added, whole
from gateway.engines.expressing import Dialect, Expressing
from gateway.engines.histogram import select_histogram
from gateway.engines.parted import Part
from gateway.engines.reading_values import value_of
from gateway.engines.release import Dressed, select_release
from gateway.engines.rendered import Rendered
from gateway.engines.sharding import Bound, in_parts, one_snapshot
from gateway.engines.shown import Key, bound
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

        def work(wanted: Wanted, every: Sequence[Connection]) -> ExactTable:
            made = [self.statement(wanted.release, staged, part) for part in _parts(every)]
            if len(every) == 1:
                return whole(wanted.release, every[0].execute(made[0]))
            return added(wanted.release, _rows(every, made))

        return self._attempted(
            lambda connection, attempt: self._asked(connection, attempt, make, work),
            limit_s,
            cancelled,
        )

    def count(
        self,
        make: Callable[[], Wanted],
        shown: Sequence[Key] | None,
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> tuple[ExactHistogram, ...]:
        """The exact histograms of what `make` gives: of the groups that are `shown`; of all where that is None.

        INVARIANT: who asks for some groups has their keys from what was released.
        """

        def work(wanted: Wanted, every: Sequence[Connection]) -> tuple[ExactHistogram, ...]:
            release, among = wanted.release, shown is not None
            keys = bound(release.keys, shown or ())
            return tuple(
                histogram_of(
                    release,
                    one,
                    _rows(
                        every,
                        [
                            self.counting(release, one, staged, part, among=among)
                            for part in _parts(every)
                        ],
                        keys if among else {},
                    ),
                )
                for one in release.histograms
            )

        return self._attempted(
            lambda connection, attempt: self._asked(connection, attempt, make, work),
            limit_s,
            cancelled,
        )

    def counting(
        self,
        release: BoundedRelease,
        histogram: Histogram,
        staged: Mapping[str, StagedRows],
        part: Part | None = None,
        *,
        among: bool = True,
    ) -> Select[Any]:
        """What will be sent for one histogram of a release; nothing is sent."""
        alone = replace(release, measurements=(), histograms=(histogram,))

        def render() -> Select[Any]:
            dressed = Dressed(self.dialect, self.expressing, self.salt)
            return select_histogram(alone, histogram, staged, dressed, part, among=among)

        if staged or not among:
            return render()
        return self._rendered_histograms.find(alone, part, render)

    def _asked(
        self,
        first: Connection,
        attempt: Attempt,
        make: Callable[[], Wanted],
        work: Callable[[Wanted, Sequence[Connection]], T],
    ) -> T:
        """What is made of a release on one connection, or on one for each of its parts."""
        wanted = make()
        if wanted.parts > 1:
            found = self._in_parts(first, attempt, make, wanted.parts, work)
            if found is not None:
                return found
            wanted = make()
        return work(wanted, (first,))

    def _in_parts(
        self,
        first: Connection,
        attempt: Attempt,
        make: Callable[[], Wanted],
        parts: int,
        work: Callable[[Wanted, Sequence[Connection]], T],
    ) -> T | None:
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
            if not stack.enter_context(one_snapshot(first, others, attempt.watch)):
                return None
            return work(wanted, (first, *others))

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


def _parts(every: Sequence[Connection]) -> list[Part | None]:
    """What each connection is asked for: the whole where it is the only one."""
    return [None] if len(every) == 1 else [(place, len(every)) for place in range(len(every))]


def _rows(
    every: Sequence[Connection], made: Sequence[Select[Any]], given: Bound | None = None
) -> list[Rows]:
    if len(every) > 1:
        return in_parts(list(zip(every, made, strict=True)), given)
    return [every[0].execute(made[0], given).all()]


def _never_reached(kind: str, state: str) -> bool:
    return not state and kind in {"OperationalError", "ConnectionTimeout", "TimeoutError"}


def _lost(error: SQLAlchemyError) -> bool:
    return isinstance(error, DBAPIError) and error.connection_invalidated
