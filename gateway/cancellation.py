"""Cancellation of a query: an event that calls back when its client is gone; how long a source computed, and what
stopped it.

A source that computes long for some rows and not for others reveals them by its time-outs, and one that needs
memory for some rows reveals them by its lack of memory. So both are counted for each subject. Waiting reveals
nothing of any row: a `Computation` covers the time of the statement at the source alone, never that of a lock, a
connection or a free process.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

_LOOK_S: Final = 0.02


class CancelEvent(threading.Event):
    """An event that calls back when it is set, so that nobody has to look at it again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Call back everyone who registered; later callers see that it is set."""
        super().set()
        with self._lock:
            callbacks = list(self._callbacks.values())
        for one in callbacks:
            one()

    @contextmanager
    def telling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Within the block `callback` is called when it is set, at once if it is set already.

        It is called by whoever sets it, which may be an event loop: it has to be quick. It may still be on its
        way when the block has been left.
        """
        mine = object()
        with self._lock:
            self._callbacks[mine] = callback
        try:
            if self.is_set():
                callback()
            yield
        finally:
            with self._lock:
                del self._callbacks[mine]


@contextmanager
def call_when_cancelled(
    cancelled: threading.Event | None, callback: Callable[[], None]
) -> Iterator[None]:
    """Within the block `callback` is called when `cancelled` is set; a plain event is looked at again and again."""
    if cancelled is None:
        yield
        return
    if isinstance(cancelled, CancelEvent):
        with cancelled.telling(callback):
            yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            if cancelled.wait(_LOOK_S):
                callback()
                return

    looking = threading.Thread(target=look, name="cancel-look", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


class SourceEnd(Enum):
    """What ended the computing."""

    LIMIT = "limit"
    """The statement reached its time limit and was stopped."""
    CANCEL = "cancel"
    """The client cancelled the statement, or went away."""
    ROOM = "room"
    """The statement needed more memory or space than the source had, and ended in the middle of it."""
    STOP = "stop"
    """The gateway stops; the analyst has no part in it."""


@dataclass(frozen=True)
class Computation:
    """`seconds` of computing at the source, of the `limit_s` that the statement was allowed."""

    seconds: float
    limit_s: float
    ended: SourceEnd

    @property
    def is_counted(self) -> bool:
        """Whether it counts as a time-out: it reached a limit, or was cancelled after half of its time."""
        if self.ended in {SourceEnd.LIMIT, SourceEnd.ROOM}:
            return True
        return self.ended is SourceEnd.CANCEL and 2 * self.seconds >= self.limit_s
