"""Limits of the front ends: open connections before log-in, and worker threads, shared fairly between subjects.

A subject has at most half of the threads, so that nobody can occupy them all. Further queries wait, a bounded
number for each subject, and subjects with waiting queries take turns, one query each.

INVARIANT: a place is counted from the moment a query is accepted until its work has ended; it is free again before
anybody is told of the end.
INVARIANT: if a thread is free, or can still be started, no query waits whose subject has less than its share.
INVARIANT: no more connections are open than the limits allow, whatever their clients send or leave out; every
place is released once.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Any, Final, TypeVar

from gateway.errors import Code, LimitExceeded

MOST: Final = 128
MOST_OF_ONE: Final = 32
_IDLE_S: Final = 10.0
_END_S: Final = 3.0

T = TypeVar("T")


class Workers:
    """`many` threads, which are started when needed; queries are counted by subject."""

    def __init__(self, many: int, *, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._many = many
        self._share = max(1, many // 2)
        self._most = most
        self._most_of_one = most_of_one
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}  # whose turn
        self._running: Counter[str] = Counter()
        self._places: Counter[str] = Counter()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._closed = False

    def submit(self, subject: str, work: Callable[[], T]) -> "Future[T]":
        """Run the work in a thread when it is its turn; refused if too many queries are running or waiting."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                future.cancel()
                return future
            if self._places[subject] >= self._most_of_one:
                raise _too_many(f"{self._most_of_one} of your queries are already running")
            if self._places.total() >= self._most:
                raise _too_many(f"{self._most} queries are already running")
            self._places[subject] += 1
            self._waiting.setdefault(subject, deque()).append((future, work))
            self._wake_thread()
        return future

    @contextmanager
    def place(self, subject: str) -> Iterator[None]:
        """A place for an answer that is charged and still being sent; it is never refused."""
        with self._changed:
            self._places[subject] += 1
        try:
            yield
        finally:
            with self._changed:
                self._left(self._places, subject)

    def close(self) -> None:
        """Begin no more work, and give running work a moment to end."""
        with self._changed:
            self._closed = True
            waiting = [future for each in self._waiting.values() for future, _ in each]
            self._waiting.clear()
            self._changed.notify_all()
            threads = list(self._threads)
        for future in waiting:
            future.cancel()
        until = monotonic() + _END_S
        for thread in threads:
            thread.join(max(0.0, until - monotonic()))

    def _run(self) -> None:
        while (job := self._next()) is not None:
            subject, future, work = job
            result, failed = None, None
            begun = future.set_running_or_notify_cancel()
            try:
                if begun:
                    result = work()
            except BaseException as error:  # noqa: BLE001 - raised in the caller that waits for it
                failed = error
            with self._changed:
                self._left(self._running, subject)
                self._left(self._places, subject)
            if failed is not None:
                future.set_exception(failed)
            elif begun:
                future.set_result(result)
            del job, future, work, result, failed

    def _next(self) -> tuple[str, Future[Any], Callable[[], Any]] | None:
        """The next work of this thread; None when the thread is not needed any more."""
        with self._changed:
            while True:
                subject = self._next_subject()
                if subject is not None and not self._closed:
                    mine = self._waiting.pop(subject)
                    future, work = mine.popleft()
                    if mine:
                        self._waiting[subject] = mine  # behind all others
                    self._running[subject] += 1
                    self._wake_thread()
                    return subject, future, work
                self._idle += 1
                woken = not self._closed and self._changed.wait(_IDLE_S)
                self._idle -= 1
                if not woken and not self._waiting:
                    self._threads.discard(threading.current_thread())
                    return None

    def _next_subject(self) -> str | None:
        """The subject whose query may begin now."""
        return next((one for one in self._waiting if self._running[one] < self._share), None)

    def _wake_thread(self) -> None:
        """Wake or start a thread, if a query may begin now; the caller holds the lock.

        A thread that was woken counts as idle until it runs, so a second query may find it idle too. Therefore
        each thread that takes a query calls this function for the next one.
        """
        if self._closed or self._next_subject() is None:
            return
        if self._idle:
            self._changed.notify()
        elif len(self._threads) < self._many:
            thread = threading.Thread(target=self._run, name="question", daemon=True)
            self._threads.add(thread)
            thread.start()

    @staticmethod
    def _left(count: "Counter[str]", subject: str) -> None:
        count[subject] -= 1
        if count[subject] <= 0:
            del count[subject]


def _too_many(detail: str) -> LimitExceeded:
    return LimitExceeded(Code.TOO_MANY_QUESTIONS, detail, "wait until one has finished")


_HOST_BITS: Final = 64  # of an IPv6 address: one client may have a whole network of this size


class Admission:
    """Places for connections; only one event loop's thread may use it."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """True if there is a place for one more; `leave` releases it."""
        peer = _peer(address)
        if self._held.total() >= self._most or self._held[peer] >= self._most_of_one:
            return False
        self._held[peer] += 1
        return True

    def leave(self, address: str) -> None:
        peer = _peer(address)
        self._held[peer] -= 1
        if not self._held[peer]:
            del self._held[peer]


def _peer(address: str) -> str:
    """The party that the limit per address counts: an address, or an IPv6 network that one client has to
    itself.
    """
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return str(read)
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(IPv6Address(int(read) >> _HOST_BITS << _HOST_BITS))
