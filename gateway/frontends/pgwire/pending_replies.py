"""What the twin still owes for what was sent to it, in order: it answers nothing out of turn.

INVARIANT: an error voids everything up to the next Sync, as PostgreSQL itself reads on to it without answering.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gateway.frontends.pgwire import messages


class Due(Enum):
    """What ends the answer to a message."""

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
    """One message's answer: `simple` is that of a query, whose errors end it; `undo` is done when an error voids it."""

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
    """The debts, the oldest first."""

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
        """Whether a message of this kind was the last of the first answer, which is then paid."""
        if kind not in _ENDS[self._row[0].due]:
            return False
        self._row.popleft()
        return True

    def failed(self) -> bool:
        """Void what an error voids; whether the Sync that ends it is still to come."""
        if self._row and self._row[0].simple:
            return False
        while self._row and (self._row[0].simple or self._row[0].due is not Due.READY):
            self._row.popleft().undo()  # a query too: only a Sync ends it
        return not self._row
