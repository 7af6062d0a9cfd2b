"""Homes with a server of their own, and gateways in processes of their own, gone afterwards."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from warm_python import forks

from gateway.postgres_server import Lease
from gateway.postgres_server.directories import Home, ServerDirectory
from gateway.postgres_server.files import is_free

_GATEWAY = """
import json, sys
from pathlib import Path
from gateway.postgres_server import open_server

lease = open_server(Path(sys.argv[1]))
pid = int((lease.data_dir / "postmaster.pid").read_text().split()[0])
print(json.dumps({"socket_dir": str(lease.address.socket_dir), "server": pid}), flush=True)
sys.stdin.readline()
lease.close()
"""


def twin_server(gateway: int) -> int:
    """The pid of the twin's server of a gateway: it is its child, which an embedded state's is not."""
    (pid,) = (
        int(child)
        for thread in Path(f"/proc/{gateway}/task").iterdir()
        for child in (thread / "children").read_text().split()
        if Path(f"/proc/{child}/exe").readlink().name == "postgres"
    )
    return pid


@dataclass
class Gateway:
    """A gateway in a process of its own; it opens the server of a home and waits."""

    process: subprocess.Popen[str]
    _said: dict[str, object] = field(default_factory=dict)

    @property
    def server(self) -> int:
        """The pid of its server, once it has one."""
        if not self._said:
            assert self.process.stdout is not None
            self._said = json.loads(self.process.stdout.readline())
        pid = self._said["server"]
        assert isinstance(pid, int)
        return pid

    def close(self) -> None:
        self.process.communicate("close\n", timeout=30)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)


OpenGateway = Callable[[Path], Gateway]


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """One home for the tests of a module: making a database is what takes time."""
    with _a_home() as home:
        yield home


@pytest.fixture
def used_home(shared_home: Path) -> Iterator[Path]:
    """A home that may have been used before; its server does not run."""
    yield shared_home
    end_server(shared_home)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that is not there yet, where the server's OS user can go."""
    with _a_home() as home:
        yield home


@pytest.fixture
def open_gateway() -> Iterator[OpenGateway]:
    made: list[Gateway] = []

    def start(home: Path) -> Gateway:
        with forks():
            process = subprocess.Popen(
                [sys.executable, "-c", _GATEWAY, str(home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        made.append(Gateway(process))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        for stream in (one.process.stdin, one.process.stdout):
            assert stream is not None
            stream.close()


def connect(lease: Lease, password: str | None = None) -> psycopg.Connection:
    """Log in as the superuser, with its own password when none is given."""
    secret = lease.superuser_password.get_secret_value() if password is None else password
    return psycopg.connect(
        host=str(lease.address.socket_dir),
        port=lease.address.port,
        user=lease.superuser,
        password=secret,
        dbname="postgres",
        autocommit=True,
    )


def server_pid(lease: Lease) -> int:
    return int((lease.data_dir / "postmaster.pid").read_text().split()[0])


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has asked after yet has ended too."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def ends(pid: int) -> bool:
    """Whether a process ends within ten seconds: a server that has stopped still frees its memory."""
    deadline = time.monotonic() + 10
    while not gone(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def end_server(home: Path) -> None:
    """Whatever a test left running in a home ends here."""
    place = _place(home)
    deadline = time.monotonic() + 20
    while place.path.is_dir() and not is_free(place.server_lock):
        assert time.monotonic() < deadline, f"the server of {home} does not end"
        pid_file = place.data / "postmaster.pid"
        if pid_file.exists() and not gone(pid := int(pid_file.read_text().split()[0])):
            os.kill(pid, signal.SIGQUIT)
        time.sleep(0.05)


@contextmanager
def _a_home() -> Iterator[Path]:
    top = Path(tempfile.mkdtemp(prefix="gw-test-"))
    top.chmod(0o711)
    try:
        yield top / "home"
    finally:
        end_server(top / "home")
        shutil.rmtree(top)


def _place(home: Path) -> ServerDirectory:
    kept = Home(home)
    try:
        return ServerDirectory(Path(kept.location.read_text().strip()))
    except OSError:
        return ServerDirectory(kept.state / "postgres")
