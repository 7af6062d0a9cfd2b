"""Running queries of the REST front end: worker threads, and cancellation when a client disconnects.

A long query never delays the health probe.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request

from gateway.cancellation import CancelEvent
from gateway.errors import Code, Refusal
from gateway.frontends.workers import Workers

T = TypeVar("T")
Work = Callable[[threading.Event], T]


class RunningQueries:
    """The running queries of one application."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._threads: CapacityLimiter | None = None

    async def sent(self, subject: str, parts: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Send the parts of an answer. That takes a place too, but is never refused, because the answer is
        charged.

        The next part is made when the last one has left all but the connection's buffer.
        """
        with self._workers.place(subject):
            while (part := await self._next(parts)) is not None:
                yield part

    async def _next(self, parts: Iterator[bytes]) -> bytes | None:
        return await anyio.to_thread.run_sync(next, parts, None, limiter=self._limiter())

    async def work(self, subject: str, request: Request, work: Work[T]) -> T:
        """Run the work in a thread; its event is set as soon as the client has disconnected."""
        gone = CancelEvent()

        def unless_gone() -> T:
            if gone.is_set():  # while it waited for a thread
                raise Refusal(Code.SOURCE_CANCELLED, "the client closed the connection")
            return work(gone)

        under_way = self._workers.submit(subject, unless_gone)
        watcher = asyncio.create_task(_watch(request, gone))
        try:
            return await asyncio.wrap_future(under_way)
        finally:
            gone.set()  # a closing loop waits for nobody, but the thread has to end all the same
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    def _limiter(self) -> CapacityLimiter:
        """The thread limit for all other requests, from the settings; it needs a running loop."""
        if self._threads is None:
            others = anyio.to_thread.current_default_thread_limiter()
            self._threads = CapacityLimiter(others.total_tokens)
        return self._threads


async def _watch(request: Request, gone: threading.Event) -> None:
    """Wait for the client to disconnect: the body was read to its end, so the next message says that."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
