"""The database with the rows of persons: it is read, for a limited time, and nothing else.

INVARIANT: every session is read-only and pinned before its first statement, and whatever the source says in
an error stays out of what is raised: an analyst gets one fixed text for each code, the log a class and a state.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final, cast

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, text
from sqlalchemy import column as sql_column
from sqlalchemy import select as sql_select
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql import quoted_name
from sqlalchemy.sql.expression import Select

from gateway.bounding.bounded import BoundedRelease
from gateway.catalog.tables import Table
from gateway.engines.cancelling import Stopped, watched
from gateway.engines.expressing import Dialect, Expressing
from gateway.engines.reading_values import value_of
from gateway.engines.release import Dressed, select_release
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
from gateway.exact import ExactTable

_PATIENCE_S: Final = 5
_FETCH_LIMIT_S: Final = 30.0
_UNREACHABLE: Final = frozenset({"08", "25", "40", "53", "57", "58"})
"""Classes of SQLSTATE that speak of the server, not of the statement; 25: it is a standby in recovery."""
_NO_ROOM: Final = frozenset({"OutOfMemoryException", "IOException", "ConnectionException"})
_PINNED: Final = {
    "default_transaction_read_only": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lock_timeout": "5000",
}


@dataclass(frozen=True)
class Source:
    """One dataset's database. `expressing` makes its SQL expressions, `salt` is public."""

    engine: Engine
    expressing: Expressing
    salt: str
    emit: Emit = silent

    @classmethod
    def open(
        cls, url: URL, expressing: Expressing, *, salt: str, emit: Emit = silent, size: int = 4
    ) -> "Source":
        """Nothing is reached yet; the first statement does."""
        engine = create_engine(
            url,
            poolclass=QueuePool,
            pool_size=size,
            pool_pre_ping=url.get_backend_name() != "duckdb",
            connect_args=_arguments(url),
            hide_parameters=True,
        )
        return cls(engine, expressing, salt, emit)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

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
    ) -> ExactTable:
        """The exact integers of a release, as one snapshot of the source gives them."""
        made = self.statement(release, staged)
        with self._reading(limit_s, cancelled) as connection:
            rows = connection.execute(made).all()
        kinds = [key.type for key in release.keys]
        keys = tuple(
            tuple(value_of(one, kind) for one, kind in zip(row, kinds, strict=False))
            for row in rows
        )
        measured = tuple(
            tuple(int(row[len(kinds) + place]) for row in rows)
            for place in range(len(release.measurements))
        )
        return ExactTable(keys, measured)

    def statement(self, release: BoundedRelease, staged: Mapping[str, StagedRows]) -> Select[Any]:
        """What will be sent, or the refusal of what this source cannot compute; nothing is sent."""
        return select_release(release, staged, Dressed(self.dialect, self.expressing, self.salt))

    def reach(self) -> None:
        """Connect, if nobody is connected; or the refusal that says the source is away."""
        with self._reading(_FETCH_LIMIT_S, None):
            pass

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
        wanted = sql_select(*there.c).limit(most_rows + 1)
        with self._reading(_FETCH_LIMIT_S, None) as connection:
            rows = connection.execute(cast("Select[Any]", wanted)).all()
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

    @contextmanager
    def _reading(self, limit_s: float, cancelled: threading.Event | None) -> Iterator[Connection]:
        stopped = Stopped.NOT
        try:
            with self.engine.connect() as connection:
                stop = _stopping(connection, self.dialect)
                if self.dialect == "postgresql":
                    connection.execution_options(isolation_level="REPEATABLE READ")
                    limit = max(1, int(limit_s * 1000))
                    connection.execute(
                        text("SELECT set_config('statement_timeout', :limit, true)"),
                        {"limit": str(limit)},
                    )
                try:
                    with watched(stop, limit_s, cancelled) as watch:
                        yield connection
                finally:
                    stopped = watch.stopped
        except SQLAlchemyError as error:
            raise self._refused(error, stopped) from None

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
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if lost or state[:2] in _UNREACHABLE or kind in _NO_ROOM or _never_reached(kind, state):
            self.emit(SourceFailed(problem))
            return BackendUnavailable(Code.SOURCE_UNAVAILABLE)
        return InternalError(self._incident(f"the source refused our SQL: {problem}"))

    def _incident(self, problem: str) -> str:
        incident = token_hex(8)
        self.emit(Crashed(incident, problem))
        return incident


def _never_reached(kind: str, state: str) -> bool:
    return not state and kind in {"OperationalError", "ConnectionTimeout", "TimeoutError"}


def _stopping(connection: Connection, dialect: Dialect) -> Any:  # noqa: ANN401 - two drivers
    driver: Any = connection.connection.driver_connection
    if dialect == "duckdb":
        return driver.interrupt
    return driver.cancel_safe


def _arguments(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "duckdb":
        # one configuration per file and process: the same as in `connect`
        config = {"enable_external_access": "false", "lock_configuration": "true"}
        return {"read_only": True, "config": config}
    options = " ".join(f"-c {name}={value}" for name, value in _PINNED.items())
    given = url.query.get("options", "")
    return {"connect_timeout": _PATIENCE_S, "options": f"{given} {options}".strip()}
