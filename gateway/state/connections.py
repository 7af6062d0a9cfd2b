"""Connections to the state: engines, prepared reads, interruption of all connections, and a watchdog.

All connections use one dialect and UTC, have no hidden waits, and no parameter appears in a message. All of
them can be cut at once: a gateway that is stopping does not wait for a database that is slow, locked or gone,
and a waiting caller sees an ordinary broken connection. A commit that was running takes effect or does not, as
after a crash; its query is unanswered either way.

Prepared reads fetch one row with a prepared statement and without a transaction. SQLAlchemy's own way takes
five times as long, because it begins and ends a transaction and converts the rows, and every request makes such
reads. The connections are the engine's own all the same.

The watchdog ends a wait for a database that stopped answering without closing its connection. A client of
PostgreSQL waits for ever when the server is frozen or the network drops packets; the watchdog shuts such a
socket down after a time limit, and the waiting caller sees an ordinary broken connection.
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

    A caller that must not wait for ever uses an engine without a pool: a pooled connection may lead to a server
    that stopped answering, and the pool would wait for it.
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
    """Replace a connection that ended while it was idle in the pool.

    SQLAlchemy's own check asks the server, so every read would wait once more. But a server gives a reason
    before it ends a connection, and sends nothing else to an idle one. New connections are not checked: the
    pool gives up when a new one is taken for broken.
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
    """Set what must hold whatever environment and server say.

    libpq lets PGTZ and PGDATESTYLE override any option, and a server may be configured to answer before a
    commit is on its disk: a charge must be durable before the caller goes on.
    """
    del record
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute(_DURABLE)
    connection.execute(
        "SET TIME ZONE 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'"
    )
    connection.autocommit = autocommit


def without_limits(connection: Connection) -> None:
    """Remove the time limit of this transaction: an export is as slow as its reader."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))


class ConnectionLines:
    """The connections of some engines."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakSet[psycopg.Connection] = WeakSet()
        self._is_cut = False

    def watch(self, engine: Engine) -> Engine:
        event.listen(engine, "do_connect", self._require_uncut)
        event.listen(engine, "connect", self._remember)
        return engine

    def cut(self) -> None:
        """End every wait, and prevent new ones."""
        with self._lock:
            self._is_cut = True
            made = list(self._made)
        for connection in made:
            close_broken(connection)

    def _require_uncut(self, *connecting: object) -> None:
        del connecting
        if self._is_cut:
            raise psycopg.OperationalError("the gateway is stopping")

    def _remember(self, connection: psycopg.Connection, record: object) -> None:
        del record
        with self._lock:
            self._made.add(connection)
        if self._is_cut:
            close_broken(connection)


def close_broken(connection: psycopg.Connection) -> None:
    """Close it from another thread; a waiting caller sees a broken connection."""
    with (
        suppress(OSError, psycopg.Error),  # it may be closed already
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)


UNREACHABLE: Final = (
    *(OperationalError, InterfaceError, PoolTimeout),
    *(psycopg.OperationalError, psycopg.InterfaceError),
)
"""What says that the state cannot be asked, whether SQLAlchemy or the driver says it."""


class PreparedRead:
    """A prepared statement that only reads, with named parameters."""

    def __init__(self, statement: Select[Any]) -> None:
        dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        self._text = str(statement.compile(dialect=dialect)).encode()

    def one_or_none(self, engine: Engine, values: Mapping[str, str]) -> tuple[Any, ...] | None:
        """The only row, if there is one."""
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


class SocketWatchdog:
    """Watches one socket at a time; its thread runs only while a socket is watched for long."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._socket = -1
        self._deadline = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self) -> Iterator[Callable[[int], None]]:
        """Within this context, the socket named last is shut down when the limit is over."""
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
