"""Who starts the server, who joins it, who stops it, and what a kill leaves behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from fix_postgres_server import OpenGateway, connect, ends, gone, server_pid

from gateway.errors import Code, OperatorError
from gateway.postgres_server import Lease, open_server, postmaster
from gateway.postgres_server.directories import Home, ServerDirectory
from gateway.postgres_server.files import inherit_lock, is_free
from gateway.postgres_server.postmaster import ServerSetup, start_postmaster, stop_postmaster

_KEEP = "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 7 AS x"
_KEPT = "SELECT x FROM kept"


def _within(seconds: float, happens: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _accepts(lease: Lease) -> bool:
    try:
        connect(lease).close()
    except psycopg.OperationalError:
        return False
    return True


def _sleeper(lease: Lease, seconds: str = "60") -> subprocess.Popen[bytes]:
    """A process of the server's OS user that has nothing to do with it."""
    account = lease.account
    return subprocess.Popen(
        ["/bin/sleep", seconds],
        user=account.uid if account.switch else None,
        group=account.gid if account.switch else None,
    )


def test_lease_stops_the_server_when_it_is_the_last(used_home: Path) -> None:
    """The first to leave leaves the server running, the last one stops it; in one process too."""
    with open_server(used_home) as first, open_server(used_home) as last:
        pid = server_pid(first)
        assert server_pid(last) == pid
        first.close()
        first.close()
        connect(last).close()
    assert ends(pid)
    assert not last.address.socket_dir.exists()
    assert is_free(Home(used_home).lease_lock)


def test_data_is_there_when_the_server_was_stopped(used_home: Path) -> None:
    """What was written before a stop is read after the next start, with the same password."""
    with open_server(used_home) as lease, connect(lease) as connection:
        connection.execute(_KEEP)
    with open_server(used_home) as again, connect(again) as connection:
        assert connection.execute(_KEPT).fetchone() == (7,)
    assert again.superuser_password == lease.superuser_password


def test_gateways_share_one_server_when_they_share_a_home(
    used_home: Path, open_gateway: OpenGateway
) -> None:
    """A second process joins the first one's server and keeps it when the first leaves."""
    first = open_gateway(used_home)
    pid = first.server
    with open_server(used_home) as second:
        assert server_pid(second) == pid
        first.close()
        connect(second).close()
    assert ends(pid)


def test_server_survives_when_its_gateway_is_killed(
    used_home: Path, open_gateway: OpenGateway
) -> None:
    """A killed gateway leaves its server and gives back its lease; the next one joins and stops it."""
    killed = open_gateway(used_home)
    pid = killed.server
    with open_server(used_home) as lease, connect(lease) as connection:
        connection.execute(_KEEP)
        killed.kill()
    assert ends(pid)

    killed = open_gateway(used_home)
    pid = killed.server
    killed.kill()
    assert not gone(pid)
    with open_server(used_home) as lease, connect(lease) as connection:
        assert server_pid(lease) == pid
        assert connection.execute(_KEPT).fetchone() == (7,)
    assert ends(pid)


def test_one_server_is_made_when_ten_gateways_start_at_once(
    home: Path, open_gateway: OpenGateway
) -> None:
    """However many begin together, there is one database and one server; none is left at the end."""
    gateways = [open_gateway(home) for _ in range(10)]
    servers = {one.server for one in gateways}
    assert len(servers) == 1
    for one in gateways:
        assert one.process.stdin is not None
        one.process.stdin.write("close\n")
        one.process.stdin.flush()
    assert [one.process.wait(timeout=30) for one in gateways] == [0] * 10
    assert ends(servers.pop())


def test_lease_stays_when_a_forked_child_closes_it(used_home: Path) -> None:
    """A child of a fork cannot give back its parent's lease, nor stop the server."""
    with open_server(used_home) as lease:
        child = os.fork()
        if child == 0:
            lease.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert not is_free(Home(used_home).lease_lock)
        connect(lease).close()


def test_lease_is_given_back_when_a_forked_child_lives_on(used_home: Path) -> None:
    """The parent's leaving counts although a child still has the open file."""
    lease = open_server(used_home)
    pid = server_pid(lease)
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        lease.close()
        assert ends(pid)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_server_recovers_when_it_was_killed(used_home: Path) -> None:
    """After a kill of the server itself, what was committed is there again."""
    with open_server(used_home) as lease:
        with connect(lease) as connection:
            connection.execute(_KEEP)
        os.kill(server_pid(lease), signal.SIGKILL)
        with open_server(used_home) as again, connect(again) as connection:
            assert connection.execute(_KEPT).fetchone() == (7,)
            lease.close()
            connect(again).close()


def test_server_is_not_joined_when_it_hangs(
    used_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes connections and answers none is reported, and joined once it answers."""
    monkeypatch.setattr(postmaster, "_STOP", 0.1)
    monkeypatch.setattr(postmaster, "_SILENT", 0.2)
    with open_server(used_home) as lease:
        os.kill(server_pid(lease), signal.SIGSTOP)
        try:
            with pytest.raises(OperatorError, match="does not answer") as refused:
                open_server(used_home)
        finally:
            os.kill(server_pid(lease), signal.SIGCONT)
            monkeypatch.undo()
        assert refused.value.code is Code.EMBEDDED_SERVER
        with open_server(used_home) as again:
            assert again.address == lease.address


@pytest.mark.parametrize("pid_of", ["stranger", "zombie", "torn"])
def test_server_starts_when_the_pid_file_is_stale(used_home: Path, pid_of: str) -> None:
    """A pid file whose pid is a stranger's, a zombie's or nothing does not stop the next start.

    PostgreSQL by itself refuses to start with the first two.
    """
    with open_server(used_home) as lease:
        stale = (lease.data_dir / "postmaster.pid").read_text()
        lock = Path(f"{lease.address.socket}.lock").read_text()
    account, place = lease.account, ServerDirectory(lease.data_dir.parent)
    other = _sleeper(lease, "60" if pid_of == "stranger" else "0")
    try:
        if pid_of == "zombie":
            assert _within(5, lambda: gone(other.pid))
        _, rest = stale.split("\n", 1)
        text = "" if pid_of == "torn" else f"{other.pid}\n{rest}"
        (lease.data_dir / "postmaster.pid").write_text(text)
        account.give(lease.data_dir / "postmaster.pid")
        if pid_of != "torn":
            with pytest.raises(OperatorError, match="lock file"):
                start_postmaster(ServerSetup(place, lease.programs, account))
        (lease.data_dir / "postmaster.pid").write_text(text)
        account.give(lease.data_dir / "postmaster.pid")
        place.run.mkdir(exist_ok=True)
        Path(f"{lease.address.socket}.lock").write_text(
            f"{other.pid}\n{lock.partition(chr(10))[2]}"
        )
        with open_server(used_home) as again:
            connect(again).close()
        assert other.poll() is None or pid_of != "stranger"
    finally:
        other.kill()
        other.wait()


def test_stranger_is_not_signalled_when_its_pid_is_in_the_pid_file(used_home: Path) -> None:
    """A server that runs out of sight, as in another container, is not mistaken for a process here."""
    with open_server(used_home) as lease:
        stale = (lease.data_dir / "postmaster.pid").read_text()
    place = ServerDirectory(lease.data_dir.parent)
    stranger = _sleeper(lease)
    try:
        with inherit_lock(place.server_lock):
            _, rest = stale.split("\n", 1)
            (place.data / "postmaster.pid").write_text(f"{stranger.pid}\n{rest}")
            with pytest.raises(OperatorError, match="does not stop") as refused:
                stop_postmaster(ServerSetup(place, lease.programs, lease.account))
        assert refused.value.code is Code.EMBEDDED_SERVER
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_home_is_usable_when_making_it_was_interrupted(
    home: Path, open_gateway: OpenGateway
) -> None:
    """A kill in the middle of initdb leaves nothing that the next start cannot clear away."""
    killed = open_gateway(home)
    place = ServerDirectory(home / "state" / "postgres")
    assert _within(20, lambda: any(place.path.glob("draft-*/data/base/1/*")))
    killed.kill()
    assert not place.data.exists()
    with open_server(home) as lease:
        assert not list(place.path.glob("draft-*"))
        connect(lease).close()


def test_statements_stay_out_of_the_log_when_they_fail_or_crash(used_home: Path) -> None:
    """Neither SQL nor values reach the log: not with an error, not with a crash in mid-statement."""
    with open_server(used_home) as lease:
        with connect(lease) as connection:
            connection.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (x text PRIMARY KEY)")
            connection.execute("INSERT INTO t VALUES ('sec'||'ret')")
            for statement in ("SELECT 'secret'::int", "INSERT INTO t VALUES ('secret')", "secret"):
                with pytest.raises(psycopg.Error, match="secret"):
                    connection.execute(statement)
            with pytest.raises(psycopg.Error, match="secret"):
                connection.execute("SELECT %s::text::int", ["secret"])
            connection.execute("DO $$ BEGIN RAISE WARNING 'secret'; END $$")
        with connect(lease) as connection:
            pid = connection.info.backend_pid
            killer = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.3; kill -9 {pid}"])
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT pg_sleep(60), 'secret'")
            killer.wait()
        assert _within(10, lambda: _accepts(lease))
        said = (lease.data_dir.parent / "server.log").read_text()
    assert "terminated by signal 9" in said
    assert "secret" not in said


def test_log_is_put_aside_when_it_is_large(used_home: Path) -> None:
    """A log beyond a megabyte becomes the previous log at the next start."""
    with open_server(used_home) as lease:
        log = lease.data_dir.parent / "server.log"
    with log.open("a") as stream:
        stream.write("x" * 1_000_001)
    with open_server(used_home):
        assert log.stat().st_size < 10_000
    assert log.with_name("server.log.1").stat().st_size > 1_000_000


def test_failure_quotes_the_log_when_the_server_does_not_start(used_home: Path) -> None:
    """When PostgreSQL refuses, its own words and its log are named, and no lease is left."""
    with open_server(used_home) as lease:
        version = lease.data_dir / "PG_VERSION"
    version.write_text("17\n")
    try:
        with pytest.raises(OperatorError, match="incompatible with server") as refused:
            open_server(used_home)
    finally:
        version.write_text("18\n")
    assert refused.value.code is Code.EMBEDDED_SERVER
    assert str(lease.data_dir.parent / "server.log") in refused.value.hint
    assert is_free(Home(used_home).lease_lock)
    open_server(used_home).close()
