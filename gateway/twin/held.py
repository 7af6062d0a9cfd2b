"""How many lines clients hold at a time: never so many that the gateway's own short uses find no room.

A line lasts as long as its client likes; what the gateway borrows, it gives back with the answer. So lines have a limit
below the server's and the role's, which `settings` adds up: what is above it is for borrowing.

INVARIANT: however many lines there are, `BORROWED` of the server's sessions are free of them and of what lies idle, and as
many of each role's.
"""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from gateway.twin.idle import Whose
from gateway.twin.refused import TwinRefused
from gateway.twin.settings import LINES, LINES_OF_ROLE

_TOO_MANY: Final = "53300"


class Held:
    """Counts; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of = Counter[Whose]()

    def hold(self, whose: Whose) -> Callable[[], None]:
        """Count one more, or refuse; what is returned counts it off, once."""
        with self._lock:
            if self._of[whose] >= LINES_OF_ROLE:
                detail = f'too many connections for role "{whose.subject}"'
                raise TwinRefused(_TOO_MANY, detail, f"close one: {LINES_OF_ROLE} may be open")
            if self._of.total() >= LINES:
                detail = "sorry, too many clients already"
                raise TwinRefused(_TOO_MANY, detail, "try again when others have gone")
            self._of[whose] += 1
        undo = ExitStack()
        undo.callback(self._let_go, whose)
        return undo.close

    def _let_go(self, whose: Whose) -> None:
        with self._lock:
            self._of[whose] -= 1
            if not self._of[whose]:
                del self._of[whose]
