"""Queue of pending backend responses, in protocol order.

INVARIANT: an error removes everything up to the next Sync, because PostgreSQL itself skips these messages
without an answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gateway.frontends.pgwire import messages


class DueReply(Enum):
    """The message kinds that end an answer."""

    PARSED = messages.PARSE_COMPLETE
    BOUND = messages.BIND_COMPLETE
    CLOSED = messages.CLOSE_COMPLETE
    DESCRIBED = 0
    DONE = 1
    READY = messages.READY


_ENDS: Final[dict[DueReply, frozenset[int]]] = {
    DueReply.PARSED: frozenset({messages.PARSE_COMPLETE}),
    DueReply.BOUND: frozenset({messages.BIND_COMPLETE}),
    DueReply.CLOSED: frozenset({messages.CLOSE_COMPLETE}),
    DueReply.DESCRIBED: frozenset({messages.ROW_DESCRIPTION, messages.NO_DATA}),
    DueReply.DONE: frozenset(
        {messages.COMMAND_COMPLETE, messages.PORTAL_SUSPENDED, messages.EMPTY_QUERY}
    ),
    DueReply.READY: frozenset({messages.READY}),
}


def undo_nothing() -> None:
    """Undo nothing."""


@dataclass(frozen=True, slots=True)
class PendingReply:
    """The pending answer to one message. `simple`: to a query, whose errors end it; `undo` is called when an
    error removes it.
    """

    due: DueReply
    simple: bool = False
    undo: Callable[[], object] = undo_nothing


SYNC: Final = PendingReply(DueReply.READY)
QUERY: Final = PendingReply(DueReply.READY, simple=True)
BOUND: Final = PendingReply(DueReply.BOUND)
CLOSED: Final = PendingReply(DueReply.CLOSED)
DESCRIBED: Final = PendingReply(DueReply.DESCRIBED)
DONE: Final = PendingReply(DueReply.DONE)


class PendingReplies:
    """The pending answers, the oldest first."""

    def __init__(self) -> None:
        self._row: deque[PendingReply] = deque()

    def __bool__(self) -> bool:
        return bool(self._row)

    def add(self, debt: PendingReply) -> None:
        self._row.append(debt)

    @property
    def first(self) -> PendingReply:
        return self._row[0]

    def ended(self, kind: int) -> bool:
        """True if a message of this kind ends the first pending answer, which is then removed."""
        if kind not in _ENDS[self._row[0].due]:
            return False
        self._row.popleft()
        return True

    def failed(self) -> bool:
        """Remove the answers that an error skips; true if the Sync that ends it has not been sent yet."""
        if self._row and self._row[0].simple:
            return False
        while self._row and (self._row[0].simple or self._row[0].due is not DueReply.READY):
            self._row.popleft().undo()  # after a query too, only a Sync ends it
        return not self._row
