"""REST listener: the port is bound before anything starts, so that a taken port is one clear message."""

import asyncio
import math
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import anyio.to_thread
import uvicorn
from fastapi import FastAPI

from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.frontends.connection_limits import Admission
from gateway.frontends.rest.http_deadlines import MOST_CONNECTIONS, MOST_OF_ADDRESS, TimedProtocol

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
