"""A wire client's socket: first the handshake, then its connection.

INVARIANT: a client that does not log in within the time limit is disconnected.
"""

import asyncio
import socket
import ssl
import threading
from functools import partial
from typing import Final, Protocol, cast

from gateway.auth.scram import Logins
from gateway.binding.text.classify import StatementKind
from gateway.datasets.registry import WireSession
from gateway.errors import Code, LimitExceeded, Refusal, SourceStopped, Unauthenticated
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import Statements
from gateway.frontends.pgwire.connection import Connection, ThreadRunner, WireApi, loop_time
from gateway.frontends.pgwire.error_response import (
    Severity,
    error_message,
    no_such_database,
    refusal_of,
)
from gateway.frontends.pgwire.handshake import (
    Conversation,
    LoggedInClient,
    Look,
    Read,
    Send,
    StartTls,
    log_in,
)
from gateway.frontends.pgwire.question_flow import IDLE, Ask, Outcome
from gateway.frontends.pgwire.request import request_of
from gateway.frontends.pgwire.session import Session
from gateway.frontends.pgwire.session_settings import AUTO, NOTICES
from gateway.frontends.pgwire.startup import CancelKey, CancelRegistry, CancelRequest
from gateway.policy.subjects import Subject
from gateway.requests.request import Request

_ENTERING_S: Final = 10.0
_MOST_EARLY: Final = 64 * 1024
_STOPPING: Final = "57P01"
_TOO_MANY: Final = "53300"


class ServerContext(Protocol):
    """The parts of the server that a client needs."""

    door: WireApi
    logins: Logins[Subject]
    tls: ssl.SSLContext | None
    cancelling: CancelRegistry
    loop: asyncio.AbstractEventLoop

    @property
    def threads(self) -> ThreadRunner: ...
    def came(self, client: "Client") -> bool:
        """True if there is room for one more connection."""
        ...

    def begins_to_enter(self, address: str) -> bool:
        """True if there is room for one more client that has not logged in."""
        ...

    def has_entered(self, address: str) -> None: ...
    def went(self, client: "Client") -> None: ...


class Client(asyncio.Protocol):
    """One socket, from the first byte to the last."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._conversation: Conversation[LoggedInClient | CancelRequest | None] | None = None
        self._connection: Connection | None = None
        self._key: CancelKey | None = None
        self._early = b""
        self._reads = False
        self._gone = False
        self._address = "unknown"
        self._until = loop_time() + _ENTERING_S
        self._enters = False

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        first = self._transport is None
        self._transport = cast("asyncio.Transport", transport)
        if not first:  # TLS has begun on the same socket
            return
        _send_at_once(self._transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else "unknown"
        self._enters = self._server.begins_to_enter(self._address)
        if not self._server.came(self) or not self._enters:
            self._refuse(
                LimitExceeded(Code.TOO_MANY_CONNECTIONS, "", "close a connection and try again"),
                _TOO_MANY,
            )
            return
        tls = self._server.tls is not None
        self._conversation = log_in(self._server.logins, address=self._address, tls=tls)
        self._go_on(None)

    def data_received(self, data: bytes) -> None:
        if self._connection is not None:
            self._connection.from_client(data)
        elif self._reads:
            self._reads = False
            self._go_on(data)
        else:
            self._early += data
            if len(self._early) > _MOST_EARLY:
                self._drop()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._gone = True
        self._has_entered()
        self._server.went(self)
        if self._key is not None:
            self._server.cancelling.forget(self._key)
        if self._connection is not None:
            self._connection.end()
        elif self._conversation is not None:
            self._conversation.close()

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.client_is_full(True)

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.client_is_full(False)

    # coming in

    def _go_on(self, given: object, error: BaseException | None = None) -> None:
        """Run the steps of the handshake up to the next one that waits."""
        conversation, transport = self._conversation, self._transport
        if conversation is None or transport is None or self._gone:
            return
        try:
            while True:
                step = conversation.send(given) if error is None else conversation.throw(error)
                given = error = None
                match step:
                    case Send(data):
                        transport.write(data)
                    case Read() if self._early:
                        given, self._early = self._early, b""
                    case Read():
                        self._reads = True
                        return
                    case StartTls():
                        self._server.loop.create_task(self._shake_hands(transport, step))
                        return
                    case Look(call):
                        self._server.threads.run_short(call, self._looked)
                        return
        except StopIteration as done:
            self._came_in(done.value)
        except Exception as fault:  # noqa: BLE001 - a bug of ours, or a state that cannot be reached
            self._refuse(refusal_of(fault, self._server.door.emit))

    def _looked(self, found: object, error: BaseException | None) -> None:
        self._go_on(found, error)

    async def _shake_hands(self, transport: asyncio.Transport, step: StartTls) -> None:
        context = self._server.tls
        if self._early or context is None:  # nothing that came in the clear is read inside TLS
            self._drop()
            return
        transport.write(step.answer)
        begun = self._server.loop.create_task(
            self._server.loop.start_tls(
                transport, self, context, server_side=True, ssl_handshake_timeout=_ENTERING_S
            )
        )
        try:
            if step.came:
                await self._hand_on(transport, step.came)
            inside = await begun
        except (OSError, ssl.SSLError, asyncio.CancelledError):
            self._drop()
            return
        if inside is None or self._gone:
            return
        self._transport = inside
        tls = inside.get_extra_info("ssl_object")
        self._go_on(None if tls is None else tls.selected_alpn_protocol())

    async def _hand_on(self, transport: asyncio.Transport, came: bytes) -> None:
        """Give the TLS handshake the bytes that were read before it was recognised."""
        while (tls := transport.get_protocol()) is self:  # noqa: ASYNC110 - asyncio says it no other way
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # until it knows its transport
        if isinstance(tls, asyncio.BufferedProtocol):
            room = tls.get_buffer(len(came))
            memoryview(room)[: len(came)] = came
            tls.buffer_updated(len(came))

    def _has_entered(self) -> None:
        """Release the place among clients that have not logged in."""
        if self._enters:
            self._enters = False
            self._server.has_entered(self._address)

    def _came_in(self, who: LoggedInClient | CancelRequest | None) -> None:
        self._conversation = None
        self._has_entered()
        if isinstance(who, LoggedInClient):
            self._key = self._server.cancelling.register(who.minor, self._cancel)
            pid = self._key.pid
            purpose = who.settings.get("gateway.purpose")
            entry = Request("", who.database, purpose, address=self._address, tls=who.secure)
            # SHOW and RESET know it from the start, like a setting of PostgreSQL's
            settings = {NOTICES: AUTO, **who.settings}
            self._server.threads.run_short(
                lambda: self._server.door.enter(who.subject, entry, settings, pid),
                partial(self._entered, who),
            )
            return
        if isinstance(who, CancelRequest):
            self._server.cancelling.cancel(who.pid, who.secret)
        self._close()

    def _entered(self, who: LoggedInClient, room: object, error: BaseException | None) -> None:
        if isinstance(error, Exception):
            refusal = refusal_of(error, self._server.door.emit)
            if refusal.code is Code.DATASET_NOT_PERMITTED:
                self._say_last(no_such_database(refusal, who.database))
            else:
                self._refuse(refusal)
        elif isinstance(room, WireSession):
            self._server.loop.create_task(self._begin(who, room))

    async def _begin(self, who: LoggedInClient, room: WireSession) -> None:
        transport, key = self._transport, self._key
        if self._has_gone() or transport is None or key is None:
            room.line.close()
            return
        own = {b"session_authorization": who.name.encode(), b"is_superuser": b"off"}
        session = Session(Statements(room.catalog), own)
        connection = Connection(
            transport,
            room,
            session,
            partial(self._answer, who, room),
            self._server.threads,
            self._server.door,
        )
        twin, _ = await self._server.loop.create_connection(
            connection.twin_side, sock=room.line.socket
        )
        connection.opened(twin)
        reported = {name.encode(): value.encode() for name, value in room.line.reported.items()}
        told = [messages.parameter_status(*one) for one in {**reported, **own}.items()]
        transport.write(b"".join([*told, key.message, messages.ready(IDLE)]))
        self._connection = connection
        rest, self._early = who.rest + self._early, b""
        if self._has_gone():
            connection.end()
        elif rest:
            connection.from_client(rest)

    def _has_gone(self) -> bool:
        return self._gone

    # questions, in a thread

    def _answer(
        self, who: LoggedInClient, room: WireSession, ask: Ask, cancelled: threading.Event
    ) -> Outcome:
        door = self._server.door
        try:
            if cancelled.is_set():  # while it waited for a thread: nobody is charged
                raise SourceStopped(Code.SOURCE_CANCELLED)  # noqa: TRY301  # refused like all else
            subject = self._still(who)
            request = request_of(ask, room.entry)
            door.require_same(room, request.purpose)
            if ask.asking.statement.kind is StatementKind.EXPLAIN:
                return door.estimate(subject, request)
            return door.release(subject, request, cancelled)
        except Exception as error:  # noqa: BLE001 - the last line of defence; the client sees only the id of a bug
            return refusal_of(error, door.emit)

    def _still(self, who: LoggedInClient) -> Subject:
        """The subject as it is now: keys are revoked, and subjects change, while connections last."""
        subject = self._server.logins.still_valid(who.name, who.key_id)
        if subject is None:
            raise Unauthenticated(Code.BAD_CREDENTIALS, "the key has expired or was revoked")
        return subject

    def _cancel(self) -> None:
        if self._connection is not None:
            self._connection.cancel()

    # the end

    def look_at_clock(self, at: float, idle_s: float) -> None:
        """Disconnect the client if a step takes too long."""
        if self._connection is None:
            if at > self._until:
                self._drop()
        elif self._connection.idle and at - self._connection.last_heard > idle_s:
            self._connection.stop(
                SourceStopped(Code.SOURCE_CANCELLED, "the client sent nothing in time"), "57P05"
            )
        else:
            self._connection.look_at_clock(at)

    def stop(self, *, only_idle: bool) -> None:
        """Disconnect the client because the gateway stops."""
        refusal = SourceStopped(
            Code.SOURCE_CANCELLED, "the gateway is stopping", "connect again later"
        )
        if self._connection is None:
            self._drop()
        elif self._connection.idle or not only_idle:
            self._connection.stop(refusal, _STOPPING)

    def _refuse(self, refusal: Refusal, sqlstate: str | None = None) -> None:
        self._say_last(error_message(refusal, Severity.FATAL, sqlstate=sqlstate))

    def _say_last(self, message: bytes) -> None:
        if self._transport is not None:
            self._transport.write(message)
        self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _send_at_once(transport: asyncio.Transport) -> None:
    """Set TCP_NODELAY, so that small answers are sent at once; a loop does not do so for a foreign listener."""
    line = transport.get_extra_info("socket")
    if line is not None and line.family in {socket.AF_INET, socket.AF_INET6}:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
