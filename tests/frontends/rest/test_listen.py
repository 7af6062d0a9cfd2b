"""Half-sent requests and too many connections, over real sockets."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import uvicorn
from frontends.rest.stub_questions import Behind

from gateway.events import Event
from gateway.frontends.rest.listen import TimedProtocol
from gateway.frontends.rest.problem_details import Incidents
from gateway.frontends.workers import Admission

_PATIENCE_S = 30.0
_SHORT_S, _LONG_S = 1.0, 60.0
_HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: gateway.test\r\nX-Slow: "
_HEAD = (
    b"POST /v1/query HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer key-of-alice\r\n"
    b"Content-Length: 40\r\n\r\n"
)
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: gateway.test\r\n\r\n"


@dataclass(frozen=True)
class Listening:
    address: tuple[str, int]
    admission: Admission

    def connect(self, of: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(self.address, _PATIENCE_S, source_address=(of, 0))

    def held(self) -> int:
        return self.admission._held.total()

    def wait_until_empty(self) -> None:
        until = time.monotonic() + _PATIENCE_S
        while self.held() and time.monotonic() < until:
            time.sleep(0.01)
        assert self.held() == 0


@contextmanager
def listening(deadline_s: float, most: int = 100, most_of_one: int = 100) -> Iterator[Listening]:
    admission = Admission(most, most_of_one)
    config = uvicorn.Config(
        Behind().app(),
        http=partial(TimedProtocol, admission, deadline_s, deadline_s),  # type: ignore[arg-type]
        log_config=None,
        lifespan="off",
        ws="none",
    )
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run([listener]))
    thread.start()
    try:
        yield Listening(listener.getsockname(), admission)
    finally:
        server.should_exit = True
        thread.join(_PATIENCE_S)
        listener.close()
        assert not thread.is_alive()


def _to_end(line: socket.socket) -> bytes:
    came = b""
    while part := line.recv(65_536):
        came += part
    return came


def test_half_sent_requests_are_ended_by_their_deadline() -> None:
    """Nothing, half a head, a head byte by byte, a body that does not come: each is told and closed."""
    with listening(_SHORT_S) as there, ExitStack() as stack:
        began = time.monotonic()
        lines = [stack.enter_context(there.connect()) for _ in range(4)]
        lines[1].sendall(_HALF_HEAD)
        lines[3].sendall(_HEAD + b'{"sql": ')
        stop = threading.Event()

        def drip() -> None:
            lines[2].sendall(_HALF_HEAD)
            while not stop.wait(0.05):
                try:
                    lines[2].sendall(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        for line, what in ((lines[0], b"head"), (lines[1], b"head"), (lines[3], b"body")):
            told = _to_end(line)
            assert told.startswith(b"HTTP/1.1 408 ")
            assert b"GW712" in told
            assert what in told
        with suppress(ConnectionResetError):  # what it went on to send was read by nobody
            assert b"GW712" in _to_end(lines[2])
        stop.set()
        dripping.join(_PATIENCE_S)
        assert time.monotonic() - began < _PATIENCE_S / 2


def test_idle_and_answered_connections_are_not_ended_by_a_deadline() -> None:
    """A connection that is kept between requests is answered again after more than a deadline."""
    with listening(_SHORT_S) as there, there.connect() as line:
        line.sendall(_HEALTH)
        assert line.recv(65_536).startswith(b"HTTP/1.1 200")
        time.sleep(1.5 * _SHORT_S)
        line.sendall(_HEALTH)
        assert line.recv(65_536).startswith(b"HTTP/1.1 200")


def test_half_sent_requests_leave_places_to_other_addresses() -> None:
    """1,500 of one address hold no more than its places; another address is answered meanwhile, and all are given back."""
    with listening(_LONG_S, most=60, most_of_one=50) as there:
        with ExitStack() as stack:
            for _ in range(1_500):
                line = stack.enter_context(there.connect())
                with suppress(OSError):  # it may be closed already
                    line.sendall(_HALF_HEAD)
            with there.connect("127.0.0.2") as line:
                line.sendall(_HEALTH)
                assert line.recv(65_536).startswith(b"HTTP/1.1 200")
            assert there.held() <= 51
        there.wait_until_empty()
        with there.connect() as line:
            line.sendall(_HEALTH)
            assert line.recv(65_536).startswith(b"HTTP/1.1 200")


def test_connection_beyond_the_limit_is_told() -> None:
    """GW711, as a problem document, at once; a place that is given back is taken by the next."""
    with listening(_LONG_S, most_of_one=1) as there:
        with there.connect() as first:
            first.sendall(_HEALTH)
            assert first.recv(65_536).startswith(b"HTTP/1.1 200")
            with there.connect() as second:
                told = _to_end(second)
            assert told.startswith(b"HTTP/1.1 429 ")
            assert b"GW711" in told
            assert b"retry-after: 1" in told.lower()
        there.wait_until_empty()
        with there.connect() as third:
            third.sendall(_HEALTH)
            assert third.recv(65_536).startswith(b"HTTP/1.1 200")


def test_request_that_the_end_of_the_server_cuts_off_is_told_so() -> None:
    """503 and not the 500 of a bug; whoever cancelled it still sees that it was cancelled."""
    sent: list[dict[str, object]] = []

    async def endless(*_: object) -> None:
        await asyncio.Event().wait()

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    async def scenario() -> None:
        crashes: list[Event] = []
        app: Any = Incidents(endless, crashes.append)
        task = asyncio.create_task(app({"type": "http"}, None, send))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent[0]["status"] == 503
        assert not crashes

    asyncio.run(scenario())
