"""Connections to a PostgreSQL source: read-only, pooled between queries, of a supported version.

A source has a minimum version: PostgreSQL 16 has `pg_input_is_valid`, by which a text is read as a date without an
error. DuckDB is part of the gateway: there the file may be too new, and then it cannot be opened.

INVARIANT: every connection is read-only and pinned before its first statement. A statement commits by itself, so
it sees one snapshot, and nothing but the statement goes to the source and back.
INVARIANT: a statement holds its worker for at most `CANCEL_S` and a moment after its time is over: a server that
does not end it by then loses the connection.
INVARIANT: an error names the source's address, never the password, and never repeats what the source said about a
value.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import duckdb
from sqlalchemy import URL, Connection, Engine, NullPool, QueuePool, create_engine, event, text
from sqlalchemy.exc import SQLAlchemyError

from gateway.catalog.zones import UTC_NAME
from gateway.engines.timeout import StatementWatch
from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.state.connections import close_broken

LEAST_POSTGRESQL: Final = 16
_PER_MAJOR: Final = 10_000


def old_version(connection: Connection) -> int | None:
    """The major version of a source if it is too old, else None."""
    if connection.dialect.name != "postgresql":
        return None
    driver: Any = connection.connection.driver_connection
    major = int(driver.info.server_version) // _PER_MAJOR
    return major if major < LEAST_POSTGRESQL else None


def require_version(connection: Connection) -> None:
    """Refuse a source that is too old.

    INVARIANT: no query is sent to such a source.
    """
    if old_version(connection) is not None:
        raise BackendUnavailable(Code.SOURCE_VERSION)


PATIENCE_S: Final = 5
CANCEL_S: Final = 1.0
_LOCK_MS: Final = 5000
_LIMIT: Final = "limit"
_POOL: Final = "pool"
_PINNED: Final = {
    "default_transaction_read_only": "on",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
}
_LIMITED: Final = text(
    "SELECT set_config('statement_timeout', :limit, false), set_config('lock_timeout', :locked, false)"
)


@dataclass
class Attempt:
    """One attempt to query the source; `kept` is true if one of its connections was opened for an earlier query."""

    watch: StatementWatch
    limit_s: float
    kept: bool = False


@dataclass(frozen=True)
class Connections:
    """`engine` has one connection for each query, `spare` has more for queries that run in parts.

    INVARIANT: a query that has a connection never waits for another one: a spare one is free at once, or it is not used.
    """

    engine: Engine
    spare: Engine

    @classmethod
    def open(
        cls,
        url: URL,
        size: int,
        spare: int,
        search_path: Sequence[str] = (),
        zone: str = UTC_NAME,
    ) -> "Connections":
        """Make the pools; no connection is opened yet. `zone` is the time zone of their sessions."""
        main = _engine(url, search_path, zone, pool_size=size)
        return cls(main, _engine(url, search_path, zone, pool_size=spare, max_overflow=0))

    def on_connect(self, told: Callable[..., None]) -> None:
        """Call this for every new connection, before its first statement."""
        for one in (self.engine, self.spare):
            event.listen(one, "connect", told)

    def on_execute(self, instead: Callable[..., bool | None]) -> None:
        """Call `instead` before every statement; a statement for which it returns True is not executed."""
        for one in (self.engine, self.spare):
            event.listen(one, "do_execute", instead)

    def drop(self) -> None:
        """Close the connections that are not in use; the next query connects again."""
        for one in (self.engine, self.spare):
            one.dispose()

    def take(self, attempt: Attempt) -> Connection:
        """The connection of a query. The caller gives it back."""
        return _taken(self.engine, attempt)

    @contextmanager
    def more(self, attempt: Attempt) -> Iterator[Connection | None]:
        """One more connection for the same query; None if the source has no room."""
        connection = None
        with suppress(SQLAlchemyError):
            connection = _taken(self.spare, attempt)
        if connection is None:
            yield None
            return
        try:
            with limit_statements(connection, attempt):
                yield connection
        finally:
            return_connection(connection)


def return_connection(connection: Connection) -> None:
    """Give a connection back to its pool. It is closed if that fails, or if the pool was dropped meanwhile."""
    with suppress(SQLAlchemyError):
        there = not connection.closed and not connection.invalidated
        if there and connection.info[_POOL] is not connection.engine.pool:
            connection.invalidate()  # a pool that was dropped closes nothing that comes back later
        connection.close()


def _taken(engine: Engine, attempt: Attempt) -> Connection:
    # the pool is read before: at worst a connection is closed that could have been kept
    pool = engine.pool
    connection = engine.connect()
    connection.info.setdefault(_POOL, pool)
    attempt.kept = attempt.kept or _LIMIT in connection.info
    return connection


@contextmanager
def limit_statements(connection: Connection, attempt: Attempt) -> Iterator[None]:
    """Within the block, every statement of the connection has the time limit of the attempt."""
    there = connection.info  # of the driver's connection: gone when that is
    with attempt.watch.reaching(statement_stopper(connection, attempt.watch)):
        limit_ms = max(2, int(attempt.limit_s * 1000))
        if there.get(_LIMIT) != limit_ms:
            # a wait for a lock ends first, so that it is never taken for computing
            locked_ms = min(_LOCK_MS, limit_ms // 2)
            connection.execute(_LIMITED, {"limit": str(limit_ms), "locked": str(locked_ms)})
            there[_LIMIT] = limit_ms
        yield


def statement_stopper(connection: Connection, watch: StatementWatch) -> Callable[[], None]:
    """A function that ends the running statement of the connection. It never raises.

    It cancels the statement at the server several times; if that does not end it, it closes the connection.
    """
    driver: Any = connection.connection.driver_connection
    failures = connection.dialect.loaded_dbapi.Error
    began: list[float] = []

    def cancel() -> None:
        began.append(monotonic())
        if began[-1] - began[0] >= CANCEL_S:
            close_broken(driver)
            return
        try:
            driver.cancel_safe(timeout=CANCEL_S)
        except failures:  # the connection is gone, or nobody is there to take the call
            watch.is_unheard = True

    return cancel


def _engine(url: URL, search_path: Sequence[str], zone: str, **pool: int) -> Engine:
    # no ping before use: a statement that meets a dead connection is asked again on a new one
    return create_engine(
        url,
        poolclass=QueuePool,
        pool_timeout=0 if "max_overflow" in pool else 30,
        pool_reset_on_return="rollback",
        isolation_level="AUTOCOMMIT",
        connect_args=_arguments(url, search_path, zone),
        hide_parameters=True,
        **pool,
    )


def _arguments(url: URL, search_path: Sequence[str], zone: str) -> dict[str, Any]:
    # views of the source may read its clock; nothing that the gateway renders does
    pinned = {**_PINNED, "TimeZone": zone}
    options = " ".join(f"-c {name}={value}" for name, value in pinned.items())
    options += _searching(search_path)
    given = url.query.get("options", "")
    return {"connect_timeout": PATIENCE_S, "options": f"{given} {options}".strip()}


def _searching(search_path: Sequence[str]) -> str:
    """The option of a search path; each name is quoted, and blanks are escaped."""
    path = ",".join(f'"{one}"' for one in search_path).replace(" ", "\\ ")
    return f" -c search_path={path}" if path else ""


_PATIENCE_S: Final = 5
_LONGEST_STATEMENT_MS: Final = 30_000
_PARTS: Final = 2
_MOST_PARTS: Final = 8


@contextmanager
def open_source(url: URL, search_path: Sequence[str] = ()) -> Iterator[Connection]:
    """An engine that can read from the source, or an error that names the source."""
    # the catalog is read without opening what views read
    there = split_parts(url)[0].difference_update_query(["allowed_directories"])
    arguments = _arguments_connect(there, search_path)
    engine = create_engine(there, poolclass=NullPool, connect_args=arguments)
    try:
        with engine.connect() as connection:
            old = old_version(connection)
            if old is not None:
                raise OperatorError(
                    Code.SOURCE_VERSION,
                    f"`{source_address(url)}` is PostgreSQL {old}",
                    f"PostgreSQL {LEAST_POSTGRESQL} or later is needed",
                )
            yield connection
    except SQLAlchemyError as error:
        raise OperatorError(
            Code.SOURCE_UNUSABLE, f"`{source_address(url)}`: {_why(error)}", _hint(url)
        ) from None
    finally:
        engine.dispose()


def split_parts(url: URL) -> tuple[URL, int]:
    """The URL for the driver, and the number of parts of a large release: `?parts=4`."""
    if url.get_backend_name() != "postgresql":
        return url, 1  # it uses all cores for one statement
    told = url.query.get("parts", "")
    parts = int(told) if isinstance(told, str) and told.isdecimal() else _PARTS
    return url.difference_update_query(["parts"]), min(max(parts, 1), _MOST_PARTS)


def source_address(url: URL) -> str:
    """The address of the source, without login and options."""
    there = URL.create(url.get_backend_name(), None, None, url.host, url.port, url.database)
    return there.render_as_string()


def _arguments_connect(url: URL, search_path: Sequence[str]) -> dict[str, Any]:
    if url.get_backend_name() == "duckdb":
        config = {"enable_external_access": "false", "lock_configuration": "true"}
        return {"read_only": True, "config": config}
    # PostgreSQL locks a table to tell what its constraints are; whoever alters it must not hold us up
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": str(_LONGEST_STATEMENT_MS),
        "lock_timeout": str(_PATIENCE_S * 1000),
    }
    ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = f"{url.query.get('options', '')} {ours}{_searching(search_path)}"
    return {"connect_timeout": _PATIENCE_S, "options": options.strip()}


def _hint(url: URL) -> str:
    if url.get_backend_name() == "duckdb":
        return (
            f"check that the file exists and was written by DuckDB {duckdb.__version__} or earlier"
        )
    return "check that it is running and that the login may read its catalog"


def _why(error: SQLAlchemyError) -> str:
    """The kind of failure. The driver's text is left out, because it may contain values."""
    cause = getattr(error, "orig", None) or error
    return f"it cannot be reached ({type(cause).__name__})"
