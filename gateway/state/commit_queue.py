"""Commit queue of the journal: waiting callers, one of which leads and works for all of them.

The first caller leads: it takes the queued steps, commits them, wakes their callers, and names the first caller
that came meanwhile as the next leader.

INVARIANT: while the queue is not empty, exactly one live caller leads. A caller that gives up leaves the queue
first, or leads once more if it was just named.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from sqlalchemy.exc import DBAPIError

from gateway.errors import BackendUnavailable, Code
from gateway.state.draft import Draft

Outcome = TypeVar("Outcome")
Step = Callable[[Draft], Outcome]
StepResult = tuple[object, BaseException | None]
_LARGEST_BATCH = 256


class Ticket(Generic[Outcome]):
    """One caller's step and its outcome."""

    def __init__(self, step: Step[Outcome]) -> None:
        self._step = step
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self.wake = threading.Event()
        self.leads = False

    def run(self, draft: Draft) -> bool:
        """Run the step on this draft; False if the step itself refused."""
        before = draft.position
        try:
            self._outcome, self._error = self._step(draft), None
        except DBAPIError:
            raise
        except Exception as error:  # noqa: BLE001  # the exception belongs to the caller, who gets it back
            self.fail(error)
            return False
        if draft.rows and draft.position == before:
            self.fail(AssertionError("a step wrote to the state without a trail record"))
            return False
        if draft.unsealed():
            self.fail(AssertionError("a step wrote events behind its trail record"))
            return False
        draft.accept()
        return True

    def fail(self, error: BaseException) -> None:
        self._outcome, self._error = None, error

    @property
    def step_result(self) -> StepResult:
        """The outcome that the caller gets if nothing else happens."""
        return self._outcome, self._error

    def set_result(self, result: StepResult) -> None:
        """Set another outcome."""
        self._outcome, self._error = result  # type: ignore[assignment]  # it was this ticket's own

    def result(self) -> Outcome:
        if self._error is not None:
            raise self._error
        return self._outcome  # type: ignore[return-value]  # run() set it, and knows its type


class Tickets:
    """The queue in front of the journal."""

    def __init__(self, work: Callable[[Sequence[Ticket[object]]], None], patience_s: float) -> None:
        self._work = work
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._queue: deque[Ticket[object]] = deque()
        self._led = False

    def serve(self, step: Step[Outcome]) -> Outcome:
        ticket: Ticket[Outcome] = Ticket(step)
        with self._lock:
            self._queue.append(ticket)  # type: ignore[arg-type]  # outcomes are not read here
            ticket.leads = not self._led
            self._led = True
        if not ticket.leads:
            self._wait(ticket)
        if ticket.leads:
            self._lead()
        return ticket.result()

    def _wait(self, ticket: Ticket[Outcome]) -> None:
        try:
            in_time = ticket.wake.wait(self._patience_s)
        except BaseException:
            self._abandon(ticket)
            raise
        if not in_time and self._abandon(ticket):
            raise _unavailable()

    def _abandon(self, ticket: Ticket[Outcome]) -> bool:
        """Leave the queue; False if the ticket was served or named leader at the last moment."""
        with self._lock:
            if ticket.wake.is_set():
                if not ticket.leads:
                    return False
                self._queue.remove(ticket)  # type: ignore[arg-type]  # see serve
                self._name_heir()
                ticket.leads = False
            elif ticket in self._queue:
                self._queue.remove(ticket)  # type: ignore[arg-type]  # see serve
        return True

    def _lead(self) -> None:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), _LARGEST_BATCH))]
        try:
            self._work(batch)
        except BaseException as error:
            # a Ctrl-C is meant for this thread; the other callers are told that their steps failed
            result = error if isinstance(error, Exception) else _unavailable()
            for ticket in batch:
                ticket.fail(result)
            raise
        finally:
            with self._lock:
                self._name_heir()
            for ticket in batch:
                ticket.wake.set()

    def _name_heir(self) -> None:
        self._led = bool(self._queue)
        if self._led:
            self._queue[0].leads = True
            self._queue[0].wake.set()


def _unavailable() -> BackendUnavailable:
    return BackendUnavailable(Code.STATE_UNAVAILABLE, hint="try again in a moment")
