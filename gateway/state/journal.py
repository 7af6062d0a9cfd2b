"""Journal: group commit of many callers' steps in one durable transaction, the only way to change the state.

Steps that arrive during a commit are committed together by the next leader, so they share its cost. The journal
has no thread of its own: one of the callers leads.

Normally a batch is written with a single statement, based on the journal's memory of the state. If another
process wrote meanwhile, the next `seq` of the trail is taken, the statement fails as a whole, and the batch
runs again on the new past under a lock that keeps all others out.

INVARIANT: `commit` returns only when the step's rows are durable and the anchor has the new position.
INVARIANT: a step takes effect once or not at all, also if a connection breaks during the commit: before another
attempt, the trail is asked whether an earlier one took effect. It is asked after the past was read on which the
attempt will build: an attempt that takes effect later has taken the same `seq`.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.events import AnchorLost, Committed, Emit, StateLost, ignore_event
from gateway.state.anchor import Anchor, Position, hold_state, last_position, require_not_behind
from gateway.state.commit_queue import Outcome, Step, StepResult, Ticket, Tickets
from gateway.state.connections import SocketWatchdog
from gateway.state.draft import WRITERS_LOCK, Draft, Driver, Memory, write_rows
from gateway.state.tables import trail_records

_ATTEMPTS: Final = 6
_POLITE_COMMITS: Final = 200  # how long to write under the lock after another process wrote
_PATIENCE_S: Final = 30.0
_LARGEST_MEMORY: Final = 50_000
_OTHERS_WROTE = (errors.UniqueViolation, errors.LockNotAvailable, errors.DeadlockDetected)


@dataclass(frozen=True)
class _Written:
    """The rows that one attempt wrote, if it took effect, and the outcome of each ticket."""

    position: Position
    facts: Mapping[str, Mapping[str, str | None]]
    result: Sequence[StepResult]


class Journal:
    """Group commit over one connection."""

    def __init__(
        self,
        engine: Engine,
        anchor: Anchor,
        emit: Emit = ignore_event,
        *,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._engine = engine
        self._anchor = anchor
        self._emit = emit
        self._patience_s = patience_s
        self._tickets = Tickets(self._commit_batch, 2 * patience_s)
        self._writing = threading.Lock()
        self._connection: Connection | None = None
        self._memory: Memory | None = None
        self._polite = 0
        self._watchdog = SocketWatchdog(patience_s)

    def open(self) -> Position:
        """Connect now rather than with the first query; returns the position of the trail."""
        with self._writing, self._watchdog.watch() as watched:
            return last_position(self._connect(watched))

    def commit(self, step: Step[Outcome]) -> Outcome:
        """Run `step`, make its rows durable, and return its result.

        An exception of the step is raised here, and nothing of that step is written.
        """
        return self._tickets.serve(step)

    def read(self, step: Step[Outcome]) -> Outcome:
        """Run a step that writes nothing: it sees everything that was durable when it was called.

        A step that writes is an error, and none of what it wrote is made durable.
        """

        def reading(draft: Draft) -> Outcome:
            found = step(draft)
            if draft.rows or draft.facts:
                raise ValueError("a step that reads has written")
            return found

        return self._tickets.serve(reading)

    def close(self) -> None:
        with self._writing:
            self._forget(disconnect=True)
        self._watchdog.close()
        self._anchor.close()

    def _commit_batch(self, batch: Sequence[Ticket[object]]) -> None:
        """Make the batch durable, or give every ticket of it an error."""
        with self._writing:
            try:
                written = self._persist(batch)
            except _Poisoned as poisoned:
                self._isolate(batch, poisoned.cause)
                return
            except (BackendUnavailable, OperatorError, OSError) as problem:
                _fail(batch, self._caller_error(problem))
                return
            if written is not None:
                self._drop_anchor(batch, written)

    def _persist(self, batch: Sequence[Ticket[object]]) -> _Written | None:
        """Attempt until the batch takes effect; None if it had nothing to write."""
        tried: list[_Written] = []
        problem = ""
        alone = False
        started = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._watchdog.watch() as watched:
                    connection = self._connect(watched)
                    watched(_driver(connection).fileno())
                    alone = self._polite > 0
                    with self._turn(connection):
                        landed = self._write(connection, batch, tried)
            except (DBAPIError, psycopg.Error) as error:
                cause = error.orig if isinstance(error, DBAPIError) else error
                problem = type(cause).__name__
                if isinstance(cause, errors.UniqueViolation) and alone:
                    self._forget()  # there are no other steps: the batch itself cannot be committed
                    raise _Poisoned(cause) from None
                if isinstance(cause, _OTHERS_WROTE):
                    self._forget()
                    self._polite = _POLITE_COMMITS
                elif isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
                    self._forget(disconnect=True)
                    time.sleep(0.05 * (attempt - 1))
                else:
                    self._forget(disconnect=True)
                    raise _Poisoned(cause or error) from None
                if time.monotonic() - started > self._patience_s:
                    break
            except BaseException:
                self._forget(disconnect=True)  # nobody knows whether it took effect
                raise
            else:
                self._emit(Committed(len(batch), attempt))
                return landed
        self._emit(StateLost(problem))
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, hint="try again in a moment")

    def _write(
        self, connection: Connection, batch: Sequence[Ticket[object]], tried: list[_Written]
    ) -> _Written | None:
        memory = self._memory or Memory(last_position(connection))
        self._memory = None  # the memory counts again when this batch is durable
        landed = _landed(connection, tried)
        if landed is not None:
            for ticket, result in zip(batch, landed.result, strict=True):
                ticket.set_result(result)  # a later attempt may have read what this one wrote
            return landed
        drafts = [draft for one in batch if one.run(draft := memory.draft(connection))]
        rows = [row for draft in drafts for row in draft.rows]
        facts = {name: fact for draft in drafts for name, fact in draft.facts.items()}
        written = None
        if rows or facts:
            written = _Written(memory.position, facts, [ticket.step_result for ticket in batch])
        if written is not None and rows:
            tried.append(written)
            write_rows(_driver(connection), rows)
        if len(memory.values) < _LARGEST_MEMORY:
            self._memory = memory
        return written

    def _isolate(self, batch: Sequence[Ticket[object]], cause: BaseException) -> None:
        """Commit the steps one by one: a step that the database refuses must not fail the others."""
        if len(batch) == 1:
            _fail(batch, cause)
            return
        for ticket in batch:
            try:
                written = self._persist([ticket])
            except _Poisoned as poisoned:
                _fail([ticket], poisoned.cause)
            except (BackendUnavailable, OperatorError, OSError) as problem:
                _fail([ticket], self._caller_error(problem))
            else:
                if written is not None:
                    self._drop_anchor([ticket], written)

    def _drop_anchor(self, batch: Sequence[Ticket[object]], written: _Written) -> None:
        """Write the anchor; if that fails, no caller may go on, although the charge stays."""
        try:
            self._anchor.advance(written.position, written.facts)
        except (OSError, OperatorError) as error:
            _fail(batch, self._without_anchor(error))

    def _without_anchor(self, problem: OSError | OperatorError) -> BackendUnavailable:
        self._emit(AnchorLost(str(problem)))
        hint = "the operator must make the anchor writable"
        return BackendUnavailable(Code.ANCHOR_UNAVAILABLE, hint=hint)

    def _caller_error(
        self, problem: BackendUnavailable | OperatorError | OSError
    ) -> BackendUnavailable:
        """The error for callers: a foreign state is the operator's concern; an analyst is told to try later."""
        if isinstance(problem, BackendUnavailable):
            return problem
        if isinstance(problem, OSError):
            return self._without_anchor(problem)
        self._emit(StateLost(str(problem)))
        return BackendUnavailable(Code.STATE_UNAVAILABLE, hint="the operator's log says why")

    @contextmanager
    def _turn(self, connection: Connection) -> Iterator[None]:
        """Nothing while only this process writes; a lock, and a fresh read, while others write too."""
        if not self._polite:
            yield
            return
        self._polite -= 1
        driver = _driver(connection)
        with driver.transaction():
            driver.execute("SELECT pg_advisory_xact_lock(%s)", (WRITERS_LOCK,))
            if self._memory is not None and self._memory.position != last_position(connection):
                self._memory = None
            yield

    def _connect(self, watched: Callable[[int], None]) -> Connection:
        """The journal's own connection; a new one is checked before it is used."""
        if self._connection is None:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            try:
                watched(_driver(connection).fileno())
                hold_state(connection)
                require_not_behind(connection, self._anchor)
            except BaseException:
                connection.invalidate()
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _forget(self, *, disconnect: bool = False) -> None:
        self._memory = None
        if disconnect and self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


class _Poisoned(Exception):
    """The database refuses the content of this batch; another attempt cannot help."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = _without_rows(cause)


def _without_rows(cause: BaseException) -> BaseException:
    """The error without the database's words, which repeat rows, because it goes to a log."""
    if not isinstance(cause, psycopg.Error):
        return cause
    broken = f"{cause.sqlstate or ''} {cause.diag.constraint_name or ''}".strip()
    return type(cause)(f"the state does not take this step: {broken}")


def _fail(batch: Sequence[Ticket[object]], error: BaseException) -> None:
    for ticket in batch:
        ticket.fail(error)


def _driver(connection: Connection) -> Driver:
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    return driver


def _landed(connection: Connection, tried: Sequence[_Written]) -> _Written | None:
    """The attempt whose last trail record is in the database, if any."""
    for written in tried:
        query = select(trail_records.c.mac).where(trail_records.c.seq == written.position.seq)
        if connection.execute(query).scalar_one_or_none() == written.position.mac:
            return written
    return None
