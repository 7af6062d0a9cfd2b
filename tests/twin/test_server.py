"""The twin's server: who runs it, what limits it has, and that it never stays behind."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from fix_postgres_server import gone as has_ended
from fix_twin import CLINIC, ENDLESS, as_gateway, life_of, state
from warm_python import forks

from gateway.errors import OperatorError
from gateway.events import Event, TwinLost, TwinNotStarted, TwinStarted
from gateway.postgres_server import open_server
from gateway.postgres_server.os_user import OsUser, separate_account, server_account
from gateway.twin import Twin, TwinRefused, open_twin
from gateway.twin.settings import MEMORY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs both as itself")

_GATEWAY = """
import sys, threading
from pathlib import Path
from gateway.twin import open_twin
twin = open_twin(Path(sys.argv[1]))
print(twin._supervisor.life().server.process.pid, flush=True)
sys.stdin.readline()
twin.close()
"""


@pytest.fixture
def gateway_process(twin_home: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Gateways with a twin, in processes of their own."""
    made: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        with forks():
            process = subprocess.Popen(
                [sys.executable, "-c", _GATEWAY, str(twin_home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        made.append(process)
        return process

    yield start
    for process in made:
        process.kill()
        process.communicate()


@as_root
def test_twin_runs_as_a_user_of_its_own(twin: Twin) -> None:
    """Neither root nor the state server's user: what breaks out of the twin cannot read the state."""
    life = life_of(twin)
    state = server_account(Path("/nonexistent"))
    uid = Path(f"/proc/{life.server.process.pid}").stat().st_uid
    assert uid not in {0, state.uid}
    assert _status(life.server.process.pid, "Groups") == ""
    for kind in ("Uid", "Gid"):
        assert set(_status(life.server.process.pid, kind).split()) == {str(uid)}


@as_root
def test_twin_cannot_read_the_state(twin_home: Path) -> None:
    """The twin's user can enter neither the directory nor the socket of the state beside it."""
    with open_server(twin_home) as lease, open_twin(twin_home) as twin:
        account = life_of(twin).server.where.account
        assert account.uid != lease.account.uid
        for path in (lease.data_dir, lease.address.socket_dir):
            assert lease.account.may_use(path)
            assert not account.may_use(path)


def test_account_apart_is_never_that_of_the_others() -> None:
    """Whatever user the state has, the twin's is another, as far as the system lets us choose."""
    first = separate_account(OsUser(1, 1, switch=True))
    if os.geteuid() != 0:
        assert first == OsUser.own()
        return
    second = separate_account(first)
    assert len({0, first.uid, second.uid}) == 3
    assert first.gid != second.gid


def test_server_has_its_limits(twin: Twin) -> None:
    """Address space is limited, no core is dumped, no privilege can be gained, no TCP port is open."""
    pid = life_of(twin).server.process.pid
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    assert (
        next(line.split()[3:5] for line in limits if "address space" in line) == [str(MEMORY)] * 2
    )
    assert next(line.split()[4:6] for line in limits if "core file" in line) == ["0", "0"]
    assert _status(pid, "NoNewPrivs") == "1"
    with as_gateway(twin) as gateway:
        assert gateway.execute("SHOW listen_addresses").fetchone() == ("",)
        helpers = gateway.execute("SELECT backend_type FROM pg_stat_activity").fetchall()
    assert not [kind for (kind,) in helpers if "autovacuum" in kind or "parallel" in kind]


def test_files_are_closed_to_others(twin: Twin) -> None:
    """Nobody but the server's user can enter its directories, and the socket is in one of them."""
    where = life_of(twin).server.where
    for path in (where.place.data, where.socket_dir):
        found = path.stat()
        assert stat.S_IMODE(found.st_mode) == 0o700
        assert found.st_uid == where.account.uid
    for path in where.place.path.iterdir():
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_nobody_gets_in_without_the_password(twin: Twin) -> None:
    """There is no trusted login: the server asks even the superuser for a password."""
    for password in ("", "postgres"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(
                host=str(life_of(twin).server.address.socket_dir),
                user="postgres",
                password=password,
                dbname="postgres",
            )


def test_log_has_no_sql(twin: Twin) -> None:
    """Neither a statement, nor a value, nor an error is written down."""
    with twin.session("alice", CLINIC) as session:
        for statement in ("SELECT 'hush'::int", "SELECT hush", "SELECT pg_sleep('hush')"):
            with pytest.raises(TwinRefused):
                session.run(statement)
        session.run("SELECT 'hush'")
    log = life_of(twin).server.where.place.log.read_text()
    assert "hush" not in log
    assert "alice" not in log


def test_twin_leaves_nothing_when_closed(twin_home: Path) -> None:
    """Closing ends the server, sessions included, and removes its directory; again does nothing."""
    twin = open_twin(twin_home)
    server = life_of(twin).server
    session = twin.session("alice", CLINIC)
    twin.close()
    twin.close()
    assert has_ended(server.process.pid)
    assert not server.where.place.path.exists()
    assert not server.where.socket_dir.exists()
    with pytest.raises(TwinRefused, check=state("57P01")):
        session.run("SELECT 1")
    with pytest.raises(TwinRefused, check=state("57P03")):
        twin.session("alice", CLINIC)
    session.close()


def test_twin_dies_with_a_killed_gateway_and_is_cleared_by_the_next(
    twin_home: Path, gateway_process: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """Kill -9 takes the server along; what is left on disk the next start removes."""
    gateway = gateway_process()
    assert gateway.stdout is not None
    pid = int(gateway.stdout.readline())
    (left,) = _lives(twin_home)
    gateway.kill()
    gateway.wait()
    _wait_until(lambda: has_ended(pid))
    assert left.exists()
    with open_twin(twin_home):
        assert not left.exists()


def test_twin_in_use_is_not_cleared_by_another_gateway(
    twin_home: Path, gateway_process: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """Two gateways on one home have a twin each, whoever starts and stops first."""
    with open_twin(twin_home) as mine:
        gateway = gateway_process()
        assert gateway.stdout is not None
        pid = int(gateway.stdout.readline())
        assert len(_lives(twin_home)) == 2
        gateway.communicate("\n")
        _wait_until(lambda: has_ended(pid))
        with mine.session("alice", CLINIC) as session:
            assert session.run("SELECT 1") == (("1",),)


@pytest.mark.parametrize("victim", ["server", "session"])
def test_twin_that_dies_is_replaced(twin_home: Path, victim: str) -> None:
    """Sessions are told 57P01; new ones find a fresh server, also when one process crashed."""
    happened: list[Event] = []
    with open_twin(twin_home, emit=happened.append) as twin:
        life = life_of(twin)
        session = twin.session("alice", CLINIC)
        pid = life.server.process.pid if victim == "server" else session._pgconn.backend_pid
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(TwinRefused, check=state("57P01")):
            _keep_asking(lambda: session.run("SELECT 1"))
        session.close()
        _wait_until(
            lambda: not life.server.alive
        )  # a crash of one process takes a moment to end all
        with twin.session("alice", CLINIC) as again:
            assert again.describe("SELECT region FROM patients").columns
        assert life_of(twin) is not life
        assert not life.server.where.place.path.exists()
    assert [type(one) for one in happened] == [TwinStarted, TwinLost]


def test_start_is_tried_again_when_it_fails(
    twin_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin that cannot be replaced at once is replaced later, and each failure is told."""
    happened: list[Event] = []
    with open_twin(twin_home, emit=happened.append) as twin:
        begin = twin._supervisor._begin
        failures = iter([OSError("no room"), OSError("no room")])

        def failing() -> object:
            for failure in failures:
                raise failure
            return begin()

        monkeypatch.setattr(twin._supervisor, "_begin", failing)
        life_of(twin).server.kill()
        with twin.session("alice", CLINIC) as session:
            assert session.run("SELECT 1") == (("1",),)
    assert happened[1:] == [TwinLost(0), TwinNotStarted("no room"), TwinNotStarted("no room")]


def test_first_start_that_fails_is_raised(twin_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in the way is said at once, and nothing stays behind."""
    before = threading.active_count()
    monkeypatch.setattr("gateway.twin.server.MEMORY", 1_000_000)
    with pytest.raises(OperatorError, match="does not start"):
        open_twin(twin_home)
    assert _lives(twin_home) == []
    assert threading.active_count() == before


def test_home_with_a_long_path_gets_a_socket_elsewhere(twin_home: Path) -> None:
    """A path that is too long for a socket is no obstacle, and the socket's directory goes too."""
    home = twin_home / ("long" * 25)
    with open_twin(home) as twin:
        socket_dir = life_of(twin).server.where.socket_dir
        assert twin_home not in socket_dir.parents
        with twin.session("alice", CLINIC) as session:
            assert session.run("SELECT 1") == (("1",),)
    assert not socket_dir.exists()


def test_frozen_server_is_left_in_time_and_stopped(
    twin_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that hears neither a cancel nor a signal holds nobody up, and is killed whole."""
    monkeypatch.setattr("gateway.twin.server._STOP_S", 0.3)
    monkeypatch.setattr("gateway.twin.session._GRACE_S", 0.3)
    twin = open_twin(twin_home)
    server = life_of(twin).server.process.pid
    session = twin.session("alice", CLINIC, limit_s=0.3)
    backend = session._pgconn.backend_pid
    os.kill(server, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(TwinRefused, match=r"longer than 0\.3 s"):
        session.run(ENDLESS)
    assert time.monotonic() - began < 30  # a bound on waiting for ever
    twin.close()
    assert has_ended(server)
    _wait_until(lambda: has_ended(backend))


def test_process_that_computes_does_not_outlive_its_server(twin_home: Path) -> None:
    """When the server is killed, a statement that runs does not go on without it."""
    with open_twin(twin_home) as twin:
        session = twin.session("alice", CLINIC)
        backend = session._pgconn.backend_pid
        session._pgconn.send_query(ENDLESS.encode())
        session._pgconn.flush()
        life_of(twin).server.process.kill()
        with twin.session("alice", CLINIC) as again:
            assert again.run("SELECT 1") == (("1",),)
        _wait_until(lambda: has_ended(backend))
        session.close()


def _status(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:"))


def _lives(home: Path) -> list[Path]:
    return [path for path in (home / "twin").iterdir() if path.is_dir()]


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _keep_asking(ask: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        ask()
        time.sleep(0.01)
