"""One life of the twin: a sealed server with its databases and roles, which end with it."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.programs import Programs
from gateway.twin.admin_connection import admin_connection
from gateway.twin.databases import Databases
from gateway.twin.roles import Roles
from gateway.twin.server import TwinServer, start_server
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
