"""Connections to the state: one dialect, UTC, no hidden waits, no parameter in any message."""

import select

import psycopg
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url, text
from sqlalchemy.exc import DisconnectionError
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
