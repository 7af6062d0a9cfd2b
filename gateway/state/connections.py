"""Connections to the state: one dialect, UTC, no hidden waits, no parameter in any message.

Every connection to the state, so that all of them can be cut at once.

A gateway that is told to end does not wait for a database that is slow, locked or gone: whoever
waits for it then sees an ordinary broken connection. A commit that was under way lands or does not,
as after a crash; its question was not answered either way.

Read one row with a statement that PostgreSQL has planned before, without a transaction around it.

SQLAlchemy's own way takes five times as long: it begins a transaction, ends it, and dresses the rows. What
every request reads pays for that each time. The connections are the engine's own all the same.

Ends a wait on a database that stopped answering without closing its connection.

A client that waits for PostgreSQL waits for ever when the server is frozen or the network swallows
packets. The watchdog shuts such a socket down after a time limit; the waiting side then sees an
ordinary broken connection.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final
from weakref import WeakSet

import psycopg
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    PoolProxiedConnection,
    Select,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

_LOCK_TIMEOUT_MS = 10_000
_STATEMENT_TIMEOUT_MS = 15_000
_IDLE_IN_TRANSACTION_MS = 5_000  # a gateway that vanished must not keep its locks
_CONNECT_TIMEOUT_S = 5
_LAY_IDLE = "lay idle"
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)


def engine_for(
    url: URL | str,
    *,
    name: str = "gateway",
    statement_timeout: bool = True,
    pooled: bool = True,
) -> Engine:
    """An engine on the state; administrative work such as restore runs without the time limit.

    Whoever must not wait for ever asks for an engine without a pool: a connection that lay there
    may lead to a server that stopped answering, and the pool would wait for it.
    """
    limits = {
        "lock_timeout": _LOCK_TIMEOUT_MS,
        "statement_timeout": _STATEMENT_TIMEOUT_MS,
        "idle_in_transaction_session_timeout": _IDLE_IN_TRANSACTION_MS,
    }
    options = " ".join(f"-c {key}={value}" for key, value in limits.items() if statement_timeout)
    address = make_url(url).set(drivername="postgresql+psycopg")
    connect_args = {
        "application_name": name,
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "options": f"-c client_encoding=UTF8 {options}".strip(),
    }
    if pooled:
        engine = create_engine(
            address,
            connect_args=connect_args,
            hide_parameters=True,
            pool_size=5,
            max_overflow=10,
            pool_timeout=10,
        )
        event.listen(engine, "checkout", _require_alive)
    else:
        engine = create_engine(
            address, connect_args=connect_args, hide_parameters=True, poolclass=NullPool
        )
    event.listen(engine, "connect", _pin_session)
    return engine


def _require_alive(
    connection: psycopg.Connection, record: ConnectionPoolEntry, proxy: object
) -> None:
    """Another connection instead of one that ended while it lay in the pool.

    SQLAlchemy's own check is a question to the server, for which every read would wait once more. But a
    server says why it ends a connection, then hangs up, and to one that lies idle it says nothing else.
    What is new is not looked at: the pool gives up when that is taken for broken, too.
    """
    del proxy
    if _LAY_IDLE not in record.info:
        record.info[_LAY_IDLE] = True
        return
    poll = select.poll()
    if not connection.closed:
        poll.register(connection.fileno(), select.POLLIN)
    if connection.closed or poll.poll(0):
        raise DisconnectionError


def _pin_session(connection: psycopg.Connection, record: object) -> None:
    """What must hold whatever environment and server say.

    libpq lets PGTZ and PGDATESTYLE beat any option, and a server may be set to answer before a commit
    is on its disk: a charge is durable before the caller goes on.
    """
    del record
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute(_DURABLE)
    connection.execute(
        "SET TIME ZONE 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'"
    )
    connection.autocommit = autocommit


def without_limits(connection: Connection) -> None:
    """Let this transaction take as long as whoever reads along: an export waits for its reader."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))


class Lines:
    """The connections that some engines made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakSet[psycopg.Connection] = WeakSet()
        self._is_cut = False

    def watch(self, engine: Engine) -> Engine:
        event.listen(engine, "do_connect", self._require_uncut)
        event.listen(engine, "connect", self._remember)
        return engine

    def cut(self) -> None:
        """End every wait, and let no new one begin."""
        with self._lock:
            self._is_cut = True
            made = list(self._made)
        for connection in made:
            shut(connection)

    def _require_uncut(self, *connecting: object) -> None:
        del connecting
        if self._is_cut:
            raise psycopg.OperationalError("the gateway is stopping")

    def _remember(self, connection: psycopg.Connection, record: object) -> None:
        del record
        with self._lock:
            self._made.add(connection)
        if self._is_cut:
            shut(connection)


def shut(connection: psycopg.Connection) -> None:
    """Close it from another thread; whoever waits on it sees that it is broken."""
    with (
        suppress(OSError, psycopg.Error),  # it may be closed by now
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)


UNREACHABLE: Final = (
    *(OperationalError, InterfaceError, PoolTimeout),
    *(psycopg.OperationalError, psycopg.InterfaceError),
)
"""What says that the state cannot be asked, whether SQLAlchemy or the driver says it."""


class Prepared:
    """A statement that is only read, with its parameters by name."""

    def __init__(self, statement: Select[Any]) -> None:
        dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        self._text = str(statement.compile(dialect=dialect)).encode()

    def one_or_none(self, engine: Engine, values: Mapping[str, str]) -> tuple[Any, ...] | None:
        """The only row there is, if there is one."""
        lent = engine.raw_connection()
        try:
            driver = _driver(lent)
            driver.autocommit = True  # a read of one statement is its own snapshot
            row: tuple[Any, ...] | None = driver.execute(
                self._text, values, prepare=True
            ).fetchone()
            driver.autocommit = False
        except BaseException:
            lent.invalidate()  # nobody knows what is still on its way there
            raise
        finally:
            lent.close()
        return row


def _driver(lent: PoolProxiedConnection) -> "psycopg.Connection[tuple[Any, ...]]":
    driver = lent.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    return driver


class Watchdog:
    """Watches one socket at a time; a thread runs only while something is watched for long."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._socket = -1
        self._deadline = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self) -> Iterator[Callable[[int], None]]:
        """Within this context the socket named last is shut down when the limit is over."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._patrol, name="state-watchdog", daemon=True)
            self._thread.start()
        self._deadline = time.monotonic() + self._limit_s
        try:
            yield self._name
        finally:
            with self._lock:
                self._socket = -1

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _name(self, file: int) -> None:
        with self._lock:
            self._socket = file

    def _patrol(self) -> None:
        while not self._stop.wait(min(1.0, self._limit_s / 4)):
            with suppress(OSError):  # the connection may have ended by itself
                self._bite()

    def _bite(self) -> None:
        with self._lock:
            if self._socket < 0 or time.monotonic() < self._deadline:
                return
            file, self._socket = self._socket, -1
            duplicate = os.dup(file)
        with socket.socket(fileno=duplicate) as watched:
            watched.shutdown(socket.SHUT_RDWR)
