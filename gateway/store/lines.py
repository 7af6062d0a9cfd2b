"""Every connection to the state, so that all of them can be cut at once.

A gateway that is told to end does not wait for a database that is slow, locked or gone: whoever
waits for it then sees an ordinary broken connection. A commit that was under way lands or does not,
as after a crash; its question was not answered either way.
"""

import os
import socket
import threading
from contextlib import suppress
from weakref import WeakSet

import psycopg
from sqlalchemy import Engine, event


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
