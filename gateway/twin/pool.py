"""Connections that nobody uses just now, kept so that the next short use need not log in again.

INVARIANT: only what was reset is put here, and it comes out for the same subject and tables alone.

How many lines clients hold at a time: never so many that the gateway's own short uses find no room.

A line lasts as long as its client likes; what the gateway borrows, it gives back with the answer. So lines have a limit
below the server's and the role's, which `settings` adds up: what is above it is for borrowing.

INVARIANT: however many lines there are, `BORROWED` of the server's sessions are free of them and of what lies idle, and as
many of each role's.
"""

import select
import threading
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Final, NamedTuple

from psycopg.pq import ConnStatus

from gateway.twin.errors import TwinRefused
from gateway.twin.login import Entered
from gateway.twin.settings import IDLE, LINES, LINES_OF_ROLE
from gateway.twin.visible_tables import VisibleTables

MOST_OF_ONE = 4  # of one subject who sees one set of tables
MOST = IDLE


class Whose(NamedTuple):
    """Who was let in, to see what."""

    subject: str
    tables: VisibleTables


class Idle:
    """The idle connections of a twin, the one that was used last at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[Whose, Entered]] = []
        self._closed = False

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, whose: Whose) -> Entered | None:
        """One of these that still lives, or None."""
        while (found := self._pop(whose)) is not None:
            if _lives(found):
                return found
            found.connection.finish()
        return None

    def put(self, whose: Whose, entered: Entered) -> None:
        """Keep one; what is too many then is ended, the one that lay longest first."""
        with self._lock:
            self._kept.append((whose, entered))
            same = [one for one in self._kept if one[0] == whose]
            if self._closed:
                ended = self._kept
            elif len(same) > MOST_OF_ONE:
                ended = same[:1]
            else:
                ended = self._kept[: max(0, len(self._kept) - MOST)]
            self._kept = [one for one in self._kept if one not in ended]
        for _, one in ended:
            one.connection.finish()

    def keep(self, only: Collection[VisibleTables]) -> None:
        """End those that see anything else."""
        self._end(lambda whose: whose.tables not in only)

    def forget(self, tables: VisibleTables) -> None:
        """End those that see these tables."""
        self._end(lambda whose: whose.tables == tables)

    def close(self) -> None:
        """End all, and keep none from now on."""
        with self._lock:
            self._closed = True
        self._end(lambda _: True)

    def _pop(self, whose: Whose) -> Entered | None:
        with self._lock:
            for place in reversed(range(len(self._kept))):
                if self._kept[place][0] == whose:
                    return self._kept.pop(place)[1]
        return None

    def _end(self, wanted: Callable[[Whose], bool]) -> None:
        with self._lock:
            ended = [one for one in self._kept if wanted(one[0])]
            self._kept = [one for one in self._kept if not wanted(one[0])]
        for _, one in ended:
            one.connection.finish()


def _lives(entered: Entered) -> bool:
    """Whether nothing came while it lay: a server says why it ends a connection, then hangs up."""
    if entered.connection.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(entered.connection.socket, select.POLLIN)
    return not poll.poll(0)


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
