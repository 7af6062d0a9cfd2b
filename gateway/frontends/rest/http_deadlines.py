"""HTTP deadlines: head and body must arrive in time, and connections are counted.

uvicorn closes connections that are idle between requests, but waits for ever for a head or a body that has
begun.

INVARIANT: a deadline runs from the moment when the server begins to wait, and no arriving byte extends it. So a
connection without an authenticated query lasts at most for the two deadlines and the idle time.
"""

import asyncio
from enum import Enum
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gateway.errors import HTTP, Code, LimitExceeded, Refusal
from gateway.frontends.connection_limits import Admission
from gateway.frontends.rest.problem_details import problem_response

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
