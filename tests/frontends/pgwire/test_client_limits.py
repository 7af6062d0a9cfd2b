"""Clients that read slowly, send too much, send nothing or leave cost little, and nothing afterwards."""

import gc
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
from fix_auth import Door
from fix_twin import ENDLESS, as_gateway
from frontends.pgwire.packets import message
from frontends.pgwire.wire_server import (
    HOST,
    QUESTION,
    Wired,
    announced,
    eventually,
    query,
    read_to_end,
    read_to_ready,
    wired,
)

from gateway.events import Crashed
from gateway.frontends.pgwire import client as clients
from gateway.frontends.workers import Admission, Workers
from gateway.twin import Twin

MANY_ROWS = "SELECT i, 'row ' || i AS name FROM generate_series(1, 2000000) s(i)"
_MB = 1024 * 1024


@pytest.fixture
def wire(twin: Twin, door: Door) -> Iterator[Wired]:
    with wired(twin, door) as wire:
        yield wire


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


def _held() -> tuple[int, int]:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


def _buffered(wire: Wired) -> int:
    """Bytes that wait in the server for clients to read them."""
    return sum(
        one._transport.get_write_buffer_size()
        for one in wire.server._clients
        if one._transport is not None
    )


def _connections(wire: Wired) -> list[clients.Client]:
    return list(wire.server._clients)


def test_large_result_takes_no_memory_when_it_is_read_slowly(wire: Wired) -> None:
    """The twin is not read while the client does not read: of 50 MB, the process holds no more than a fraction."""
    with wire.raw() as line:
        line.sendall(query("SELECT 1"))
        read_to_ready(line)
        before = _resident_mb()
        line.sendall(query(MANY_ROWS))
        eventually(
            lambda: any(
                one._connection._client_full for one in _connections(wire) if one._connection
            )
        )
        most, came = 0.0, 0
        while True:
            part = line.recv(256 * 1024)
            came += len(part)
            most = max(most, _resident_mb())
            assert _buffered(wire) < 2 * _MB
            if part[-6:-1] == b"Z\0\0\0\5":
                break
        assert came > 50 * _MB
        assert most - before < 25


def test_row_takes_little_memory_when_it_is_long(wire: Wired) -> None:
    """A row of 60 MB goes through in parts."""
    with wire.raw() as line:
        line.sendall(query("SELECT 1"))
        read_to_ready(line)
        before, most, came = _resident_mb(), 0.0, 0
        line.sendall(query("SELECT repeat('x', 60000000)"))
        while True:
            part = line.recv(256 * 1024)
            came += len(part)
            most = max(most, _resident_mb())
            if part[-6:-1] == b"Z\0\0\0\5":
                break
        assert came > 60_000_000
        assert most - before < 25


@pytest.mark.parametrize("length", [1 << 30, 0xFFFFFFFF, 3])
def test_client_is_told_at_once_when_it_announces_too_much(wire: Wired, length: int) -> None:
    """A length that no message may have ends the connection before anything of it came."""
    with wire.raw() as line:
        line.sendall(announced("Q", length))
        said = read_to_end(line)
    assert b"SFATAL" in said
    assert b"C08P01" in said
    eventually(lambda: not wire.server._clients)


def test_client_is_dropped_when_it_does_not_come_in(
    wire: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing at all, or half a packet, is waited for as long as coming in may take, and no longer."""
    monkeypatch.setattr(clients, "_ENTERING_S", 0.3)
    for said in (b"", b"\0\0\0\x40\0\3"):
        with socket.create_connection((HOST, wire.port), 20) as line:
            line.sendall(said)
            assert read_to_end(line) == b""
    eventually(lambda: not wire.server._clients)


def test_half_a_message_is_waited_for_when_somebody_was_let_in(wire: Wired) -> None:
    """What comes in pieces is answered when it is whole."""
    with wire.raw() as line:
        for byte in query("SELECT 1 AS one"):
            line.sendall(bytes((byte,)))
        assert b"SELECT 1\0" in read_to_ready(line)


def test_messages_behind_a_question_are_not_read_when_they_are_many(wire: Wired) -> None:
    """They wait in the client's own socket; when the question is answered all are answered, in their order."""
    many, each = 20_000, query("SELECT 2 AS two" + " " * 500)
    with wire.raw() as line:
        line.sendall(query(QUESTION))
        assert wire.pipeline.begun.acquire(timeout=20)
        said = bytearray()

        def read() -> None:
            while said.count(b"Z\0\0\0\5I") < many + 1:
                said.extend(line.recv(65_536))

        sender = threading.Thread(target=line.sendall, args=(each * many,))
        sender.start()
        (one,) = _connections(wire)
        assert one._connection is not None
        session = one._connection._session
        eventually(lambda: session.behind > 256)
        for _ in range(20):
            threading.Event().wait(0.02)
            assert session.behind * len(each) < 2 * _MB
        assert sender.is_alive()
        wire.pipeline.let.set()
        read()
        sender.join()
    assert said.count(b"two") == many
    assert said.index(b"\x017") < said.index(b"two")


@pytest.mark.parametrize("doing", [MANY_ROWS, ENDLESS, QUESTION])
def test_nothing_is_left_when_a_client_goes_away(wire: Wired, doing: str) -> None:
    """In the middle of rows, of a statement, of a question: that is stopped, and line, session, thread and file are gone."""
    with wire.raw() as line:  # threads that are made when they are first needed
        line.sendall(query("SELECT 1"))
        read_to_ready(line)
    eventually(lambda: not wire.server._clients)
    eventually(lambda: wire.sessions() <= 0)
    fds = _held()[0]
    for _ in range(3):
        with wire.raw() as line:
            line.sendall(query(doing))
            if doing == QUESTION:
                assert wire.pipeline.begun.acquire(timeout=20)
            elif doing == MANY_ROWS:
                line.recv(1_000)
            else:
                eventually(
                    lambda: any(
                        one._connection and one._connection._session.at_work
                        for one in _connections(wire)
                    )
                )
    if doing == QUESTION:
        for _ in range(3):
            assert wire.pipeline.cancelled.acquire(timeout=20)
    eventually(lambda: not wire.server._clients)
    eventually(lambda: wire.sessions() <= 0)
    eventually(lambda: _held()[0] <= fds)
    assert not wire.server.cancelling._held


def test_nothing_is_left_when_many_come_and_go(wire: Wired) -> None:
    """Connections that are opened and closed quickly leave no session, thread or file."""
    for _ in range(10):
        wire.connect().close()
    eventually(lambda: not wire.server._clients)
    eventually(lambda: wire.sessions() <= 0)
    fds, threads = _held()
    for _ in range(100):
        wire.connect().close()
    eventually(lambda: not wire.server._clients)
    eventually(lambda: wire.sessions() <= 0)
    eventually(lambda: _held()[0] <= fds)
    assert _held()[1] <= threads + 8  # those that wait for the twin are made as they are needed
    assert not wire.server.cancelling._held


def _end_sessions(twin: Twin) -> None:
    with as_gateway(twin) as gateway:
        gateway.execute(
            "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_stat_get_activity(NULL) a JOIN pg_roles r ON r.oid = a.usesysid WHERE r.rolname LIKE 'analyst_%'"
        )


def test_client_is_told_when_the_twin_ends_its_session_under_a_question(
    wire: Wired, door: Door
) -> None:
    """57P01 and no bug of ours, whatever the source does meanwhile."""
    with wire.connect() as connection:

        def end() -> None:
            wire.pipeline.begun.acquire(timeout=20)
            _end_sessions(wire.twin)

        ending = threading.Thread(target=end)
        ending.start()
        with pytest.raises(psycopg.OperationalError) as told:
            connection.execute(QUESTION)
        ending.join()
        assert told.value.sqlstate == "57P01"
    assert not [one for one in door.told if isinstance(one, Crashed)]


@pytest.mark.parametrize(
    "setting",
    ["TimeZone=Nope", "DateStyle=Nope", "jit=maybe", "statement_timeout=-5", "geqo=5"],
)
def test_setting_that_postgresql_refuses_is_told_at_once(wire: Wired, setting: str) -> None:
    """Whoever waits to get in does not wait for what never will."""
    began = monotonic()
    with pytest.raises(psycopg.OperationalError) as told:
        wire.connect(options=f"-c {setting}").close()
    assert monotonic() - began < 5  # it was tried for ten seconds
    assert setting.split("=", maxsplit=1)[0] in str(told.value)
    assert "lost" not in str(told.value)


@pytest.mark.parametrize("name", ["idle_session_timeout", "idle_in_transaction_session_timeout"])
def test_idle_time_that_a_client_allows_itself_ends_no_question(wire: Wired, name: str) -> None:
    """While the source computes, the session on the twin is idle: the setting is taken, and changes nothing."""
    with wire.connect(options=f"-c {name}=10") as connection:
        connection.execute(f"SET {name} = '10ms'")
        connection.execute(f"SET LOCAL {name} TO 10")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT set_config('{name}', '10', false)")
        with connection.transaction():
            sleep(0.2)
            assert connection.execute("SELECT 1").fetchone() == (1,)
        wire.pipeline.let.set()
        sleep(0.2)
        assert connection.execute(QUESTION).fetchone()


def test_client_is_told_when_the_twin_ends_its_session(wire: Wired) -> None:
    """57P01, and the next connection is as good as the first."""
    with wire.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        _end_sessions(wire.twin)
        with pytest.raises(psycopg.OperationalError) as told:
            connection.execute("SELECT 1")
        assert told.value.sqlstate == "57P01"
    with wire.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_statement_is_cancelled_when_it_takes_too_long(twin: Twin, door: Door) -> None:
    """57014 after the limit, and the connection goes on."""
    with wired(twin, door, limit_s=0.5) as wire, wire.connect() as connection:
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(ENDLESS)
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("doing", [ENDLESS, QUESTION])
def test_statement_is_cancelled_when_its_client_asks_for_it(wire: Wired, doing: str) -> None:
    """A cancel request stops a question in the pipeline and a statement on the twin alike."""
    with wire.connect() as connection:

        def cancel() -> None:
            if doing == QUESTION:
                wire.pipeline.begun.acquire(timeout=20)
            else:
                eventually(
                    lambda: any(
                        one._connection and one._connection._session.at_work
                        for one in _connections(wire)
                    )
                )
            connection.cancel_safe()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(doing)
        canceller.join()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_answers_are_sent_at_once(wire: Wired) -> None:
    """A small answer waits for no acknowledgement of the one before."""
    with wire.connect():
        (one,) = _connections(wire)
        assert one._transport is not None
        line = one._transport.get_extra_info("socket")
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_query_is_skipped_when_an_error_before_it_waits_for_its_sync(wire: Wired) -> None:
    """Only a Sync ends what an error began: what comes before, a query or a question, is neither run nor asked."""
    parse = message("P", b"\0SELECT 1/\0\0\0")
    with wire.raw() as line:
        line.sendall(parse + query("SELECT 1") + query(QUESTION) + message("S"))
        said = read_to_ready(line)
        line.sendall(query("SELECT 5 AS five"))
        assert b"five" in read_to_ready(line)
    assert b"SELECT 1\0" not in said
    assert said.count(b"Z\0\0\0\5") == 1
    assert not wire.pipeline.begun.acquire(blocking=False)


def test_clients_that_do_not_come_in_take_a_part_of_the_places(wire: Wired) -> None:
    """One more is told at once, whoever is in is not disturbed, and a place is free when somebody comes in or goes."""
    wire.server._entering = Admission(3, 2)
    address = (HOST, wire.port)
    with wire.raw() as inside, closing(socket.create_connection(address)) as first:
        with closing(socket.create_connection(address)) as second:
            eventually(lambda: wire.server._entering._held.total() == 2)
            with closing(socket.create_connection(address)) as third:
                third.settimeout(20)
                assert b"C53300" in read_to_end(third)
            inside.sendall(query("SELECT 1"))
            assert b"SELECT 1" in read_to_ready(inside)
            second.shutdown(socket.SHUT_RDWR)
        eventually(lambda: wire.server._entering._held.total() == 1)
        with wire.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        first.shutdown(socket.SHUT_RDWR)
    eventually(lambda: wire.server._entering._held.total() == 0)


def test_subject_on_the_wire_has_a_share_of_the_workers(wire: Wired) -> None:
    """Half of the threads answer one subject; what waits begins when they are free, and too much of it is refused."""
    workers = Workers(4, most_of_one=3)
    wire.server.threads._workers = workers
    with ExitStack() as stack:
        stack.callback(workers.close)
        lines = [stack.enter_context(wire.raw()) for _ in range(4)]
        for line in lines[:3]:
            line.sendall(query(QUESTION))
        for _ in range(2):
            assert wire.pipeline.begun.acquire(timeout=20)
        eventually(lambda: workers._places["alice"] == 3)
        lines[3].sendall(query(QUESTION))
        told = read_to_ready(lines[3])
        assert b"C53300" in told
        assert b"GW709" in told
        assert not wire.pipeline.begun.acquire(blocking=False)
        wire.pipeline.let.set()
        for line in lines[:3]:
            assert b"7" in read_to_ready(line)


_COPIED = f"COPY ({QUESTION}) TO STDOUT"


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        (f"DECLARE c CURSOR FOR {QUESTION}", "25P01"),
        (f"BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR {QUESTION}", "42P03"),
        (f"{_COPIED} (DELIMITER 'ab')", "0A000"),
        (f"{_COPIED} (ENCODING 'nope')", "22023"),
        (f"{_COPIED} (QUOTE 'a')", "0A000"),
        (f"{_COPIED} (HEADER, HEADER)", "42601"),
        (f"{_COPIED} (FORMAT csv, QUOTE 'ab')", "0A000"),
        (f"{_COPIED} (FORMAT binary, DELIMITER ',')", None),
    ],
)
def test_wrapper_that_postgresql_refuses_asks_nothing(
    wire: Wired, text: str, sqlstate: str | None
) -> None:
    """Whatever would be in it: the error comes before the question."""
    wire.pipeline.let.set()
    with wire.connect() as connection:
        with pytest.raises(psycopg.Error) as told:
            psycopg.ClientCursor(connection).execute(text)
        assert sqlstate in {None, told.value.sqlstate}
        connection.execute("ROLLBACK")
        assert not wire.pipeline.asked
        cursor = psycopg.ClientCursor(connection)
        cursor.execute(f'BEGIN; DECLARE "A_c" CURSOR FOR {QUESTION}; COMMIT')
        assert len(wire.pipeline.asked) == 1  # the control
        cursor.execute(f'DECLARE "A_c" CURSOR WITH HOLD FOR {QUESTION}')
        assert connection.execute('FETCH ALL FROM "A_c"').fetchall()
        assert len(wire.pipeline.asked) == 2


def test_result_format_that_there_is_not_asks_nothing(wire: Wired) -> None:
    """Neither text nor binary; PostgreSQL says so, too."""
    with wire.connect() as connection:
        result = connection.pgconn.exec_params(QUESTION.encode(), [], result_format=5)
        assert b"unsupported format code: 5" in result.error_message
    assert not wire.pipeline.asked


def test_session_and_its_questions_have_the_peer_of_the_connection(wire: Wired) -> None:
    """The address is the socket's, and a connection without TLS says so."""
    wire.pipeline.let.set()
    with wire.connect() as connection:
        psycopg.ClientCursor(connection).execute(QUESTION)
    peers = {(one.address, one.tls) for one in (wire.pipeline.entries[-1], wire.pipeline.asked[-1])}
    assert peers == {("127.0.0.1", False)}
