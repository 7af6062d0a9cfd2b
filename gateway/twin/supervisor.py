"""Supervisor of the twin: starts a server, notices its end, starts another; and one life of the twin.

INVARIANT: the thread that starts a server lives as long as that server may, because the server ends with the
thread; see `server`.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from gateway.errors import GatewayError
from gateway.events import Emit, TwinLost, TwinNotStarted
from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.programs import Programs
from gateway.twin.databases import Databases, Roles
from gateway.twin.errors import twin_not_running
from gateway.twin.server import TwinServer, admin_connection, start_server
from gateway.twin.template import TEMPLATE, seal_template


@dataclass(frozen=True)
class Life:
    server: TwinServer
    roles: Roles
    _outside: psycopg.Connection

    @property
    def usable(self) -> bool:
        """True if the gateway's own connection works, which it needs to create databases and roles."""
        return not self._outside.closed

    def end(self) -> None:
        """Stop the server and remove its directory."""
        self._outside.close()
        self.server.stop()

    def end_session(self, pid: int) -> None:
        """Terminate a session that ignores a cancel."""
        with admin_connection(self.server) as connection:
            connection.execute("SELECT pg_catalog.pg_terminate_backend(%s)", (pid,))


def begin_life(home: Path, programs: Programs, account: OsUser) -> Life:
    """Start a server, seal it, and only then return it; the calling thread keeps it alive."""
    server = start_server(home, programs, account)
    with ExitStack() as undo:
        undo.callback(server.stop)
        outside = admin_connection(server)
        undo.callback(outside.close)
        with admin_connection(server, TEMPLATE) as template:
            seal_template(template, outside)
        undo.pop_all()
    return Life(server, Roles(outside, Databases(server, outside)), outside)


_BEGIN_S = 120.0
_WAIT_S = 10.0
_RETRY_S = (0.0, 0.5, 2.0, 10.0, 30.0)


class Supervisor:
    """Owns the current life of the twin."""

    def __init__(self, begin: Callable[[], Life], emit: Emit) -> None:
        self._begin = begin
        self._emit = emit
        self._changed = threading.Condition()
        self._life: Life | None = None
        self._problem: BaseException | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="twin-supervisor", daemon=True)

    def start(self) -> None:
        """Begin the first life without waiting for it."""
        self._thread.start()

    def first_life(self) -> Life:
        """The first life, or the error that prevented it."""
        with self._changed:
            self._changed.wait_for(lambda: self._life or self._problem, _BEGIN_S)
            if self._problem is not None:
                raise self._problem
        return self.life()

    def life(self, wait_s: float = _WAIT_S) -> Life:
        """The current life; waits for one that is about to begin."""
        with self._changed:
            self._changed.wait_for(lambda: self._running() or self._closing.is_set(), wait_s)
            if self._life is None or not self._running():
                raise twin_not_running()
            return self._life

    def close(self) -> None:
        """Stop the server for good; a second call does nothing."""
        self._closing.set()
        with self._changed:
            life = self._life
            self._changed.notify_all()
        if life is not None:
            life.server.kill()
        self._thread.join()

    def _running(self) -> bool:
        return self._life is not None and self._life.server.alive

    def _keep(self) -> None:
        try:
            life: Life | None = self._begin()
        except BaseException as error:  # noqa: BLE001  # raised again where the caller can handle it
            self._publish(None, error)
            return
        while life is not None:
            self._publish(life)
            if not self._closing.is_set():
                life.server.process.wait()
            self._publish(None)
            life.end()
            if not self._closing.is_set():
                self._emit(TwinLost(life.server.process.returncode))
            life = self._another()

    def _another(self) -> Life | None:
        for attempt in range(1_000_000):
            if self._closing.wait(_RETRY_S[min(attempt, len(_RETRY_S) - 1)]):
                break
            try:
                return self._begin()
            except (GatewayError, OSError, psycopg.Error) as error:
                self._emit(TwinNotStarted(str(error)))
        return None

    def _publish(self, life: Life | None, problem: BaseException | None = None) -> None:
        with self._changed:
            self._life, self._problem = life, problem
            self._changed.notify_all()
