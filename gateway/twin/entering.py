"""How a role gets in: a connection with fixed settings, on which the operator's environment has no say."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn

from gateway.twin.life import Life
from gateway.twin.refused import TwinRefused, gone
from gateway.twin.roles import Login
from gateway.twin.settings import session_options

_CONNECT_S = 10
# libpq sends these whatever the connection string says, and they outrank it
_OUTRANKING = ("PGTZ", "PGDATESTYLE", "PGGEQO")


@dataclass(frozen=True)
class Entered:
    """A connection, and how to end it from outside when it no longer listens."""

    connection: PGconn
    end: Callable[[], None]


def enter(life: Life, login: Login, settings: Mapping[str, str] = MappingProxyType({})) -> Entered:
    """A connection of this role; `settings` are those that a client may choose, and what the session is called."""
    for variable in _OUTRANKING:
        os.environ.pop(variable, None)
    address = life.server.address
    where = make_conninfo(
        host=str(address.socket_dir),
        port=address.port,
        user=login.role,
        password=login.password.get_secret_value(),
        dbname=login.database,
        options=session_options(settings),
        connect_timeout=_CONNECT_S,
        # nothing of the operator's own PostgreSQL environment has a say
        application_name="",
        passfile=os.devnull,
        sslmode="disable",
        gssencmode="disable",
    )
    connection = pq.PGconn.connect(where.encode())
    if connection.status == pq.ConnStatus.OK:
        return Entered(connection, partial(life.end_session, connection.backend_pid))
    said = connection.get_error_message()
    connection.finish()
    if "too many connections" in said:
        raise TwinRefused("53300", "too many sessions are open", "close one")
    raise gone()
