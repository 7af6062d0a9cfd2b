"""The twin's interface: sessions for subjects who see certain tables."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Self

import psycopg

from gateway.binding.text.search_path import search_path_text
from gateway.catalog.zones import UTC_NAME
from gateway.events import Emit, TwinStarted, ignore_event
from gateway.postgres_server.directories import Home, find_directory
from gateway.postgres_server.os_user import separate_account, server_account
from gateway.postgres_server.programs import find_programs
from gateway.twin.errors import GONE, TwinRefused, session_gone, twin_not_running
from gateway.twin.pool import (
    HeldConnections,
    IdleSessions,
    SessionKey,
    TwinConnection,
    TwinLine,
    log_in,
    open_line,
)
from gateway.twin.session import TwinSession, TypeNames
from gateway.twin.shadow_functions import SessionNames
from gateway.twin.supervisor import Life, Supervisor, begin_life
from gateway.twin.visible_tables import VisibleTables, search_path

_ENTER_S = 10.0
_ENTER_AGAIN_S = 0.02
_LIMIT_S = 30.0
_NONE: Mapping[str, str] = MappingProxyType({})


class Twin:
    """A twin that runs or is about to run, until `close`."""

    def __init__(self, supervisor: Supervisor, version: str, limit_s: float, emit: Emit) -> None:
        self.version = version
        self._supervisor = supervisor
        self._limit_s = limit_s
        self._emit = emit
        self._type_names: TypeNames = {}
        self._idle = IdleSessions()
        self._held = HeldConnections()

    def wait_until_started(self) -> None:
        """Return when the first server runs, or raise the error that prevented it."""
        self._supervisor.first_life()
        self._emit(TwinStarted(self.version))

    def require_running(self) -> None:
        """Refuse if no server runs at this moment."""
        if not self._supervisor.life(wait_s=0).usable:
            raise twin_not_running()

    def session(
        self, subject: str, tables: VisibleTables, *, limit_s: float | None = None
    ) -> TwinSession:
        """A new session of a subject who sees these tables and nothing else."""
        return self._session(self._entered(subject, tables), limit_s)

    def line(self, subject: str, tables: VisibleTables, settings: Mapping[str, str]) -> TwinLine:
        """A session on which a wire client speaks directly."""
        let_go = self._held.hold(SessionKey(subject, tables))
        try:
            return open_line(self._entered(subject, tables, settings), let_go)
        except BaseException:
            let_go()
            raise

    @contextmanager
    def borrowed(
        self,
        subject: str,
        tables: VisibleTables,
        zone: str = UTC_NAME,
        *,
        limit_s: float | None = None,
    ) -> Iterator[TwinSession]:
        """A session in a time zone for a short use: a reset idle one, if there is one; it is idle again afterwards."""
        whose = SessionKey(subject, tables, zone)
        session = self._session(self._idle.take(whose) or self._borrowed(whose), limit_s)
        try:
            yield session
        finally:
            if (entered := session.released()) is not None:
                self._idle.put(whose, entered)

    def forget(self, tables: VisibleTables) -> None:
        """Drop the databases and roles of these tables; sessions that see them end."""
        self._supervisor.life().roles.forget(tables)
        self._idle.forget(tables)

    def keep(self, only: Collection[VisibleTables]) -> None:
        """Drop the databases and roles of all other tables; their sessions end."""
        self._supervisor.life().roles.keep(only)
        self._idle.keep(only)

    def close(self) -> None:
        """Stop the server and remove its directory."""
        self._idle.close()
        self._supervisor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _session(self, entered: TwinConnection, limit_s: float | None) -> TwinSession:
        limit_s = self._limit_s if limit_s is None else limit_s
        return TwinSession(entered, limit_s, self._type_names, self._emit)

    def _borrowed(self, whose: SessionKey) -> TwinConnection:
        return self._entered(whose.subject, whose.tables, {"TimeZone": whose.zone})

    def _entered(
        self, subject: str, tables: VisibleTables, settings: Mapping[str, str] = _NONE
    ) -> TwinConnection:
        """Log in; try again while a server that just ended is replaced."""
        deadline = time.monotonic() + _ENTER_S
        fixed = {"search_path": search_path_text(search_path(tables))}
        fixed |= SessionNames(subject).settings()
        while True:
            life = self._supervisor.life()
            try:
                return log_in(life, life.roles.login(subject, tables), fixed, settings)
            except (TwinRefused, psycopg.OperationalError) as error:
                if isinstance(error, TwinRefused) and error.sqlstate != GONE:
                    raise
                if time.monotonic() > deadline:
                    raise session_gone() from error
                if not life.usable:
                    life.server.kill()
            time.sleep(_ENTER_AGAIN_S)


def start_twin(
    home: Path,
    programs_bin: Path | None = None,
    *,
    limit_s: float = _LIMIT_S,
    emit: Emit = ignore_event,
) -> Twin:
    """Begin to start a twin below a home; as root it runs as an OS user that cannot touch the state."""
    home = home.absolute()
    account = separate_account(server_account(find_directory(Home(home)).data))
    programs = find_programs(programs_bin, account)
    begin: Callable[[], Life] = partial(begin_life, home, programs, account)
    supervisor = Supervisor(begin, emit)
    supervisor.start()
    return Twin(supervisor, programs.version, limit_s, emit)


def open_twin(
    home: Path,
    programs_bin: Path | None = None,
    *,
    limit_s: float = _LIMIT_S,
    emit: Emit = ignore_event,
) -> Twin:
    """Start a twin, and return when it runs."""
    twin = start_twin(home, programs_bin, limit_s=limit_s, emit=emit)
    try:
        twin.wait_until_started()
    except BaseException:
        twin.close()
        raise
    return twin
