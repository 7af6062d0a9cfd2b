"""The twin as the rest of the gateway sees it: sessions for subjects who see certain tables."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn

from gateway.embedded.account import account_apart, server_account
from gateway.embedded.places import Home, recorded_place
from gateway.embedded.programs import find_programs
from gateway.events import Emit, silent
from gateway.twin.happened import TwinStarted
from gateway.twin.life import Life, begin_life
from gateway.twin.refused import GONE, TwinRefused, gone
from gateway.twin.roles import Login
from gateway.twin.session import TwinSession, TypeNames
from gateway.twin.settings import session_options
from gateway.twin.supervisor import Supervisor
from gateway.twin.visible import VisibleTables

_CONNECT_S = 10
# libpq sends these whatever the connection string says, and they outrank it
_OUTRANKING = ("PGTZ", "PGDATESTYLE", "PGGEQO")
_ENTER_S = 10.0
_ENTER_AGAIN_S = 0.02


class Twin:
    """A running twin, until `close`."""

    def __init__(self, supervisor: Supervisor, version: str, limit_s: float) -> None:
        self.version = version
        self._supervisor = supervisor
        self._limit_s = limit_s
        self._type_names: TypeNames = {}

    def session(
        self, subject: str, tables: VisibleTables, *, limit_s: float | None = None
    ) -> TwinSession:
        """A new session of a subject who sees these tables and nothing else."""
        life, connection = self._entered(subject, tables)
        return TwinSession(
            connection,
            partial(life.end_session, connection.backend_pid),
            self._limit_s if limit_s is None else limit_s,
            self._type_names,
        )

    def _entered(self, subject: str, tables: VisibleTables) -> tuple[Life, PGconn]:
        """Get in, trying again while a twin that just died is being replaced."""
        deadline = time.monotonic() + _ENTER_S
        while True:
            life = self._supervisor.life()
            try:
                return life, _connected(life, life.roles.login(subject, tables))
            except (TwinRefused, psycopg.OperationalError) as error:
                if isinstance(error, TwinRefused) and error.sqlstate != GONE:
                    raise
                if time.monotonic() > deadline:
                    raise gone() from error
                if not life.usable:
                    life.server.kill()
            time.sleep(_ENTER_AGAIN_S)

    def forget(self, tables: VisibleTables) -> None:
        """Drop what was made for these tables; sessions that see them end."""
        self._supervisor.life().roles.forget(tables)

    def close(self) -> None:
        """Stop the server and remove all of it."""
        self._supervisor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_twin(
    home: Path, programs_bin: Path | None = None, *, limit_s: float = 30.0, emit: Emit = silent
) -> Twin:
    """Start a twin below a home; as root it runs as an OS user that cannot touch the state."""
    home = home.absolute()
    account = account_apart(server_account(recorded_place(Home(home)).data))
    programs = find_programs(programs_bin, account)
    begin: Callable[[], Life] = partial(begin_life, home, programs, account)
    supervisor = Supervisor(begin, emit)
    try:
        supervisor.start()
    except BaseException:
        supervisor.close()
        raise
    emit(TwinStarted(programs.version))
    return Twin(supervisor, programs.version, limit_s)


def _connected(life: Life, login: Login) -> PGconn:
    for variable in _OUTRANKING:
        os.environ.pop(variable, None)
    address = life.server.address
    where = make_conninfo(
        host=str(address.socket_dir),
        port=address.port,
        user=login.role,
        password=login.password.get_secret_value(),
        dbname=login.database,
        options=session_options(),
        connect_timeout=_CONNECT_S,
        # nothing of the operator's own PostgreSQL environment has a say
        application_name="",
        passfile=os.devnull,
        sslmode="disable",
        gssencmode="disable",
    )
    connection = pq.PGconn.connect(where.encode())
    if connection.status == pq.ConnStatus.OK:
        return connection
    said = connection.get_error_message()
    connection.finish()
    if "too many connections" in said:
        raise TwinRefused("53300", "too many sessions are open", "close one")
    raise gone()
