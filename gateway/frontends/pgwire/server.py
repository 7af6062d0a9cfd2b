"""Wire server: it listens, and checks the deadlines of every connection.

All connections share one event loop in a thread of its own. Work that waits for a database runs in other
threads, queries separately from all else, and returns to the loop.

INVARIANT: no more connections are open than the limit, and only a part of them may be clients that have not
logged in; after the server has stopped, none is open.
"""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from gateway.auth.scram import Logins
from gateway.errors import Refusal
from gateway.frontends.pgwire.client import Client
from gateway.frontends.pgwire.connection import WireApi
from gateway.frontends.pgwire.question_flow import Outcome
from gateway.frontends.pgwire.startup import CancelRegistry
from gateway.frontends.workers import Admission, Workers
from gateway.policy.subjects import Subject

MOST_CONNECTIONS: Final = 300
MOST_ENTERING: Final = 100
MOST_ENTERING_OF_ADDRESS: Final = 50
_SHORT_CALLS: Final = 8
_TICK_S: Final = 0.25
_IDLE_S: Final = 8 * 3600.0
_GRACE_S: Final = 1.25
_LAST_S: Final = 0.75
_BACKLOG: Final = 512

Found = TypeVar("Found")


class Threads:
    """Blocking work, outside of the loop; `then` is called on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        self._loop = loop
        self._workers = workers
        self._short_calls = ThreadPoolExecutor(_SHORT_CALLS, "wire-short")

    def ask(
        self, subject: str, work: Callable[[], Outcome], then: Callable[[Outcome], None]
    ) -> None:
        """Answer a query; its work raises nothing. If too many queries are running, the refusal is the answer."""
        try:
            future = self._workers.submit(subject, work)
        except Refusal as refusal:
            self._loop.call_soon(then, refusal)  # not within the step that asks
            return
        self._tell(future, lambda done: then(done.result()))

    def run_short(
        self,
        work: Callable[[], object],
        then: Callable[[object, BaseException | None], None] | None = None,
    ) -> None:
        """Run something short, and pass on its result or exception."""

        def done(future: Future[object]) -> None:
            error = future.exception()
            if then is not None:
                then(None if error else future.result(), error)

        self._tell(self._short_calls.submit(work), done)

    def close(self) -> None:
        """Begin no more work."""
        self._short_calls.shutdown(wait=False, cancel_futures=True)

    def _tell(self, future: Future[Found], then: Callable[[Future[Found]], None]) -> None:
        def done(future: Future[Found]) -> None:
            if not future.cancelled():
                with suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                    self._loop.call_soon_threadsafe(then, future)

        future.add_done_callback(done)


class WireServer:
    """Serves from `start` to `stop`."""

    def __init__(
        self,
        door: WireApi,
        logins: Logins[Subject],
        tls: ssl.SSLContext | None,
        workers: Workers,
    ) -> None:
        self.door = door
        self.logins = logins
        self.tls = tls
        self.cancelling = CancelRegistry()
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self.threads = Threads(self.loop, workers)
        self._clients: set[Client] = set()
        self._entering = Admission(MOST_ENTERING, MOST_ENTERING_OF_ADDRESS)
        self._stopping = False
        self._stops = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="wire", daemon=True)
        self._listening: asyncio.Server | None = None
        self._clock: asyncio.Task[None] | None = None
        self._empty: asyncio.Event | None = None

    def start(self, listener: socket.socket) -> None:
        """Listen; returns when the server listens."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(listener), self.loop).result()

    def stop(self) -> None:
        """Accept no more clients, give running statements a moment, then end every connection; a second call
        does nothing.
        """
        with self._stops:  # a second caller waits until the first one is done
            if not self._thread.is_alive():
                return
            asyncio.run_coroutine_threadsafe(self._stop(), self.loop).result()
            self.threads.close()
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def came(self, client: Client) -> bool:
        self._clients.add(client)
        return not self._stopping and len(self._clients) <= MOST_CONNECTIONS

    def begins_to_enter(self, address: str) -> bool:
        return self._entering.enter(address)

    def has_entered(self, address: str) -> None:
        self._entering.leave(address)

    def went(self, client: Client) -> None:
        self._clients.discard(client)
        if not self._clients and self._empty is not None:
            self._empty.set()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    async def _listen(self, listener: socket.socket) -> None:
        self._listening = await self.loop.create_server(
            lambda: Client(self), sock=listener, backlog=_BACKLOG
        )
        self._clock = self.loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Check the deadlines of all connections at intervals."""
        while True:
            await asyncio.sleep(_TICK_S)
            at = self.loop.time()
            for client in list(self._clients):
                client.look_at_clock(at, _IDLE_S)

    async def _stop(self) -> None:
        self._stopping = True
        if self._listening is not None:
            self._listening.close()
        until = self.loop.time() + _GRACE_S
        while self._clients and self.loop.time() < until:
            for client in list(self._clients):
                client.stop(only_idle=True)
            await asyncio.sleep(_TICK_S / 5)
        for client in list(self._clients):
            client.stop(only_idle=False)
        self._empty = asyncio.Event()
        if self._clients:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _LAST_S)
        if self._clock is not None:
            self._clock.cancel()
        await asyncio.sleep(0)
