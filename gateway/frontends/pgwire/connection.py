"""Connection of a wire client: event-loop plumbing between its socket, its line to the twin, and the session.

`WireApi` is what the wire front end may ask of the gateway: a few functions, wired in `app.py`. All of them wait
for databases: call them from a thread that may wait.

INVARIANT: reading is never faster than answering: the client is not read while the twin does not accept data or
many messages wait behind a query, and the twin is not read while the client does not accept its rows.
INVARIANT: whatever way a connection ends, its query is cancelled and its line is closed.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from gateway.cancellation import CancelEvent
from gateway.datasets.registry import WireSession
from gateway.errors import BackendUnavailable, Code, Reason, Refusal, SourceStopped
from gateway.events import Emit
from gateway.frontends.pgwire.error_response import (
    Severity,
    error_message,
    malformed_message,
    refusal_of,
)
from gateway.frontends.pgwire.framing import Frames, Malformed, Runs, UnknownMessage
from gateway.frontends.pgwire.question_flow import Ask, Outcome
from gateway.frontends.pgwire.session import Session
from gateway.policy.subjects import Subject
from gateway.requests.request import Estimate, Request
from gateway.stages.finish import DeferredStatement


@dataclass(frozen=True)
class WireApi:
    """`enter` takes the dataset, the purpose and the peer as a request without a statement, the settings of the session,
    and the client's cancel number.

    `require_same` refuses if a session's view differs from what may be seen for a purpose now.
    """

    enter: Callable[[Subject, Request, Mapping[str, str], int], WireSession]
    require_same: Callable[[WireSession, str | None], None]
    release: Callable[[Subject, Request, threading.Event], DeferredStatement]
    estimate: Callable[[Subject, Request], Estimate]
    emit: Emit
    limit_s: float


LONGEST: Final = 16 * 1024 * 1024  # of one message of a client's
_LONGEST_OF_TWIN: Final = 512 * 1024 * 1024
_MOST_BEHIND: Final = 256
_GRACE_S: Final = 2.0

Answering = Callable[[Ask, CancelEvent], Outcome]


class ThreadRunner(Protocol):
    """Runs blocking work: queries, and short requests to the twin on other connections."""

    def ask(
        self, subject: str, work: Callable[[], Outcome], then: Callable[[Outcome], None]
    ) -> None: ...
    def run_short(
        self,
        work: Callable[[], object],
        then: Callable[[object, BaseException | None], None] | None = None,
    ) -> None: ...


class Connection:
    """Everything after the log-in, on one event loop."""

    def __init__(  # noqa: PLR0917 - both sides and what is between them
        self,
        client: asyncio.Transport,
        room: WireSession,
        session: Session,
        answering: Answering,
        threads: ThreadRunner,
        door: WireApi,
    ) -> None:
        self._client = client
        self._room = room
        self._session = session
        self._answering = answering
        self._threads = threads
        self._limit_s = door.limit_s
        self._emit = door.emit
        self._frames = Frames(LONGEST)
        self._runs = Runs(_LONGEST_OF_TWIN)
        self._twin: asyncio.Transport | None = None
        self._job: CancelEvent | None = None
        self._since: float | None = None
        self._cancelled_at: float | None = None
        self._completed = 0
        self._client_full = self._twin_full = False
        self._ended = False
        self.last_heard = loop_time()

    @property
    def idle(self) -> bool:
        """True if no statement is running."""
        return self._job is None and not self._session.at_work

    # both sides

    def from_client(self, data: bytes) -> None:
        self.last_heard = loop_time()
        with self._faults():
            try:
                for frame in self._frames.feed(data):
                    self._session.from_client(frame)
            except Malformed as malformed:
                self._say_last(malformed_message(malformed))
            self._pump()

    def twin_side(self) -> "TwinSide":
        """The protocol object that reads the line."""
        return TwinSide(self)

    def from_twin(self, data: bytes) -> None:
        with self._faults():
            for kind, raw in self._runs.feed(data):
                self._session.from_twin(kind, raw)
            self._pump()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """End the connection after an unknown message, which may have waited, and after any unexpected exception:
        with an incident id, the log has the details.
        """
        try:
            yield
        except UnknownMessage as unknown:
            self._say_last(malformed_message(unknown))
        except Exception as fault:  # noqa: BLE001 - the last line of defence of a connection
            self.stop(refusal_of(fault, self._emit))

    def _pump(self) -> None:
        """Send the pending bytes, and begin the wanted work."""
        talk = self._session.talk
        if self._ended or self._twin is None:
            return
        if talk.to_twin:
            self._twin.write(bytes(talk.to_twin))
            talk.to_twin.clear()
        if talk.to_client:
            self._client.write(bytes(talk.to_client))
            talk.to_client.clear()
        if self._session.over:
            self.end()
            return
        if self._session.wanted is not None and self._job is None:
            self._ask(self._session.wanted)
        if not self._session.at_work:
            self._since = self._cancelled_at = None
        elif self._since is None or self._session.completed != self._completed:
            self._since, self._cancelled_at = loop_time(), None  # each statement has its own time
            self._completed = self._session.completed
        self._throttle()

    def _throttle(self) -> None:
        if self._twin_full or self._session.behind > _MOST_BEHIND:
            self._client.pause_reading()
        else:
            self._client.resume_reading()

    def client_is_full(self, full: bool) -> None:  # noqa: FBT001 - as asyncio says it
        self._client_full = full
        if self._twin is not None and not self._ended:
            (self._twin.pause_reading if full else self._twin.resume_reading)()
        if not full and self._since is not None:
            self._since = (
                loop_time()
            )  # how long a client takes to read is no time of the statement's

    def twin_is_full(self, full: bool) -> None:  # noqa: FBT001 - as asyncio says it
        self._twin_full = full
        if not self._ended:
            self._throttle()

    # questions

    def _ask(self, ask: Ask) -> None:
        self._job = cancelled = CancelEvent()

        def then(outcome: Outcome) -> None:
            self._job = None
            if self._ended:
                self._room.line.close()
                return
            with self._faults():
                self._session.answered(outcome)
                if isinstance(outcome, Refusal) and outcome.reason is Reason.UNAUTHENTICATED:
                    self._session.over = True
                self._pump()

        self._threads.ask(self._room.subject.name, lambda: self._answering(ask, cancelled), then)

    def cancel(self) -> None:
        """Cancel the running statement."""
        if self._job is not None:
            self._job.set()
        elif self._session.at_work:
            self._threads.run_short(self._room.line.cancel)

    def look_at_clock(self, now: float) -> None:
        """Cancel a statement that takes too long on the twin, then end the connection if that has no effect."""
        if self._since is None or self._client_full or now - self._since <= self._limit_s:
            return
        if self._cancelled_at is None:
            self._cancelled_at = now
            self._threads.run_short(self._room.line.cancel)
        elif now - self._cancelled_at > _GRACE_S:
            self._threads.run_short(self._room.line.end)
            self.stop(SourceStopped(Code.TWIN_TIMEOUT))

    # the end

    def opened(self, twin: asyncio.Transport) -> None:
        self._twin = twin

    def stop(self, refusal: Refusal, sqlstate: str | None = None) -> None:
        """End the connection with a message."""
        self._say_last(error_message(refusal, Severity.FATAL, sqlstate=sqlstate))

    def _say_last(self, message: bytes) -> None:
        if not self._ended:
            said = bytes(self._session.talk.to_client)
            # inside of a row a message would be read as a part of it
            self._client.write(said if self._runs.missing else said + message)
            self.end()

    def end(self) -> None:
        """Close both sides; a second call does nothing."""
        if self._ended:
            return
        self._ended = True
        self._client.close()
        if self._twin is not None:
            self._twin.abort()
        if self._job is not None:
            self._job.set()  # the line is closed when it is done
        else:
            self._room.line.close()

    def twin_is_gone(self) -> None:
        self.stop(BackendUnavailable(Code.TWIN_UNAVAILABLE, hint="connect again"), "57P01")


class TwinSide(asyncio.Protocol):
    """Reads the line to the twin."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def data_received(self, data: bytes) -> None:
        self._connection.from_twin(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._connection.twin_is_gone()

    def pause_writing(self) -> None:
        self._connection.twin_is_full(True)

    def resume_writing(self) -> None:
        self._connection.twin_is_full(False)


def loop_time() -> float:
    """The time of the loop's clock."""
    return asyncio.get_running_loop().time()
