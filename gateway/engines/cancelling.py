"""Stop a statement from another thread: when its time is over, or when nobody waits for it any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import Final

_LOOK_S: Final = 0.02


class Stopped(Enum):
    """Why a statement was stopped, if it was."""

    NOT = "not"
    LATE = "late"
    CANCELLED = "cancelled"


@dataclass
class Watch:
    """What the watchdog has done so far."""

    stopped: Stopped = Stopped.NOT


@contextmanager
def watched(
    stop: Callable[[], None], limit_s: float, cancelled: threading.Event | None
) -> Iterator[Watch]:
    """Calls `stop` again and again once the time is over or `cancelled` is set, until the block is left.

    INVARIANT: when the block is left no thread of ours is left that could stop the next statement.
    """
    watch, done = Watch(), threading.Event()
    deadline = monotonic() + limit_s

    def look() -> None:
        while not done.wait(_LOOK_S):
            if watch.stopped is Stopped.NOT:
                if cancelled is not None and cancelled.is_set():
                    watch.stopped = Stopped.CANCELLED
                elif monotonic() >= deadline:
                    watch.stopped = Stopped.LATE
            if watch.stopped is not Stopped.NOT:
                stop()  # again: the first may have come before the statement began

    thread = threading.Thread(target=look, name="source-watchdog", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join()
