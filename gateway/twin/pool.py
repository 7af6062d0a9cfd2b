"""Pool of idle twin connections, and the limit of connections that wire clients hold.

Idle connections spare the next short use a log-in. A line lasts as long as its client wants; a borrowed
connection is returned with the answer. So lines have a limit below the server's and the role's, which
`settings` adds up: the rest is for borrowing.

psycopg_pool has a pool for one login, with threads of its own. Here every subject and set of tables is a login, one
limit holds for all of them, and connections are libpq's own.

INVARIANT: only connections that were reset are put here, and each is reused for the same subject and tables
alone. INVARIANT: however many lines there are, `BORROWED` of the server's sessions are not used by lines and
idle connections, and as many of each role's.
"""

import select
import threading
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Final, NamedTuple

from psycopg.pq import ConnStatus

from gateway.twin.errors import TwinRefused
from gateway.twin.login import TwinConnection
from gateway.twin.settings import IDLE, LINES, LINES_OF_ROLE
from gateway.twin.visible_tables import VisibleTables

MOST_OF_ONE = 4  # of one subject with one set of visible tables
MOST = IDLE


class SessionKey(NamedTuple):
    """The subject and the visible tables of a connection."""

    subject: str
    tables: VisibleTables


class IdleSessions:
    """The idle connections of a twin; the last used one is at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[SessionKey, TwinConnection]] = []
        self._closed = False

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, whose: SessionKey) -> TwinConnection | None:
        """An idle connection of this subject and tables that still works, or None."""
        while (found := self._pop(whose)) is not None:
            if _lives(found):
                return found
            found.connection.finish()
        return None

    def put(self, whose: SessionKey, entered: TwinConnection) -> None:
        """Keep a connection; if there are too many, the one that was idle longest is closed."""
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
        """Close the connections that see any other tables."""
        self._end(lambda whose: whose.tables not in only)

    def forget(self, tables: VisibleTables) -> None:
        """Close the connections that see these tables."""
        self._end(lambda whose: whose.tables == tables)

    def close(self) -> None:
        """Close all, and keep none from now on."""
        with self._lock:
            self._closed = True
        self._end(lambda _: True)

    def _pop(self, whose: SessionKey) -> TwinConnection | None:
        with self._lock:
            for place in reversed(range(len(self._kept))):
                if self._kept[place][0] == whose:
                    return self._kept.pop(place)[1]
        return None

    def _end(self, wanted: Callable[[SessionKey], bool]) -> None:
        with self._lock:
            ended = [one for one in self._kept if wanted(one[0])]
            self._kept = [one for one in self._kept if not wanted(one[0])]
        for _, one in ended:
            one.connection.finish()


def _lives(entered: TwinConnection) -> bool:
    """True if nothing arrived while it was idle: a server gives a reason before it ends a connection."""
    if entered.connection.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(entered.connection.socket, select.POLLIN)
    return not poll.poll(0)


_TOO_MANY: Final = "53300"


class HeldConnections:
    """Counts the connections that clients hold; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of = Counter[SessionKey]()

    def hold(self, whose: SessionKey) -> Callable[[], None]:
        """Count one more, or refuse. The returned function counts it off, once."""
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

    def _let_go(self, whose: SessionKey) -> None:
        with self._lock:
            self._of[whose] -= 1
            if not self._of[whose]:
                del self._of[whose]
