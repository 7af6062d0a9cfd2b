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


class Due(Enum):
    """The message kinds that end an answer."""

    PARSED = messages.PARSE_COMPLETE
    BOUND = messages.BIND_COMPLETE
    CLOSED = messages.CLOSE_COMPLETE
    DESCRIBED = 0
    DONE = 1
    READY = messages.READY


_ENDS: Final[dict[Due, frozenset[int]]] = {
    Due.PARSED: frozenset({messages.PARSE_COMPLETE}),
    Due.BOUND: frozenset({messages.BIND_COMPLETE}),
    Due.CLOSED: frozenset({messages.CLOSE_COMPLETE}),
    Due.DESCRIBED: frozenset({messages.ROW_DESCRIPTION, messages.NO_DATA}),
    Due.DONE: frozenset(
        {messages.COMMAND_COMPLETE, messages.PORTAL_SUSPENDED, messages.EMPTY_QUERY}
    ),
    Due.READY: frozenset({messages.READY}),
}


def nothing() -> None:
    """Undo nothing."""


@dataclass(frozen=True, slots=True)
class Debt:
    """The pending answer to one message. `simple`: to a query, whose errors end it; `undo` is called when an
    error removes it.
    """

    due: Due
    simple: bool = False
    undo: Callable[[], object] = nothing


SYNC: Final = Debt(Due.READY)
QUERY: Final = Debt(Due.READY, simple=True)
BOUND: Final = Debt(Due.BOUND)
CLOSED: Final = Debt(Due.CLOSED)
DESCRIBED: Final = Debt(Due.DESCRIBED)
DONE: Final = Debt(Due.DONE)


class Owed:
    """The pending answers, the oldest first."""

    def __init__(self) -> None:
        self._row: deque[Debt] = deque()

    def __bool__(self) -> bool:
        return bool(self._row)

    def add(self, debt: Debt) -> None:
        self._row.append(debt)

    @property
    def first(self) -> Debt:
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
        while self._row and (self._row[0].simple or self._row[0].due is not Due.READY):
            self._row.popleft().undo()  # after a query too, only a Sync ends it
        return not self._row
