"""The reply grid: replies leave at fixed points in time, because the duration of a query depends on the rows it reads.

INVARIANT: a reply leaves at a multiple of the grid after its query came in, whether it is an answer or a refusal. Only a
gateway that stops lets it go earlier.
INVARIANT: a client that cancelled gets that error, even if the answer was ready. Otherwise the moment of cancelling would tell
when it was ready.

The record of a query and its answer to a repeated key are written when the query is replied to. So asking for these again
and again tells no more. Nothing here waits for `cancelled`: a client that is replied to at once would learn the time.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Final, TypeAlias

from gateway.errors import Code, SourceStopped

_NS_IN_MS: Final = 1_000_000
_NS_IN_S: Final = 1_000_000_000
Wait: TypeAlias = Callable[[threading.Event, float], bool]


def wait_for(event: threading.Event, seconds: float) -> bool:
    """True if the event was set in that time."""
    return event.wait(seconds)


@dataclass
class Grid:
    """The step in milliseconds; None if replies leave when they are ready."""

    step_ms: int | None


@dataclass(frozen=True)
class Pace:
    """A monotonic clock and a way to wait; tests bring their own. `stopping`: no wait continues."""

    clock: Callable[[], int] = monotonic_ns
    wait: Wait = wait_for
    stopping: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def on_grid(self, step_ms: int | None, cancelled: threading.Event) -> Iterator[Grid]:
        """The block ends on the grid; the step of the grid may change meanwhile."""
        began = self.clock()
        grid = Grid(step_ms)
        try:
            yield grid
        except Exception:
            self._wait(began, grid)
            raise
        if self._wait(began, grid) and cancelled.is_set():
            raise SourceStopped(Code.SOURCE_CANCELLED)

    def _wait(self, began: int, grid: Grid) -> bool:
        """Wait until the next point of the grid; False if there is no grid."""
        if grid.step_ms is None:
            return False
        step = grid.step_ms * _NS_IN_MS
        points = max(1, -(-(self.clock() - began) // step))
        due = began + points * step
        while (left := due - self.clock()) > 0:
            if self.wait(self.stopping, left / _NS_IN_S):
                break
        return True
