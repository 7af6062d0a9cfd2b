"""Statement timeout: a statement is stopped from another thread when its time is over, or its client is gone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from time import monotonic
from typing import Final

from gateway.cancellation import CancelEvent

_AGAIN_S: Final = 0.02


class StopReason(Enum):
    """The reason why statements were stopped."""

    NOT = "not"
    LATE = "late"
    CANCELLED = "cancelled"
    FAILED = "failed"
    """Another part of the same question failed, so this one is of no use."""
    ENDING = "ending"
    """The gateway stops."""


class StatementWatch:
    """The statements of one query, and the reason if they were stopped."""

    def __init__(self, deadline: float, cancelled: threading.Event | None) -> None:
        self.deadline = deadline
        self.cancelled = cancelled
        self.is_unheard = False
        """Whether the request to stop could not be sent to the source."""
        self._lock = threading.Lock()
        self._calling = threading.Lock()
        self._stops: list[Callable[[], None]] = []
        self._stopped = StopReason.NOT
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def stopped(self) -> StopReason:
        return self._stopped

    @contextmanager
    def reaching(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within the block `stop` is called when the question is stopped, at once if it was stopped already.

        It may be called more than once, must not raise, and is not called any more once the block is left.
        """
        with self._calling:
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._calling:
                self._stops.remove(stop)

    def stop(self, why: StopReason) -> None:
        """Begin to stop all running statements; the first reason is kept."""
        with self._lock:
            if self._done.is_set() or self._stopped is not StopReason.NOT:
                return
            self._stopped = why
            # a thread of its own: a server that does not take the call must not hold up the other questions
            self._thread = threading.Thread(target=self._stop, name="source-stop", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End the watch.

        INVARIANT: afterwards the gateway cannot stop the next statement of these connections by mistake.
        """
        with self._lock:
            self._done.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _stop(self) -> None:
        while not self._done.is_set():
            with self._calling:
                for one in self._stops:
                    one()  # again: the first may have come before the statement began
            self._done.wait(_AGAIN_S)


class StatementTimer:
    """Holds the clock of all questions of one source, in one thread that is there from the first question on.

    It sleeps until the nearest deadline, and that of a question that was answered in time is left where it is:
    so a question whose time is over later than that of those before it wakes nobody.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watches: set[StatementWatch] = set()
        self._wakes_at: float | None = None  # None: when it is told
        self._thread: threading.Thread | None = None
        self._closed = False
        self._stopped = False

    @contextmanager
    def watching(
        self, limit_s: float, cancelled: threading.Event | None
    ) -> Iterator[StatementWatch]:
        """A watch over the statements in the block. It ends with the block."""
        watch = StatementWatch(monotonic() + limit_s, cancelled)
        self._add(watch)
        try:
            with _telling(cancelled, watch):
                yield watch
        finally:
            self._remove(watch)
            watch.end()

    def close(self) -> None:
        """No thread stays once nothing is under way; what is under way keeps its clock until it ends."""
        with self._changed:
            self._closed = True
            thread = None if self._watches else self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Stop every query, also those that begin later."""
        with self._changed:
            self._stopped = True
            for one in self._watches:
                one.stop(StopReason.ENDING)

    def _add(self, watch: StatementWatch) -> None:
        with self._changed:
            self._watches.add(watch)
            if self._stopped:
                watch.stop(StopReason.ENDING)
            if (
                self._thread is None or not self._thread.is_alive()
            ):  # not alive: in a forked process
                self._wakes_at = 0.0
                self._thread = threading.Thread(
                    target=self._run, name="source-watchdog", daemon=True
                )
                self._thread.start()
            elif self._wakes_at is None or _next_look(watch) < self._wakes_at:
                self._changed.notify()

    def _remove(self, watch: StatementWatch) -> None:
        with self._changed:
            self._watches.discard(watch)
            if self._closed and not self._watches:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._watches or not self._closed:
                now = monotonic()
                for one in tuple(self._watches):
                    if one.cancelled is not None and one.cancelled.is_set():
                        one.stop(StopReason.CANCELLED)
                    elif one.deadline <= now:
                        one.stop(StopReason.LATE)
                looks = [_next_look(one) for one in self._watches if one.stopped is StopReason.NOT]
                self._wakes_at = min(looks, default=None)
                self._changed.wait(
                    None if self._wakes_at is None else max(0.0, self._wakes_at - monotonic())
                )
            self._thread = None


def _telling(
    cancelled: threading.Event | None, watch: StatementWatch
) -> AbstractContextManager[None]:
    if isinstance(cancelled, CancelEvent):
        return cancelled.telling(lambda: watch.stop(StopReason.CANCELLED))
    return nullcontext()


def _next_look(watch: StatementWatch) -> float:
    """The time of the next look at an event: an event has no callback."""
    if watch.cancelled is None or isinstance(watch.cancelled, CancelEvent):
        return watch.deadline
    return min(watch.deadline, monotonic() + _AGAIN_S)
