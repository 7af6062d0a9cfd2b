"""Lease on a home's server: the first one starts it, the last one stops it.

`discard_home` removes a temporary home, with its cluster, which may be elsewhere.
"""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from gateway.errors import Code, OperatorError
from gateway.postgres_server.cluster import SUPERUSER, ensure_cluster, superuser_password
from gateway.postgres_server.directories import (
    Address,
    Home,
    find_directory,
    open_home,
    prepare_directory,
)
from gateway.postgres_server.files import Hold, hold_lock, is_free, translate_os_errors
from gateway.postgres_server.os_user import OsUser, server_account
from gateway.postgres_server.postmaster import (
    ServerSetup,
    find_running,
    start_postmaster,
    stop_postmaster,
)
from gateway.postgres_server.programs import Programs, find_programs

_WAIT = 120.0  # longer than any start or stop may take


class Lease:
    """The right to use the server until `close`; the kernel releases it if the process is killed."""

    superuser = SUPERUSER

    def __init__(
        self, home: Home, server: ServerSetup, address: Address, password: SecretStr, hold: Hold
    ) -> None:
        self.address = address
        self.superuser_password = password
        self._home = home
        self._server = server
        self._hold: Hold | None = hold

    @property
    def data_dir(self) -> Path:
        return self._server.place.data

    @property
    def programs(self) -> Programs:
        """PostgreSQL's programs, `pg_dump` among them; run them with `account.run`."""
        return self._server.programs

    @property
    def account(self) -> OsUser:
        """The OS user of the server."""
        return self._server.account

    def close(self) -> None:
        """Release the lease, and stop the server if it was the last; a second call does nothing."""
        hold, self._hold = self._hold, None
        if hold is None:
            return
        if not hold.mine:
            hold.release()
            return
        try:
            with translate_os_errors(self._home.path), hold_lock(self._home.start_lock, _WAIT):
                hold.release()
                if is_free(self._home.lease_lock):
                    stop_postmaster(self._server)
        finally:
            hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lease(data_dir={str(self.data_dir)!r}, open={self._hold is not None})"


def open_server(home: Path, programs_bin: Path | None = None) -> Lease:
    """Create, start or join the server of a home; an `OperatorError` says what prevents it."""
    with translate_os_errors(home):
        kept = open_home(home)
        with hold_lock(kept.start_lock, _WAIT), ExitStack() as undo:
            hold = Hold(kept.lease_lock)
            undo.callback(hold.release)
            server = _server(kept, programs_bin)
            address = find_running(server)
            password = superuser_password(kept, server.place)
            if address is None:
                ensure_cluster(server.place, server.programs, server.account, password)
                address = start_postmaster(server)
            undo.pop_all()
    return Lease(kept, server, address, password, hold)


def _server(home: Home, programs_bin: Path | None) -> ServerSetup:
    place = find_directory(home)
    account = server_account(place.data)
    programs = find_programs(programs_bin, account)
    return ServerSetup(prepare_directory(home, place, account), programs, account)


_WAIT_S = 15.0


def discard_home(home: Path, programs_bin: Path | None = None) -> None:
    """Remove everything below `home`; refused while a gateway uses it."""
    if not home.exists():
        return
    with translate_os_errors(home):
        kept = open_home(home)
        with hold_lock(kept.start_lock, _WAIT_S):
            if not is_free(kept.lease_lock):
                raise OperatorError(
                    Code.HOME_UNUSABLE, f"a gateway is using `{home}`", "stop it first"
                )
        if (find_directory(kept).data / "postmaster.pid").exists():
            open_server(home, programs_bin).close()  # a killed gateway left its server behind
        shutil.rmtree(find_directory(kept).path, ignore_errors=True)
        shutil.rmtree(home)
