"""Computing time of a stopped source statement, and what stopped it.

A source that computes long for some rows and not for others reveals them by its time-outs, and one that needs
memory for some rows reveals them by its lack of memory. So both are counted for each subject. Waiting reveals
nothing of any row: a `Computation` covers the time of the statement at the source alone, never that of a lock,
a connection or a free process.
"""

from dataclasses import dataclass
from enum import Enum


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
