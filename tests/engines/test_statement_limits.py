"""The ends of a statement at a source: in time, late, cancelled, at shutdown, or with a source that hangs."""

import gc
import shutil
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from engines.sources import in_duckdb, in_postgresql
from sqlalchemy import URL, Select, func, literal_column, select, text

from gateway.cancellation import CancelEvent, Computation, SourceEnd
from gateway.engines.preparation import Chunks, Database
from gateway.engines.source import SourceDatabase
from gateway.errors import BackendUnavailable, Code, Refusal, SourceStopped
from gateway.events import Event, SourceFailed

PATIENCE_S = 60.0
VISITS = "CREATE TABLE visits (p bigint)"
_SOCKET = ".s.PGSQL.5432"


@pytest.fixture(params=["duckdb", "postgresql"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceDatabase]:
    if request.param == "postgresql":
        url = in_postgresql(request.getfixturevalue("sample_database"), VISITS)
    else:
        url = in_duckdb(tmp_path, VISITS)
    opened = opened_at(url)
    yield opened
    opened.stop()


def opened_at(url: URL, events: list[Event] | None = None) -> SourceDatabase:
    nothing: Any = None
    emit = (lambda _: None) if events is None else events.append
    return SourceDatabase.open(url, nothing, salt="clinic", emit=emit)


def heavy(source: SourceDatabase) -> Select[Any]:
    numbers = "range" if source.dialect == "duckdb" else "generate_series"
    first = "0, " if source.dialect == "duckdb" else "1, "
    return (
        select(func.count().label("m1"))
        .select_from(
            text(f"{numbers}({first}100000000) AS a(x), {numbers}({first}100000000) AS b(x)")
        )
        .where(text("(a.x * b.x) % 7 = 3"))
    )


def rows(every: Sequence[Chunks]) -> list[Sequence[Any]]:
    return [row for some in every[0] for row in some]


def run(
    database: Database,
    statement: Select[Any],
    *,
    limit_s: float = PATIENCE_S,
    cancelled: threading.Event | None = None,
    subject: str = "alice",
) -> list[Sequence[Any]]:
    prepared = database.prepare(
        ["visits"], subject=subject, limit_s=PATIENCE_S, cancelled=cancelled
    )
    with closing(prepared):
        return prepared.run(
            lambda _: [statement], 1, {}, rows, limit_s=limit_s, cancelled=cancelled
        )


def computed(refused: "pytest.ExceptionInfo[Refusal]") -> Computation:
    assert isinstance(refused.value, SourceStopped)
    assert refused.value.computation is not None
    return refused.value.computation


def test_late_statement_frees_its_worker_and_is_counted(source: SourceDatabase) -> None:
    """Within two seconds of the limit, with what the source computed; the next statement is answered."""
    began = monotonic()
    with pytest.raises(SourceStopped) as refused:
        run(source.database, heavy(source), limit_s=1.0)
    assert monotonic() - began < 1.0 + 2.0 + 2.0  # beside connecting, on a busy machine
    assert refused.value.code is Code.SOURCE_TIMEOUT
    found = computed(refused)
    assert 0.9 <= found.seconds <= 3.0
    assert (found.limit_s, found.ended, found.is_counted) == (1.0, SourceEnd.LIMIT, True)
    assert [*map(tuple, run(source.database, select(literal_column("1").label("m1"))))] == [(1,)]


def test_cancelled_statement_says_how_long_it_computed(source: SourceDatabase) -> None:
    """A cancel before half of the limit is free; the worker has nothing more to wait for."""
    cancelled = CancelEvent()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(run, source.database, heavy(source), cancelled=cancelled)
        sleep(1.0)
        cancelled.set()
        began = monotonic()
        with pytest.raises(SourceStopped) as refused:
            asked.result()
    assert monotonic() - began < 5
    assert refused.value.code is Code.SOURCE_CANCELLED
    found = computed(refused)
    assert (found.ended, found.is_counted) == (SourceEnd.CANCEL, False)
    assert 0 < found.seconds < 10


def test_statement_without_memory_in_duckdb_is_counted_as_a_late_one(tmp_path: Path) -> None:
    """Where some rows alone need the memory, the outcome tells of them; the next statement is answered."""
    url = in_duckdb(tmp_path, VISITS).update_query_dict({"memory_limit": "100MB"})
    with stopped_after(opened_at(url)) as source:
        texts = select(func.count(text("DISTINCT md5(x::text)")).label("m1"))
        require_exhausted(source, texts.select_from(text("range(30000000) AS r(x)")))


def test_statement_without_memory_in_postgresql_is_counted_as_a_late_one(
    sample_database: URL,
) -> None:
    """The server says so itself; what it says of its disk and its limits reads the same."""
    body = "BEGIN RAISE EXCEPTION USING ERRCODE = '53200'; END"
    made = f"CREATE FUNCTION full_() RETURNS int LANGUAGE plpgsql AS $${body}$$"
    with stopped_after(opened_at(in_postgresql(sample_database, f"{VISITS}; {made}"))) as source:
        require_exhausted(source, select(text("full_() AS m1")))


@contextmanager
def stopped_after(source: SourceDatabase) -> Iterator[SourceDatabase]:
    try:
        yield source
    finally:
        source.stop()


def require_exhausted(source: SourceDatabase, statement: Select[Any]) -> None:
    with pytest.raises(SourceStopped) as refused:
        run(source.database, statement)
    assert refused.value.code is Code.SOURCE_EXHAUSTED
    assert (computed(refused).ended, computed(refused).is_counted) == (SourceEnd.ROOM, True)
    assert [*map(tuple, run(source.database, select(literal_column("1").label("m1"))))] == [(1,)]


def test_question_that_was_cancelled_before_it_began_did_not_compute(
    source: SourceDatabase,
) -> None:
    """It is refused before its charge."""
    cancelled = CancelEvent()
    cancelled.set()
    with pytest.raises(SourceStopped) as refused:
        run(source.database, heavy(source), cancelled=cancelled)
    assert refused.value.code is Code.SOURCE_CANCELLED


def test_statement_ends_with_the_gateway_and_is_not_counted(source: SourceDatabase) -> None:
    """A stop of the gateway is no time-out of anybody's, and nothing is begun after it."""
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(run, source.database, heavy(source))
        sleep(1.0)
        began = monotonic()
        source.stop()
        with pytest.raises(SourceStopped) as refused:
            asked.result()
    assert monotonic() - began < 5
    assert refused.value.code is Code.SOURCE_CANCELLED
    assert (computed(refused).ended, computed(refused).is_counted) == (SourceEnd.STOP, False)
    with pytest.raises(Refusal):
        run(source.database, heavy(source))


def test_subject_with_its_share_of_processes_waits_before_its_charge(tmp_path: Path) -> None:
    """It is told to try again, which is no time-out; another subject does not wait."""
    url = in_duckdb(tmp_path, VISITS)
    source = opened_at(url)
    held: list[Any] = []
    try:
        database: Any = source.database
        held += [
            database.prepare(["visits"], subject="alice", limit_s=PATIENCE_S, cancelled=None)
            for _ in range(database.pool.share)
        ]
        with pytest.raises(BackendUnavailable) as refused:
            database.prepare(["visits"], subject="alice", limit_s=0.2, cancelled=None)
        assert refused.value.code is Code.SOURCE_UNAVAILABLE
        assert "try again" in refused.value.hint
        assert [
            *map(tuple, run(database, select(literal_column("1").label("m1")), subject="bob"))
        ] == [(1,)]
    finally:
        for one in held:
            one.close()
        source.stop()


def test_process_that_is_killed_beside_us_ends_its_question_alone(tmp_path: Path) -> None:
    """As the kernel does where memory is short; it is counted, since some rows alone may have taken it."""
    url = in_duckdb(tmp_path, VISITS)
    events: list[Event] = []
    source = opened_at(url, events)
    database: Any = source.database
    try:
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(run, database, heavy(source))
            sleep(0.7)
            for one in list(database.pool._busy):
                one.begin_to_end()
            with pytest.raises(SourceStopped) as refused:
                asked.result()
        assert refused.value.code is Code.SOURCE_EXHAUSTED
        assert (computed(refused).ended, computed(refused).is_counted) == (SourceEnd.ROOM, True)
        assert SourceFailed("ProcessLost") in events
        assert [*map(tuple, run(database, select(literal_column("1").label("m1"))))] == [(1,)]
    finally:
        source.stop()


class Stuck:
    """A wire to PostgreSQL that falls silent: nothing goes through, nothing is closed."""

    def __init__(self, url: URL, *, takes_calls: bool) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="stuck-"))
        self.url = url.update_query_dict({"host": str(self.place)})
        self.is_silent = threading.Event()
        self._takes_calls = takes_calls
        self._real = str(Path(str(url.query["host"])) / _SOCKET)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.place / _SOCKET))
        self._listener.listen()
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._real)
                self._open += [client, server]
                passes = self._takes_calls and self.is_silent.is_set()
                for here, there in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._carry, args=(here, there, passes), daemon=True
                    ).start()

    def _carry(self, here: socket.socket, there: socket.socket, passes: bool) -> None:  # noqa: FBT001
        with suppress(OSError):
            while data := here.recv(1 << 16):
                if passes or not self.is_silent.is_set():
                    there.sendall(data)
            if passes or not self.is_silent.is_set():
                there.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        shutil.rmtree(self.place)


@contextmanager
def stuck(url: URL, *, takes_calls: bool) -> Iterator[Stuck]:
    with closing(Stuck(url, takes_calls=takes_calls)) as made:
        yield made


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """However a statement ends, its connection is closed, and not left to whoever collects garbage."""
    yield
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        gc.collect()
    assert not [one for one in told if "still open" in str(one.message)]


def is_counted(refusal: Refusal) -> bool:
    found = refusal.computation if isinstance(refusal, SourceStopped) else None
    return found is not None and found.is_counted


@pytest.mark.parametrize(
    ("takes_calls", "of"), [(True, SourceStopped), (False, BackendUnavailable)]
)
def test_stuck_server_does_not_hold_the_worker(
    sample_database: URL, *, takes_calls: bool, of: Callable[..., Refusal]
) -> None:
    """The connection is closed two seconds after the limit at most; a server that hears nobody counts for nobody."""
    in_postgresql(sample_database, VISITS)
    with stuck(sample_database, takes_calls=takes_calls) as wire:
        source = opened_at(wire.url)
        try:
            prepared = source.database.prepare(
                ["visits"], subject="alice", limit_s=PATIENCE_S, cancelled=None
            )
            with closing(prepared):
                threading.Timer(0.3, wire.is_silent.set).start()
                began = monotonic()
                with pytest.raises(Refusal) as refused:
                    prepared.run(
                        lambda _: [heavy(source)], 1, {}, rows, limit_s=1.0, cancelled=None
                    )
                took = monotonic() - began
        finally:
            source.stop()
    assert took < 1.0 + 2.0 + 1.0
    assert type(refused.value) is of
    assert is_counted(refused.value) is takes_calls
