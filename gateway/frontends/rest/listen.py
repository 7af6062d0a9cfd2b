"""REST listener: the port is bound before anything starts, and requests have deadlines.

Head and body of a request must arrive in time, and connections are counted. A port that is taken is one clear
message. uvicorn closes connections that are idle between requests, but waits for ever for a head or a body that
has begun.

INVARIANT: a deadline runs from the moment when the server begins to wait, and no arriving byte extends it. So a
connection without an authenticated query lasts at most for the two deadlines and the idle time.
"""

import asyncio
import math
import signal
import socket
import threading
from collections.abc import Callable
from enum import Enum
from types import FrameType
from typing import Any, Final

import anyio.to_thread
import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gateway.config import Settings
from gateway.errors import HTTP, Code, LimitExceeded, OperatorError, Refusal
from gateway.frontends.rest.problem_details import problem_response
from gateway.frontends.workers import Admission

MOST_CONNECTIONS: Final = 1024
MOST_OF_ADDRESS: Final = 512
HEAD_S: Final = 10.0
BODY_S: Final = 30.0


class _Awaited(Enum):
    NOTHING = "nothing"
    HEAD = "the head of a request"
    BODY = "the body of a request"


class TimedProtocol(H11Protocol):
    """One uvicorn connection, with a place among the open ones and a deadline."""

    def __init__(
        self,
        admission: Admission,
        head_s: float = HEAD_S,
        body_s: float = BODY_S,
        **given: Any,  # noqa: ANN401  # uvicorn's own
    ) -> None:
        super().__init__(**given)
        self._admission = admission
        self._seconds = {_Awaited.HEAD: head_s, _Awaited.BODY: body_s}
        self._awaited = _Awaited.NOTHING
        self._clock: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._admitted = self._admission.enter(self._address)
        if not self._admitted:
            self._end(
                LimitExceeded(
                    Code.TOO_MANY_CONNECTIONS,
                    "the limit of open connections is reached",
                    "close a connection, or reuse one for several requests",
                )
            )
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted:
            self._admitted = False
            self._admission.leave(self._address)
        self._await(_Awaited.NOTHING)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # it was told why
            return
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "unknown"

    def _look(self) -> None:
        """Set the deadline for what the server waits for now."""
        if self.transport.is_closing() or self.timeout_keep_alive_task is not None:
            self._await(_Awaited.NOTHING)  # uvicorn's own clock ends what is idle
        elif self.conn.their_state is h11.IDLE:
            self._await(_Awaited.HEAD)
        elif self.conn.their_state is h11.SEND_BODY:
            self._await(_Awaited.BODY)
        else:
            self._await(_Awaited.NOTHING)

    def _await(self, awaited: _Awaited) -> None:
        if awaited is self._awaited:
            return
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._awaited = awaited
        if awaited is not _Awaited.NOTHING:
            self._clock = self.loop.call_later(self._seconds[awaited], self._late)

    def _late(self) -> None:
        self._clock = None
        seconds = self._seconds[self._awaited]
        self._end(
            LimitExceeded(
                Code.REQUEST_TOO_SLOW,
                f"{self._awaited.value} did not arrive within {seconds:g} seconds",
                "send the whole request at once",
            )
        )

    def _end(self, refusal: Refusal) -> None:
        """Send the refusal, unless a response has begun, and close; a reader of the body sees a disconnect."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or not cycle.response_started or cycle.response_complete:
            self.transport.write(_response(refusal))
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def _response(refusal: Refusal) -> bytes:
    """The problem document as HTTP bytes, for refusals without an application."""
    told = problem_response(refusal)
    phrases = {408: b"Request Timeout", 429: b"Too Many Requests"}
    status = HTTP[refusal.code]
    lines = [b"HTTP/1.1 %d %s" % (status, phrases.get(status, b""))]
    lines += [name + b": " + value for name, value in told.raw_headers]
    return b"\r\n".join([*lines, b"connection: close", b"", bytes(told.body)])


_GRACE_S = 1.0  # for requests to finish
_LAST_S = 1  # for those that were given up to say so
_BACKLOG = 512
_HANDSHAKE_S = 10.0


class _Server(uvicorn.Server):
    """Interrupts requests before it cancels them, so that their clients get an answer; its connections have
    deadlines.
    """

    def __init__(
        self, config: uvicorn.Config, give_up: Callable[[], object], also: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._give_up = give_up
        self._also = also
        self._admission = Admission(MOST_CONNECTIONS, MOST_OF_ADDRESS)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, with a protocol and a TLS handshake that have deadlines."""
        loop, context = asyncio.get_running_loop(), self.config.ssl

        def protocol() -> TimedProtocol:
            return TimedProtocol(
                self._admission,
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )

        limit = _HANDSHAKE_S if context is not None else None
        self.servers = [
            await loop.create_server(
                protocol, sock=one, ssl=context, backlog=_BACKLOG, ssl_handshake_timeout=limit
            )
            for one in sockets or []
        ]
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _aside(self._also)
        later = asyncio.get_running_loop().call_later(_GRACE_S, _aside, self._give_up)
        try:
            await super().shutdown(sockets)
        finally:
            later.cancel()


def _aside(work: Callable[[], object]) -> None:
    """Run it in a thread of its own, so that the loop goes on sending."""
    threading.Thread(target=work, name="stopping", daemon=True).start()


class StopSignal:
    """Turns SIGTERM and SIGINT into a request to stop, from the first moment to the last.

    uvicorn raises the signal again when it has finished; the default handler would then end the process before
    the state is closed, so this handler stays installed and only remembers the signal.
    """

    def __init__(self) -> None:
        self.asked = False
        self.tell: Callable[[], object] = bool

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def ask(self) -> None:
        self.asked = True
        self.tell()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.ask()


def bind_socket(host: str, port: int, setting: str) -> socket.socket:
    """A listening socket, or an error that names the setting to change."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "this cannot be a host's name"
        raise OperatorError(
            Code.PORT_TAKEN, f"{host}:{port}: {why or error}", f"choose another {setting}"
        ) from None
    return listener


def address_of(listener: socket.socket, settings: Settings) -> str:
    """The URL a client may use."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def wire_address(listener: socket.socket) -> str:
    """The URL of the PostgreSQL wire, without a database."""
    host, port = listener.getsockname()[:2]
    return f"postgresql://[{host}]:{port}" if ":" in host else f"postgresql://{host}:{port}"


def serve_until(
    stop: StopSignal,
    app: FastAPI,
    listener: socket.socket,
    settings: Settings,
    give_up: Callable[[], object] = bool,
    *,
    also: Callable[[], object] = bool,
) -> None:
    """Serve until asked to stop; then `also` begins to stop other servers at the same time.

    Running requests get a moment to finish; then `give_up` ends whatever they wait for, because a thread cannot
    be cancelled and the process would not end before it.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # an address in the trail is the peer's, never what the peer says
        lifespan="off",
        ws="none",
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=math.ceil(_GRACE_S + _LAST_S),
    )
    server = _Server(config, give_up, also)

    async def serve() -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.workers
        stop.tell = lambda: setattr(server, "should_exit", True)
        if not stop.asked:
            await server.serve(sockets=[listener])

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(serve())
