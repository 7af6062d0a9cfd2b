"""DuckDB in processes that can be killed: each statement in one of its own, and fair to all who ask."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import duckdb
import pytest
from warm_python import forks

from gateway.cancellation import CancelEvent
from gateway.engines.duckdb_process.frames import Row
from gateway.engines.duckdb_process.pool import (
    LeasedProcess,
    Pool,
    PoolBusy,
    PoolStopped,
    WaitCancelled,
    places_for,
)
from gateway.engines.duckdb_process.process import (
    Launcher,
    ProcessLate,
    ProcessLost,
    ProcessSettings,
    StatementFailed,
)

HEAVY = (
    "SELECT count(*) FROM range(100000000) a(x), range(100000000) b(x) WHERE (a.x * b.x) % 7 = 3"
)
PATIENCE_S = 60.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return made(tmp_path / "clinic.duckdb", 1000)


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """Launched once: a new zygote imports DuckDB."""
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def pool(file: Path, launcher: Launcher) -> Iterator[Pool]:
    """A pool whose zygote has no other processes than the pool's."""
    opened = pool_of(file, launcher=launcher)
    yield opened
    opened.stop()
    zygote = launcher._zygote
    assert zygote is None or wait_until(
        lambda: zygote.poll() is not None or not children_of(zygote.pid)
    )


@contextmanager
def closed_after(pool: Pool) -> Iterator[Pool]:
    try:
        yield pool
    finally:
        pool.stop()
        pool._launcher.close()


def made(path: Path, rows: int) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT range AS x FROM range({rows})")
    return path


def pool_of(file: Path, places: int = 4, launcher: Launcher | None = None, **config: str) -> Pool:
    settings = ProcessSettings(str(file), {"threads": "2", **config}, places)
    return Pool(settings, launcher or Launcher())


def ask(
    pool: Pool,
    sql: str,
    *parameters: object,
    limit_s: float = PATIENCE_S,
    subject: str = "alice",
    patience_s: float = PATIENCE_S,
    cancelled: threading.Event | None = None,
) -> list[Row]:
    with pool.lease(subject, patience_s, cancelled) as leased:
        return rows(leased, sql, *parameters, limit_s=limit_s)


def rows(
    leased: LeasedProcess, sql: str, *parameters: object, limit_s: float = PATIENCE_S
) -> list[Row]:
    answer = leased.process.run(sql, parameters, monotonic() + limit_s)
    return [row for some in answer for row in some]


def pid_of(pool: Pool, number: int) -> int:
    """The process of this number: the zygote's children have theirs in the order they were made."""
    return children_of(zygote_of(pool))[number]


def zygote_of(pool: Pool) -> int:
    zygote = pool._launcher._zygote
    assert zygote is not None
    return zygote.pid


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """A process that was killed and not yet waited for computes nothing."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def wait_until(holds: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    until = monotonic() + within_s
    while not holds() and monotonic() < until:
        sleep(0.005)
    return holds()


def test_statement_gives_the_rows_that_duckdb_gives(pool: Pool, file: Path) -> None:
    """The same values of the same types as in the gateway's own process, for few rows and for many."""
    sql = (
        "SELECT x, x::hugeint * 10::hugeint ** 25 AS h, x::decimal(20, 3) AS d, DATE '2026-01-01' AS a,"
        " 'it''s' AS s, x % 2 = 0 AS b, x / 3 AS f, NULL AS n FROM visits WHERE x < $1 ORDER BY x"
    )
    with duckdb.connect(str(file), read_only=True) as here:
        for many in (0, 3, 1000):
            assert ask(pool, sql, many) == here.execute(sql, [many]).fetchall()


def test_late_statement_is_killed_and_ends_no_other(pool: Pool) -> None:
    """It raises soon after its limit, its process is gone, and a statement beside it is answered."""
    ask(pool, "SELECT 1")
    with ThreadPoolExecutor(1) as threads, pool.lease("bob", PATIENCE_S) as other:
        beside = threads.submit(
            rows, other, "SELECT count(*) FROM range(1000000000) WHERE range % 3 = 0"
        )
        before = set(children_of(zygote_of(pool)))
        began = monotonic()
        with pytest.raises(ProcessLate):
            ask(pool, HEAVY, limit_s=1.2)
        assert monotonic() - began < 3.2
        assert beside.result() == [(333333334,)]
    gone = before - set(children_of(zygote_of(pool)))
    assert wait_until(lambda: not any(map(is_running, gone)))
    assert wait_until(lambda: len([*filter(is_running, children_of(zygote_of(pool)))]) <= 2)
    assert ask(pool, "SELECT count(*) FROM visits") == [(1000,)]


@pytest.mark.parametrize("make", [CancelEvent, threading.Event])
def test_cancelled_statement_ends_at_once(pool: Pool, make: Callable[[], threading.Event]) -> None:
    """Whoever waits for it is free long before its limit."""
    cancelled = make()
    began = monotonic()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, pool, HEAVY, cancelled=cancelled)
        assert wait_until(lambda: bool(pool._busy))
        sleep(0.2)
        cancelled.set()
        with pytest.raises(ProcessLost):
            asked.result()
    assert monotonic() - began < PATIENCE_S / 2
    assert ask(pool, "SELECT 1") == [(1,)]


def test_other_subject_is_answered_within_a_second_under_eight_hostile_statements(
    pool: Pool,
) -> None:
    """One subject has half of the processes at most, and what takes long gives way."""
    stop = CancelEvent()

    def hostile() -> None:
        with suppress(ProcessLost, ProcessLate, PoolBusy, WaitCancelled):
            ask(pool, HEAVY, cancelled=stop)

    with ThreadPoolExecutor(8) as threads:
        for _ in range(8):
            threads.submit(hostile)
        assert wait_until(lambda: pool._taken["alice"] == pool.share)
        sleep(1.5)
        assert pool._taken["alice"] == pool.share
        took = []
        for _ in range(5):
            began = monotonic()
            assert ask(pool, "SELECT count(*) FROM visits", subject="bob") == [(1000,)]
            took.append(monotonic() - began)
        stop.set()
    assert min(took) < 1.0, took


def test_wait_for_a_process_is_not_computing(pool: Pool) -> None:
    """Whoever has to wait too long is told so, and the clock of the statement has not begun."""
    with pool.lease("alice", 1), pool.lease("alice", 1):
        began = monotonic()
        with pytest.raises(PoolBusy):
            ask(pool, "SELECT 1", patience_s=0.3)
        assert monotonic() - began >= 0.3
        cancelled = CancelEvent()
        cancelled.set()
        with pytest.raises(WaitCancelled):
            ask(pool, "SELECT 1", cancelled=cancelled)
    assert ask(pool, "SELECT 1") == [(1,)]


def test_subject_with_the_fewest_processes_is_next(pool: Pool) -> None:
    """Not whoever came first: a long queue of one subject is no queue for another."""
    over = threading.Event()

    def hold(subject: str) -> None:
        with pool.lease(subject, PATIENCE_S):
            over.wait(PATIENCE_S)

    with ThreadPoolExecutor(4) as threads, ExitStack() as last, ExitStack() as second:
        last.callback(over.set)
        for stack in (last, last, second):
            stack.enter_context(pool.lease("carol" if stack is last else "dave", 1))
        with pool.lease("dave", 1):
            for _ in range(3):
                threads.submit(hold, "alice")
            assert wait_until(lambda: len(pool._waiting) == 3)
            threads.submit(hold, "bob")
            assert wait_until(lambda: len(pool._waiting) == 4)
        assert wait_until(lambda: pool._taken["alice"] == 1)
        second.close()
        assert wait_until(lambda: pool._taken["bob"] == 1)
        assert pool._taken["alice"] == 1
        over.set()


def test_statement_over_its_memory_fails_alone(file: Path) -> None:
    """Neither the gateway nor the next statement is short of memory; nothing is written to disk."""
    with closed_after(pool_of(file, memory_limit="200MB")) as opened:
        with pytest.raises(StatementFailed) as failed:
            ask(opened, "SELECT count(DISTINCT md5(range::text)) FROM range(30000000)")
        assert failed.value.kind == "OutOfMemoryException"
        assert ask(opened, "SELECT 1") == [(1,)]
        assert [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO visits VALUES (1)",
        "COPY visits TO '{there}/out.csv'",
        "SELECT * FROM read_csv('{there}/in.csv')",
        "ATTACH '{there}/other.duckdb'",
        "SET memory_limit = '1TB'",
        "SET enable_external_access = true",
        "SET temp_directory = '{there}'",
        "INSTALL httpfs",
    ],
)
def test_process_is_locked_down(pool: Pool, file: Path, sql: str) -> None:
    """It reads its one file and changes nothing, not even its settings."""
    (file.parent / "in.csv").write_text("a\n1\n")
    with pytest.raises(StatementFailed):
        ask(pool, sql.format(there=file.parent))
    assert sorted(one.name for one in file.parent.iterdir()) == [file.name, "in.csv"]


def test_failed_statement_says_its_class_alone(pool: Pool) -> None:
    """DuckDB's own text may hold a value."""
    with pytest.raises(StatementFailed) as failed:
        ask(pool, "SELECT CAST('secret of dave' AS integer)")
    assert str(failed.value) == "ConversionException"
    assert ask(pool, "SELECT 1") == [(1,)]


def test_replaced_file_is_read_by_a_process_of_its_own(pool: Pool, file: Path) -> None:
    """No process answers from a file that is not there any more, and each says which one it has."""
    with pool.lease("alice", 1) as leased:
        before = leased.identity
    made(file.with_name("new.duckdb"), 7).replace(file)
    with pool.lease("alice", PATIENCE_S) as leased:
        assert rows(leased, "SELECT count(*) FROM visits") == [(7,)]
        assert leased.identity != before
        assert leased.identity.inode != before.inode


def test_file_that_cannot_be_opened_fails_each_time(pool: Pool, file: Path) -> None:
    """And is opened as soon as it can be."""
    saved = file.read_bytes()
    file.unlink()
    with pytest.raises((StatementFailed, ProcessLost)):
        ask(pool, "SELECT 1")
    file.write_bytes(saved)
    assert ask(pool, "SELECT count(*) FROM visits") == [(1000,)]


def test_pool_answers_again_when_its_zygote_was_killed(pool: Pool) -> None:
    """A process that lost its zygote is gone with it; the next statement has a new one."""
    ask(pool, "SELECT 1")
    zygote = zygote_of(pool)
    with pool.lease("bob", 1) as leased:
        children = children_of(zygote)
        os.kill(zygote, signal.SIGKILL)
        with pytest.raises(ProcessLost):
            rows(leased, HEAVY)
    assert wait_until(lambda: not any(map(is_running, children)))
    assert ask(pool, "SELECT count(*) FROM visits") == [(1000,)]
    assert zygote_of(pool) != zygote


def test_stopped_pool_leaves_no_process_whatever_runs(pool: Pool) -> None:
    """Everybody who reads or waits is told at once."""

    def hostile() -> Any:  # noqa: ANN401
        with pytest.raises((ProcessLost, PoolStopped)):
            ask(pool, HEAVY)

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(hostile) for _ in range(4)]
        assert wait_until(lambda: len(pool._busy) == pool.share and len(pool._waiting) == 2)
        sleep(0.3)
        zygote = zygote_of(pool)
        every = children_of(zygote)
        began = monotonic()
        pool.stop()
        for one in asked:
            one.result(PATIENCE_S)
    assert monotonic() - began < 5
    assert wait_until(lambda: not any(map(is_running, every)), 5)
    with pytest.raises(PoolStopped):
        ask(pool, "SELECT 1")


def test_closed_pool_lets_who_has_a_process_end_with_it(pool: Pool) -> None:
    """As when a policy is replaced: a question that was charged is answered, and then no process is left."""
    with pool.lease("alice", PATIENCE_S) as leased:
        zygote = zygote_of(pool)
        every = children_of(zygote)
        pool.close()
        assert rows(leased, "SELECT count(*) FROM visits") == [(1000,)]
    assert wait_until(lambda: not any(map(is_running, every)), 5)
    assert ask(pool, "SELECT 1") == [(1,)]
    assert wait_until(lambda: not [*filter(is_running, children_of(zygote))], 5)


def test_process_has_nothing_of_the_gateway(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor but its line and its file, no environment with secrets, no path on its command line."""
    monkeypatch.setenv("CLINIC_PASSWORD", "secret")
    with (
        closed_after(pool_of(file)) as pool,  # its zygote begins with the secret there
        pool.lease("alice", PATIENCE_S) as leased,
        (file.parent / "open").open("w"),
    ):
        rows(leased, "SELECT count(*) FROM visits")
        zygote = zygote_of(pool)
        (child,) = children_of(zygote)
        there = [
            str(one.readlink()) for one in Path(f"/proc/{child}/fd").iterdir() if one.is_symlink()
        ]
        beside = [one for one in there if one != "/dev/null" and not one.startswith("socket:")]
        assert set(beside) == {str(file)}
        assert [one.startswith("socket:") for one in there].count(True) == 1
        for pid in (zygote, child):
            assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
            assert file.name.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_processes_end_with_a_gateway_that_is_killed(file: Path) -> None:
    """Not even SIGKILL leaves one behind, though its statement would take hours."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from engines.duckdb_process.test_pool import HEAVY, children_of, monotonic, pool_of, zygote_of
import threading
from contextlib import ExitStack
pool = pool_of(Path({str(file)!r}))
held = ExitStack()
process = held.enter_context(pool.lease("alice", 60)).process
threading.Thread(target=lambda: list(process.run(HEAVY, (), monotonic() + 60))).start()
print(zygote_of(pool), children_of(zygote_of(pool))[-1], flush=True)
"""
    with forks():
        gateway = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with gateway:
        assert gateway.stdout is not None
        try:
            every = [int(one) for one in gateway.stdout.readline().split()]
            sleep(0.5)
            assert list(map(is_running, every)) == [True, True]
        finally:
            gateway.kill()
    assert wait_until(lambda: not any(map(is_running, every)), 5)


def test_places_leave_room_for_the_short_statements_of_others() -> None:
    """Always more than two, and more than the cores."""
    assert [places_for(cores) for cores in (1, 2, 8)] == [4, 4, 16]
