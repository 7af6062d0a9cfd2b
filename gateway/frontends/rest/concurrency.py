"""Questions under way: they have the workers' threads, and one whose client went away ends.

A long question keeps nobody from asking whether the process is alive.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request

from gateway.cancellation import Cancel
from gateway.errors import Code, Refusal
from gateway.frontends.workers import Workers

T = TypeVar("T")
Work = Callable[[threading.Event], T]


class UnderWay:
    """The questions of one application."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._threads: CapacityLimiter | None = None

    async def sent(self, subject: str, parts: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        """What is still being sent takes a place too, though it is never refused one: it is paid for.

        The next part is made when the last one but what the connection buffers is gone.
        """
        with self._workers.place(subject):
            while (part := await self._next(parts)) is not None:
                yield part

    async def _next(self, parts: Iterator[bytes]) -> bytes | None:
        return await anyio.to_thread.run_sync(next, parts, None, limiter=self._limiter())

    async def work(self, subject: str, request: Request, work: Work[T]) -> T:
        """Do it in a thread; the event it gets is set as soon as the client is gone."""
        gone = Cancel()

        def unless_gone() -> T:
            if gone.is_set():  # while it waited for a thread
                raise Refusal(Code.SOURCE_CANCELLED, "the client closed the connection")
            return work(gone)

        under_way = self._workers.submit(subject, unless_gone)
        watcher = asyncio.create_task(_watch(request, gone))
        try:
            return await asyncio.wrap_future(under_way)
        finally:
            gone.set()  # a loop that is being closed waits for nobody, the thread has to end all the same
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    def _limiter(self) -> CapacityLimiter:
        """As many threads as the settings gave to all other requests; it needs a running loop."""
        if self._threads is None:
            others = anyio.to_thread.current_default_thread_limiter()
            self._threads = CapacityLimiter(others.total_tokens)
        return self._threads


async def _watch(request: Request, gone: threading.Event) -> None:
    """The body was read to its end, so the next message there is says that the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
