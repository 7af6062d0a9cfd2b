"""Postmaster: start, find and stop the server of a directory, and read its log; all under the start lock.

`postmaster.pid` says where a server listens, but not whether it still lives: after a kill its pid may belong to
another process, or a zombie, and PostgreSQL would then refuse to start. So every process of a server inherits a
lock, which the kernel releases when the last of them has ended. That also works across containers that share
the home, where pids mean nothing.

INVARIANT: while the server lock is held, no file of the server's is removed; a pid is signalled only while it
is held.
"""

import os
import shlex
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gateway.errors import Code, OperatorError
from gateway.postgres_server.cluster import HBA, state_configuration
from gateway.postgres_server.directories import (
    Address,
    ServerDirectory,
    clear_socket_dir,
    make_socket_dir,
)
from gateway.postgres_server.files import inherit_lock, is_free, write_durably
from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.programs import Programs

_LARGEST = 1_000_000
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 1000


def open_log(place: ServerDirectory) -> BinaryIO:
    """The log that the server appends to; a log that is too large becomes the previous one."""
    if place.log.exists() and place.log.stat().st_size > _LARGEST:
        place.log.replace(place.log.with_suffix(".log.1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(place.log, flags, 0o600), "ab")


def log_since(place: ServerDirectory, offset: int) -> str:
    """The last lines of the log since `offset`, as one line."""
    lines = [line.strip() for line in _text(place.log, offset).splitlines() if line.strip()]
    return " | ".join(lines[-_QUOTED_LINES:])[-_QUOTED_CHARACTERS:] or "it said nothing"


def _text(log: Path, offset: int) -> str:
    with log.open("rb") as stream:
        stream.seek(offset)
        return stream.read(_LARGEST).decode(errors="replace")


_POLL = 0.05
_START = 60  # seconds for the recovery after a crash
_SILENT = 15  # seconds to end: for a server, or for backends whose server was killed
_STOP = 5
_TLS_REQUEST = struct.pack("!II", 8, 80_877_103)


@dataclass(frozen=True)
class ServerSetup:
    """The directory, the programs and the OS user of a server."""

    place: ServerDirectory
    programs: Programs
    account: OsUser

    def pg_ctl(
        self,
        *options: str,
        timeout: int,
        output: int = subprocess.PIPE,
        inherited: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run pg_ctl until it has seen the effect, or for `timeout` seconds."""
        return self.account.run(
            [self.programs.path("pg_ctl"), *options, "--silent", "--wait", f"--timeout={timeout}"],
            # not as an argument: pg_ctl would paste it into a shell command
            environment={"PGDATA": str(self.place.data)},
            output=(output, subprocess.STDOUT),
            inherited=inherited,
            timeout=timeout + 30,
        )


@dataclass(frozen=True)
class Announcement:
    """The content of `postmaster.pid`; it may be outdated."""

    pid: int
    address: Address
    ready: bool


def read_announcement(place: ServerDirectory) -> Announcement | None:
    """Read `postmaster.pid`; None if it is missing, incomplete or torn."""
    try:
        lines = (place.data / "postmaster.pid").read_bytes().split(b"\n")
        pid, address = int(lines[0]), Address(Path(os.fsdecode(lines[4])), int(lines[3]))
    except (FileNotFoundError, ValueError, IndexError):
        return None
    return Announcement(pid, address, ready=lines[7:8] == [b"ready   "])


def find_running(server: ServerSetup) -> Address | None:
    """The address of the running server; None if there is none and a new one can start."""
    place = server.place
    began = time.monotonic()
    while True:
        if is_free(place.server_lock):
            _clear(server, _socket_dir(read_announcement(place)))
            return None
        said = read_announcement(place)
        answers = said is not None and _answers(said.address, server.account)
        if said and said.ready and answers:
            return said.address
        if time.monotonic() - began > (_START if answers else _SILENT):
            raise OperatorError(
                Code.EMBEDDED_SERVER,
                f"the server of `{place.data}` runs but does not answer",
                f"see `{place.log}`; if it hangs, end its processes (`fuser {place.server_lock}`)",
            )
        time.sleep(_POLL)


def start_postmaster(server: ServerSetup) -> Address:
    place, account = server.place, server.account
    address = Address(make_socket_dir(place, account))
    configuration = state_configuration(place, address.socket_dir)
    for path, text in ((place.hba, HBA), (place.configuration, configuration)):
        write_durably(path, text)
        account.give(path)
    with ExitStack() as opened:
        log = opened.enter_context(open_log(place))
        before = log.tell()
        done = server.pg_ctl(
            "start",
            f"--options=-c config_file={shlex.quote(str(place.configuration))}",
            timeout=_START,
            output=log.fileno(),
            inherited=[opened.enter_context(inherit_lock(place.server_lock))],
        )
    if done.returncode != 0:
        if is_free(place.server_lock):
            _clear(server, address.socket_dir)
        raise OperatorError(
            Code.EMBEDDED_SERVER,
            f"PostgreSQL {server.programs.version} does not start: {log_since(place, before)}",
            f"its log is `{place.log}`",
        )
    return address


def stop_postmaster(server: ServerSetup) -> None:
    """Stop the server, if it runs; gently at first."""
    said = read_announcement(server.place)  # it is gone when the server is
    for mode in ("fast", "immediate"):
        if is_free(server.place.server_lock):
            return
        if _can_be_signalled(said):
            server.pg_ctl("stop", f"--mode={mode}", timeout=_STOP)
        if _gone(server):
            _clear(server, _socket_dir(said))
            return
    raise OperatorError(
        Code.EMBEDDED_SERVER,
        f"the server of `{server.place.data}` does not stop",
        f"see `{server.place.log}`; its processes, here or in another container, "
        f"are those of `fuser {server.place.server_lock}`",
    )


def _gone(server: ServerSetup) -> bool:
    """True if all its processes have ended; pg_ctl has only seen the last one about to end."""
    deadline = time.monotonic() + 1
    while not is_free(server.place.server_lock):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _clear(server: ServerSetup, socket_dir: Path | None) -> None:
    """Remove the files of a server that has ended; its lock files may name a pid that is in use again."""
    clear_socket_dir(server.place, server.account, socket_dir)
    (server.place.data / "postmaster.pid").unlink(missing_ok=True)


def _socket_dir(said: Announcement | None) -> Path | None:
    return said.address.socket_dir if said else None


def _can_be_signalled(said: Announcement | None) -> bool:
    """True if the pid can be the server's here; in another container it may be any process."""
    if said is None:
        return False
    try:
        return Path(f"/proc/{said.pid}/comm").read_text() == "postgres\n"
    except OSError:
        return not Path("/proc/self/comm").exists()


def _answers(address: Address, account: OsUser) -> bool:
    """True if a process of the server's user answers there.

    A successful connection is not enough: the kernel also makes it for a server that hangs or was just killed.
    So the gateway asks for TLS, the shortest request that PostgreSQL answers.
    """
    try:
        if address.socket.stat().st_uid != account.uid:
            return False
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_STOP)
            client.connect(str(address.socket))
            client.sendall(_TLS_REQUEST)
            return client.recv(1) in {b"N", b"S"}
    except OSError:
        return False
