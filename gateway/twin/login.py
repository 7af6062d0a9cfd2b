"""Log-in of a role to the twin: a connection with fixed settings, independent of the operator's environment."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn

from gateway.twin.errors import TwinRefused, session_gone, twin_refusal
from gateway.twin.lifetime import Life
from gateway.twin.roles import Login
from gateway.twin.settings import session_options

_CONNECT_S = 10
_NONE: Mapping[str, str] = MappingProxyType({})
# libpq sends these whatever the connection string says, and they override it
_OUTRANKING = ("PGTZ", "PGDATESTYLE", "PGGEQO")


@dataclass(frozen=True)
class TwinConnection:
    """A connection, and a function that ends it from outside when it no longer answers."""

    connection: PGconn
    end: Callable[[], None]


def log_in(
    life: Life,
    login: Login,
    names: Mapping[str, str] = _NONE,
    settings: Mapping[str, str] = _NONE,
) -> TwinConnection:
    """A connection of this role; `names` are the names shown in the session, `settings` are those that a client
    chose.
    """
    for variable in _OUTRANKING:
        os.environ.pop(variable, None)
    connection = _connected(life, login, {**names, **settings})
    if connection.status == pq.ConnStatus.OK:
        return TwinConnection(connection, partial(life.end_session, connection.backend_pid))
    said = connection.get_error_message()
    connection.finish()
    if "too many connections" in said:
        raise TwinRefused("53300", "too many sessions are open", "close one")
    if settings:
        _require_settings(life, login, settings)
    raise session_gone()


def _connected(life: Life, login: Login, settings: Mapping[str, str]) -> PGconn:
    address = life.server.address
    where = make_conninfo(
        host=str(address.socket_dir),
        port=address.port,
        user=login.role,
        password=login.password.get_secret_value(),
        dbname=login.database,
        options=session_options(settings),
        connect_timeout=_CONNECT_S,
        # the operator's own PostgreSQL environment has no influence
        application_name="",
        passfile=os.devnull,
        sslmode="disable",
        gssencmode="disable",
    )
    return pq.PGconn.connect(where.encode())


def _require_settings(life: Life, login: Login, settings: Mapping[str, str]) -> None:
    """Refuse client settings that PostgreSQL refuses: with these no attempt would succeed."""
    connection = _connected(life, login, {})
    try:
        if connection.status != pq.ConnStatus.OK:
            return
        escaping = pq.Escaping(connection)
        for name, value in settings.items():
            shown = (
                escaping.escape_identifier(name.encode()),
                escaping.escape_literal(value.encode()),
            )
            result = connection.exec_(b"SET %b TO %b" % shown)
            if result.status != pq.ExecStatus.COMMAND_OK:
                raise twin_refusal(result)
    finally:
        connection.finish()
