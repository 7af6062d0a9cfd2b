"""Connections to the state: one dialect, UTC, no hidden waits, no parameter in any message."""

from sqlalchemy import URL, Engine, NullPool, create_engine, make_url

_LOCK_TIMEOUT_MS = 10_000
_STATEMENT_TIMEOUT_MS = 15_000
_CONNECT_TIMEOUT_S = 5


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
    limits = {"lock_timeout": _LOCK_TIMEOUT_MS, "statement_timeout": _STATEMENT_TIMEOUT_MS}
    options = " ".join(f"-c {key}={value}" for key, value in limits.items() if statement_timeout)
    address = make_url(url).set(drivername="postgresql+psycopg")
    connect_args = {
        "application_name": name,
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "options": f"-c timezone=UTC -c client_encoding=UTF8 {options}".strip(),
    }
    if not pooled:
        return create_engine(
            address, connect_args=connect_args, hide_parameters=True, poolclass=NullPool
        )
    return create_engine(
        address,
        connect_args=connect_args,
        hide_parameters=True,
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=10,
        pool_timeout=10,
    )
