"""Connections of roles to the twin: log-in with fixed settings, the pool of idle ones, and raw lines of wire clients.

Idle connections spare the next short use a log-in. A line lasts as long as its client wants; a borrowed connection
is returned with the answer. So lines have a limit below the server's and the role's, which `settings` adds up: the
rest is for borrowing.

psycopg_pool has a pool for one login, with threads of its own. Here every subject and set of tables is a login,
one limit holds for all of them, and connections are libpq's own.

A line is a raw connection to the twin for a wire client, message by message. libpq logs in; from then on the
holder of the line reads and writes the socket.

INVARIANT: only connections that were reset are put into the pool, and each is reused for the same subject and
tables alone.
INVARIANT: however many lines there are, `BORROWED` of the server's sessions are not used by lines and idle
connections, and as many of each role's.
INVARIANT: a line belongs to one subject on one database of the twin for as long as it lasts; it is never reused.
"""

import os
import select
import socket
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from psycopg import OperationalError, pq
from psycopg.conninfo import make_conninfo
from psycopg.pq import ConnStatus
from psycopg.pq.abc import PGconn

from gateway.catalog.zones import UTC_NAME
from gateway.twin.databases import Login
from gateway.twin.errors import TwinRefused, session_gone, twin_refusal
from gateway.twin.settings import IDLE, LINES, LINES_OF_ROLE, session_options
from gateway.twin.supervisor import Life
from gateway.twin.visible_tables import VisibleTables

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


MOST_OF_ONE = 4  # of one subject with one set of visible tables
MOST = IDLE


class SessionKey(NamedTuple):
    """The subject, the visible tables and the time zone of a connection."""

    subject: str
    tables: VisibleTables
    zone: str = UTC_NAME


class IdleSessions:
    """The idle connections of a twin; the last used one is at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[SessionKey, TwinConnection]] = []
        self._closed = False

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, whose: SessionKey) -> TwinConnection | None:
        """An idle connection of this subject and tables that still works, or None."""
        while (found := self._pop(whose)) is not None:
            if _lives(found):
                return found
            found.connection.finish()
        return None

    def put(self, whose: SessionKey, entered: TwinConnection) -> None:
        """Keep a connection; if there are too many, the one that was idle longest is closed."""
        with self._lock:
            self._kept.append((whose, entered))
            same = [one for one in self._kept if one[0] == whose]
            if self._closed:
                ended = self._kept
            elif len(same) > MOST_OF_ONE:
                ended = same[:1]
            else:
                ended = self._kept[: max(0, len(self._kept) - MOST)]
            self._kept = [one for one in self._kept if one not in ended]
        for _, one in ended:
            one.connection.finish()

    def keep(self, only: Collection[VisibleTables]) -> None:
        """Close the connections that see any other tables."""
        self._end(lambda whose: whose.tables not in only)

    def forget(self, tables: VisibleTables) -> None:
        """Close the connections that see these tables."""
        self._end(lambda whose: whose.tables == tables)

    def close(self) -> None:
        """Close all, and keep none from now on."""
        with self._lock:
            self._closed = True
        self._end(lambda _: True)

    def _pop(self, whose: SessionKey) -> TwinConnection | None:
        with self._lock:
            for place in reversed(range(len(self._kept))):
                if self._kept[place][0] == whose:
                    return self._kept.pop(place)[1]
        return None

    def _end(self, wanted: Callable[[SessionKey], bool]) -> None:
        with self._lock:
            ended = [one for one in self._kept if wanted(one[0])]
            self._kept = [one for one in self._kept if not wanted(one[0])]
        for _, one in ended:
            one.connection.finish()


def _lives(entered: TwinConnection) -> bool:
    """True if nothing arrived while it was idle: a server gives a reason before it ends a connection."""
    if entered.connection.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(entered.connection.socket, select.POLLIN)
    return not poll.poll(0)


_TOO_MANY: Final = "53300"


class HeldConnections:
    """Counts the connections that clients hold; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of = Counter[SessionKey]()

    def hold(self, whose: SessionKey) -> Callable[[], None]:
        """Count one more, or refuse. The returned function counts it off, once."""
        with self._lock:
            if self._of[whose] >= LINES_OF_ROLE:
                detail = f'too many connections for role "{whose.subject}"'
                raise TwinRefused(_TOO_MANY, detail, f"close one: {LINES_OF_ROLE} may be open")
            if self._of.total() >= LINES:
                detail = "sorry, too many clients already"
                raise TwinRefused(_TOO_MANY, detail, "try again when others have gone")
            self._of[whose] += 1
        undo = ExitStack()
        undo.callback(self._let_go, whose)
        return undo.close

    def _let_go(self, whose: SessionKey) -> None:
        with self._lock:
            self._of[whose] -= 1
            if not self._of[whose]:
                del self._of[whose]


# the parameters that a server reports when a connection begins
_REPORTED = (
    *("application_name", "client_encoding", "DateStyle", "default_transaction_read_only"),
    *("in_hot_standby", "integer_datetimes", "IntervalStyle", "is_superuser", "scram_iterations"),
    *("search_path", "server_encoding", "server_version", "session_authorization"),
    *("standard_conforming_strings", "TimeZone"),
)


@dataclass
class TwinLine:
    """`socket` is for reading and writing; `cancel` and `end` use another connection and wait: call them from a
    thread.
    """

    socket: socket.socket
    reported: Mapping[str, str]
    end: Callable[[], None]
    _connection: PGconn = field(repr=False)
    _let_go: Callable[[], None] = field(repr=False)

    def cancel(self) -> None:
        """Ask the twin to cancel the statement on the line, which may have ended already."""
        with suppress(OperationalError), ExitStack() as done:
            cancel = self._connection.cancel_conn()
            done.callback(cancel.finish)
            cancel.blocking()

    def close(self) -> None:
        """Close the line; the twin ends the session."""
        self.socket.close()
        self._connection.finish()
        self._let_go()


def open_line(entered: TwinConnection, let_go: Callable[[], None]) -> TwinLine:
    """A line on this connection; `let_go` is called when the line is closed."""
    connection = entered.connection
    reported = {
        name: value.decode()
        for name in _REPORTED
        if (value := connection.parameter_status(name.encode())) is not None
    }
    line = socket.socket(fileno=os.dup(connection.socket))
    return TwinLine(line, reported, entered.end, connection, let_go)
