"""The twin's server process: a direct child of the gateway, made for one life of the twin.

INVARIANT: the server ends when the thread that started it ends, so that thread must live as long as the gateway
needs the server; `supervisor` ensures that.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from gateway.errors import Code, OperatorError
from gateway.postgres_server.cluster import SUPERUSER, create_cluster
from gateway.postgres_server.directories import Address
from gateway.postgres_server.files import write_durably
from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.postmaster import log_since, open_log, read_announcement
from gateway.postgres_server.programs import Programs
from gateway.twin.directory import TwinDirectory, make_place
from gateway.twin.settings import MEMORY, twin_configuration

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
