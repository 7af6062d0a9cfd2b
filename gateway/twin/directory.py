"""Directories of twins: a fresh one for each start, removed when the twin is gone.

A twin is never reused, so its directory has no lasting name. Locks tell which processes still use it: the
gateway holds `alive` and passes it to the server, initdb holds the server lock.

INVARIANT: a directory is removed when nobody holds its locks; locks are taken and tested under the start lock
alone.
"""

import os
import secrets
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import Code, OperatorError
from gateway.postgres_server.directories import (
    SYSTEM,
    ServerDirectory,
    clear_socket_dir,
    make_socket_dir,
)
from gateway.postgres_server.files import make_directory, translate_os_errors, write_durably
from gateway.postgres_server.locks import hold_lock, inherit_lock, is_free
from gateway.postgres_server.os_user import OsUser

_WAIT = 60.0
_SOCKET_NOTE = "socket_dir"


@dataclass(frozen=True)
class TwinDirectory:
    """A directory for one life of a twin; the lock `alive` says that it is in use."""

    place: ServerDirectory
    account: OsUser
    socket_dir: Path
    alive: int
    _held: ExitStack

    def remove(self) -> None:
        """Remove the directory; the server has ended."""
        self._held.close()
        _remove(self.place, self.account)


def make_place(home: Path, account: OsUser) -> TwinDirectory:
    """A directory that `account` can reach, below the home where that is possible."""
    with translate_os_errors(home):
        shelf = _shelf(home, account)
        with hold_lock(shelf / "start.lock", _WAIT), ExitStack() as undo:
            _sweep(shelf, account)
            place = ServerDirectory(shelf / secrets.token_hex(8))
            place.path.mkdir()
            undo.callback(shutil.rmtree, place.path, ignore_errors=True)
            place.path.chmod(_open_mode())
            held = ExitStack()
            undo.push(held)
            alive = held.enter_context(inherit_lock(_alive(place)))
            socket_dir = make_socket_dir(place, account)
            write_durably(place.path / _SOCKET_NOTE, str(socket_dir))
            undo.pop_all()
    return TwinDirectory(place, account, socket_dir, alive, held)


def _shelf(home: Path, account: OsUser) -> Path:
    for shelf in (home / "twin", SYSTEM / "twins"):
        with suppress(PermissionError):
            make_directory(shelf, _open_mode())
            if account.may_use(shelf):
                return shelf
    raise OperatorError(
        Code.HOME_UNUSABLE,
        f"uid {account.uid}, as which the twin runs, can reach neither `{home}` nor `{SYSTEM}`",
        "let others pass through the directories above one of them (chmod o+x)",
    )


def _sweep(shelf: Path, account: OsUser) -> None:
    """Remove the directories of dead gateways."""
    for path in shelf.iterdir():
        place = ServerDirectory(path)
        if path.is_dir() and is_free(_alive(place)) and is_free(place.server_lock):
            _remove(place, account)


def _remove(place: ServerDirectory, account: OsUser) -> None:
    with suppress(OSError):
        noted = (place.path / _SOCKET_NOTE).read_bytes()
        clear_socket_dir(place, account, Path(os.fsdecode(noted)))
    shutil.rmtree(place.path, ignore_errors=True)


def _alive(place: ServerDirectory) -> Path:
    return place.path / "alive.lock"


def _open_mode() -> int:
    """The mode that lets the server's user pass through, if the gateway runs as root; it can list nothing on
    its way.
    """
    return 0o711 if os.geteuid() == 0 else 0o700
