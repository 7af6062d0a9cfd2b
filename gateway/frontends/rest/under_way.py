"""Questions under way: how many there may be, and what ends one whose client went away.

They have threads of their own, as many as the settings say, so that a long question keeps nobody from
asking whether the process is alive.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request

from gateway.cancel import Cancel
from gateway.errors import Code, LimitExceeded, Refusal

MOST: Final = 32
MOST_OF_ONE: Final = 8

T = TypeVar("T")
Work = Callable[[threading.Event], T]


class UnderWay:
    """INVARIANT: it is touched by the event loop's thread alone, so counting needs no lock."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._of: Counter[str] = Counter()
        self._threads: CapacityLimiter | None = None

    async def sent(self, subject: str, parts: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        """What is still being sent takes a place too, though it is never refused one: it is paid for.

        The next part is made when the last one but what the connection buffers is gone.
        """
        self._of[subject] += 1
        try:
            while (part := await self._next(parts)) is not None:
                yield part
        finally:
            self._left(subject)

    async def _next(self, parts: Iterator[bytes]) -> bytes | None:
        return await anyio.to_thread.run_sync(next, parts, None, limiter=self._limiter())

    async def work(self, subject: str, request: Request, work: Work[T]) -> T:
        """Do it in a thread; the event it gets is set as soon as the client is gone."""
        with self._place(subject):
            return await _unless_gone(request, work, self._limiter())

    @contextmanager
    def _place(self, subject: str) -> Iterator[None]:
        if self._of[subject] >= self._most_of_one:
            raise _too_many(f"{self._most_of_one} of your questions are under way")
        if self._of.total() >= self._most:
            raise _too_many(f"{self._most} questions are under way")
        self._of[subject] += 1
        try:
            yield
        finally:
            self._left(subject)

    def _left(self, subject: str) -> None:
        self._of[subject] -= 1
        if not self._of[subject]:
            del self._of[subject]

    def _limiter(self) -> CapacityLimiter:
        """As many threads as the settings gave to all other requests; it needs a running loop."""
        if self._threads is None:
            others = anyio.to_thread.current_default_thread_limiter()
            self._threads = CapacityLimiter(others.total_tokens)
        return self._threads


async def _unless_gone(request: Request, work: Work[T], limiter: CapacityLimiter) -> T:
    gone = Cancel()

    def unless_gone() -> T:
        if gone.is_set():  # while it waited for a thread
            raise Refusal(Code.SOURCE_CANCELLED, "the client went away")
        return work(gone)

    watcher = asyncio.create_task(_watch(request, gone))
    try:
        return await anyio.to_thread.run_sync(unless_gone, limiter=limiter)
    finally:
        gone.set()  # a loop that is being closed waits for nobody, the thread has to end all the same
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _watch(request: Request, gone: threading.Event) -> None:
    """The body was read to its end, so the next message there is says that the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _too_many(detail: str) -> LimitExceeded:
    return LimitExceeded(Code.TOO_MANY_QUESTIONS, detail, "wait until one is answered")
