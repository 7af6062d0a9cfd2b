"""Shutdown of a running server: idle clients are notified, running queries get a moment, and nothing hangs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from fix_auth import Door
from frontends.pgwire.wire_server import QUESTION, query, read_to_end, wired

from gateway.events import Crashed
from gateway.frontends.pgwire.framing import Frame
from gateway.frontends.pgwire.session import Session
from gateway.twin import Twin

_PATIENCE_S = 30.0


def test_idle_connection_is_told_when_the_server_stops(twin: Twin, door: Door) -> None:
    """57P01, as from a PostgreSQL that is shut down; nobody comes in any more."""
    with wired(twin, door) as wire, wire.raw() as line:
        wire.server.stop()
        said = read_to_end(line)
        assert b"C57P01\0" in said
        with pytest.raises(psycopg.OperationalError):
            wire.connect()


def test_question_may_end_when_the_server_stops(twin: Twin, door: Door) -> None:
    """What was under way is answered within the time of grace, and its connection ends then."""
    with wired(twin, door) as wire, wire.raw() as line:
        line.sendall(query(QUESTION))
        assert wire.pipeline.begun.acquire(timeout=_PATIENCE_S)
        stopping = threading.Thread(target=wire.server.stop)
        stopping.start()
        wire.pipeline.let.set()
        said = read_to_end(line)
        stopping.join(_PATIENCE_S)
        assert not stopping.is_alive()
        assert b"SELECT 1\0" in said
        assert said.index(b"SELECT 1\0") < said.index(b"C57P01\0")


def test_question_is_cancelled_when_it_takes_longer_than_the_server_waits(
    twin: Twin, door: Door
) -> None:
    """A question that goes on and on is cancelled, and its client told, before the server has stopped."""
    with wired(twin, door) as wire, wire.raw() as line:
        line.sendall(query(QUESTION))
        assert wire.pipeline.begun.acquire(timeout=_PATIENCE_S)
        wire.server.stop()
        assert b"C57P01\0" in read_to_end(line)
        assert wire.pipeline.cancelled.acquire(timeout=_PATIENCE_S)


def test_server_stops_once_when_several_ask_at_the_same_time(twin: Twin, door: Door) -> None:
    """Whoever asks waits until it has stopped; asking again does nothing."""
    with wired(twin, door) as wire, wire.raw(), ThreadPoolExecutor(3) as many:
        asked = [many.submit(wire.server.stop) for _ in range(3)]
        for one in asked:
            one.result(_PATIENCE_S)


def test_connection_ends_with_an_incident_when_something_nobody_foresaw_happens(
    twin: Twin, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours ends one connection: its client is told an id and nothing else, the others go on."""

    def broken(session: Session, frame: Frame) -> None:
        raise KeyError(f"a secret of {session} and {frame}")

    with wired(twin, door) as wire, wire.raw() as line, wire.connect() as other:
        with monkeypatch.context() as patched:
            patched.setattr(Session, "from_client", broken)
            line.sendall(query("SELECT 1"))
            said = read_to_end(line)
        assert b"CXX000\0" in said
        assert b"secret" not in said
        (crash,) = [one for one in door.told if isinstance(one, Crashed)]
        assert crash.incident.encode() in said
        assert "a secret of" in crash.problem
        assert other.execute("SELECT 1").fetchone() == (1,)
