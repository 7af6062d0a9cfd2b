"""Answers that a client may ask for again by its Idempotency-Key: released, paid for, and handed out as they were.

They are held by this process. A key whose answer is not held any more is refused, and nothing is charged:
noise is never drawn twice for one price.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final

from gateway.question import Answer

_MOST_ANSWERS: Final = 1_000
_MOST_CELLS: Final = 2_000_000


class Kept:
    """The newest answers, by the numbers of their questions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._cells = 0

    def keep(self, answer: Answer) -> None:
        """Hold on to it, and let go of older ones for it."""
        with self._lock:
            self._answers[answer.query_id] = answer
            self._cells += _cells(answer)
            while len(self._answers) > _MOST_ANSWERS or self._cells > _MOST_CELLS:
                _, gone = self._answers.popitem(last=False)
                self._cells -= _cells(gone)

    def find(self, query_id: str) -> Answer | None:
        with self._lock:
            return self._answers.get(query_id)


def _cells(answer: Answer) -> int:
    return max(1, len(answer.rows) * len(answer.columns))
