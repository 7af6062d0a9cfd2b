"""The twin's server process in a fresh directory, and the gateway's own superuser connection to it.

The directory is removed when the twin is gone. A twin is never reused, so its directory has no lasting name. Locks
tell which processes still use it: the gateway holds `alive` and passes it to the server, initdb holds the server
lock.

INVARIANT: the server ends when the thread that started it ends, so that thread must live as long as the gateway
needs the server; `supervisor` ensures that.
INVARIANT: a directory is removed when nobody holds its locks; locks are taken and tested under the start lock
alone.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pydantic import SecretStr

from gateway.errors import Code, OperatorError
from gateway.postgres_server.cluster import SUPERUSER, create_cluster
from gateway.postgres_server.directories import (
    SYSTEM,
    Address,
    ServerDirectory,
    clear_socket_dir,
    make_socket_dir,
)
from gateway.postgres_server.files import (
    hold_lock,
    inherit_lock,
    is_free,
    make_directory,
    translate_os_errors,
    write_durably,
)
from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.postmaster import log_since, open_log, read_announcement
from gateway.postgres_server.programs import Programs
from gateway.twin.settings import MEMORY, twin_configuration

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
        parent = _parent_directory(home, account)
        with hold_lock(parent / "start.lock", _WAIT), ExitStack() as undo:
            _sweep(parent, account)
            place = ServerDirectory(parent / secrets.token_hex(8))
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


def _parent_directory(home: Path, account: OsUser) -> Path:
    for parent in (home / "twin", SYSTEM / "twins"):
        with suppress(PermissionError):
            make_directory(parent, _open_mode())
            if account.may_use(parent):
                return parent
    raise OperatorError(
        Code.HOME_UNUSABLE,
        f"uid {account.uid}, as which the twin runs, can reach neither `{home}` nor `{SYSTEM}`",
        "let others pass through the directories above one of them (chmod o+x)",
    )


def _sweep(parent: Path, account: OsUser) -> None:
    """Remove the directories of dead gateways."""
    for path in parent.iterdir():
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


_UNDER_LIMITS = Path(__file__).with_name("under_limits.py")
_INITDB = ("--no-sync", "--wal-segsize=1", "--no-instructions")
_HBA = "local all all scram-sha-256\n"
_POLL = 0.01
_START_S = 30.0
_STOP_S = 6.0  # PostgreSQL itself kills processes that have not ended within 5 s


@dataclass(frozen=True)
class TwinServer:
    """A running server, and the log-in of its superuser, the gateway."""

    address: Address
    superuser: str
    password: SecretStr
    process: subprocess.Popen[bytes]
    where: TwinDirectory

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """End it at once, without notice to its sessions."""
        if self.alive:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self) -> None:
        """End it and remove its directory."""
        self.kill()
        for pid in _working_in(self.where.place.data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.where.remove()


def start_server(home: Path, programs: Programs, account: OsUser) -> TwinServer:
    """Make a database directory and run a server on it, as a child of the calling thread."""
    where = make_place(home, account)
    try:
        password = SecretStr(secrets.token_urlsafe(32))
        create_cluster(where.place, programs, account, password, _INITDB)
        _configure(where)
        return _run(where, programs, password)
    except BaseException:
        where.remove()
        raise


def _working_in(directory: Path) -> Iterator[int]:
    """Processes of a server that has ended: a process that computes does not notice the end of its parent."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended just now, or belongs to another user
            if (process / "cwd").readlink() == directory:
                yield int(process.name)


def _configure(where: TwinDirectory) -> None:
    place = where.place
    texts = {place.hba: _HBA, place.configuration: twin_configuration(place, where.socket_dir)}
    for path, text in texts.items():
        write_durably(path, text)
        where.account.give(path)


def _run(where: TwinDirectory, programs: Programs, password: SecretStr) -> TwinServer:
    place, account = where.place, where.account
    with open_log(place) as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(_UNDER_LIMITS)),
                str(os.getpid()),
                *((str(account.uid), str(account.gid)) if account.switch else ("-", "-")),
                str(MEMORY),
                *(str(programs.path("postgres")), "-D", str(place.data)),
                f"--config-file={place.configuration}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={},
            pass_fds=[where.alive],
            start_new_session=True,
        )
    server = TwinServer(Address(where.socket_dir), SUPERUSER, password, process, where)
    try:
        _wait_until_ready(server, programs)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return server


def _wait_until_ready(server: TwinServer, programs: Programs) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        said = read_announcement(server.where.place)
        if said is not None and said.ready:
            return
        if not server.alive or time.monotonic() > deadline:
            raise OperatorError(
                Code.EMBEDDED_SERVER,
                f"PostgreSQL {programs.version} does not start: {log_since(server.where.place, 0)}",
                "the twin needs a local disk and 512 MB of address space",
            )
        time.sleep(_POLL)


_OPTIONS = "-c default_transaction_read_only=off -c statement_timeout=30s -c search_path=pg_catalog"
_CONNECT_S = 2
OUTSIDE = "postgres"  # the database the gateway works from; analysts cannot connect to it


def admin_connection(server: TwinServer, database: str = OUTSIDE) -> psycopg.Connection:
    return psycopg.connect(
        host=str(server.address.socket_dir),
        port=server.address.port,
        user=server.superuser,
        password=server.password.get_secret_value(),
        dbname=database,
        options=_OPTIONS,
        connect_timeout=_CONNECT_S,
        autocommit=True,
    )
