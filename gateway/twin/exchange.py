"""One exchange with the twin at a time, with a time limit that the gateway keeps.

A session may switch PostgreSQL's own time limit off, so the gateway keeps the limit: when it is over, the
statement is cancelled, and when that does not help, the session is ended.

INVARIANT: reading the answers ends within the limit and the two grace periods. A connection whose answers were
not read to the end is closed, because the next query would receive them.
"""

import select
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress

from psycopg import OperationalError
from psycopg.pq import ConnStatus, ExecStatus, PollingStatus
from psycopg.pq.abc import PGconn, PGresult

from gateway.twin.errors import CANCELLED, GONE, TwinRefused, session_gone, twin_refusal

_GRACE_S = 2.0
_WANTED = {PollingStatus.READING: select.POLLIN, PollingStatus.WRITING: select.POLLOUT}
_ERRORS = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE})


def read_results(
    pgconn: PGconn, *, limit_s: float, end: Callable[[], None], until_sync: bool = False
) -> Generator[PGresult, None, None]:
    """The results of what was sent; an error of the twin is raised after all have arrived.

    `end` ends the session from outside, if a cancel has no effect.
    """
    clock = _Clock(pgconn, end, limit_s)
    problem: TwinRefused | None = session_gone()  # until all results have arrived
    try:
        problem = yield from _until_complete(pgconn, clock, until_sync=until_sync)
    except OperationalError:
        pass  # the connection broke; this is also the effect of ending the session
    finally:
        if problem is not None and problem.sqlstate == GONE:
            pgconn.finish()
    if problem is not None:
        raise clock.overdue() if clock.over else problem


def _until_complete(
    pgconn: PGconn, clock: "_Clock", *, until_sync: bool
) -> Generator[PGresult, None, TwinRefused | None]:
    _flush(pgconn, clock)
    problem: TwinRefused | None = None
    while pgconn.status == ConnStatus.OK:
        result = _next(pgconn, clock)
        if result is None or result.status == ExecStatus.PIPELINE_SYNC:
            if result is not None or not until_sync:
                return problem
        elif result.status in _ERRORS:
            problem = problem or twin_refusal(result)
        elif problem is None:
            yield result
    return session_gone()


def _flush(pgconn: PGconn, clock: "_Clock") -> None:
    while pgconn.flush():
        clock.wait(select.POLLIN | select.POLLOUT)
        pgconn.consume_input()


def _next(pgconn: PGconn, clock: "_Clock") -> PGresult | None:
    while pgconn.is_busy():
        clock.wait(select.POLLIN)
        pgconn.consume_input()
    return pgconn.get_result()


class _Clock:
    """Starts when it is made; cancels, then ends the session, then gives up."""

    def __init__(self, pgconn: PGconn, end: Callable[[], None], limit_s: float) -> None:
        self._pgconn = pgconn
        self._measures = [self._cancel, end]
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self.over = False

    def wait(self, events: int) -> None:
        """Wait until the socket is ready; the time limit also applies to a socket that is always ready."""
        poll = select.poll()
        poll.register(self._pgconn.socket, events)
        while (left_s := self._deadline - time.monotonic()) <= 0 or not poll.poll(left_s * 1000):
            self.over = True
            if not self._measures:
                raise self.overdue()
            self._measures.pop(0)()
            self._deadline = time.monotonic() + _GRACE_S

    def overdue(self) -> TwinRefused:
        return TwinRefused(CANCELLED, f"the statement took longer than {self._limit_s:g} s")

    def _cancel(self) -> None:
        """Ask the server to cancel, without waiting for a server that does not answer."""
        deadline = time.monotonic() + _GRACE_S
        cancel = self._pgconn.cancel_conn()
        with suppress(OperationalError), ExitStack() as done:
            done.callback(cancel.finish)
            cancel.start()
            while (wanted := PollingStatus(cancel.poll())) in _WANTED:
                poll = select.poll()
                poll.register(cancel.socket, _WANTED[wanted])
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    return
