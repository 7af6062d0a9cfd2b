"""Callers who give up leave a queue that serves the others."""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from fix_journal import note, notes
from fix_ledger import Bank, audit, commit_together

from gateway.errors import BackendUnavailable, Code
from gateway.state.commit_queue import Ticket, Tickets
from gateway.state.draft import Draft
from gateway.trail.record import ActRecord, RecordKind


class OutOfTime(BaseException):
    """What a worker's time limit raises."""


def test_caller_that_is_interrupted_while_it_waits_leaves_the_queue(own: Bank) -> None:
    """A signal in a waiting caller takes its step out of the queue; the others are served."""
    reached, go = threading.Event(), threading.Event()

    def hold(draft: Draft) -> None:
        del draft
        reached.set()
        go.wait()

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        raise OutOfTime

    def signal_main() -> None:
        while not own.journal._tickets._queue:
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    handler = signal.signal(signal.SIGUSR1, interrupt)
    threads = [
        threading.Thread(target=own.journal.commit, args=(hold,)),
        threading.Thread(target=signal_main),
    ]
    try:
        threads[0].start()
        reached.wait()
        threads[1].start()
        with pytest.raises(OutOfTime):
            own.ask("0.1", query_id="interrupted")
    finally:
        go.set()
        for thread in threads:
            thread.join()
        signal.signal(signal.SIGUSR1, handler)
    own.ask("0.1", query_id="afterwards")
    assert list(audit(own.engine).charges) == ["afterwards"]


def test_leader_that_is_interrupted_takes_nobody_along(own: Bank) -> None:
    """A Ctrl-C in the caller that leads is raised there alone; those it worked for are told that the
    state was not reached, and the queue goes on.
    """

    def interrupted(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(RecordKind.POLICY_LOADED, "never"))
        raise KeyboardInterrupt

    calls: list[Callable[[], object]] = [
        partial(own.journal.commit, interrupted),
        partial(own.ask, "0.1"),
        note(own, "n"),
    ]
    first, led, last = commit_together(own.journal, calls)
    assert isinstance(first, KeyboardInterrupt)
    assert isinstance(led, BackendUnavailable)
    assert isinstance(last, BackendUnavailable)
    own.ask("0.1", query_id="afterwards")
    books = audit(own.engine)
    assert (list(books.charges), notes(books)) == (["afterwards"], [])


@pytest.mark.parametrize("patience_s", [0.0, 0.0005, 0.002])
def test_queue_never_stands_still_however_many_give_up(patience_s: float) -> None:
    """Callers that run out of patience at every moment leave a queue that serves the next one."""
    worked: list[object] = []

    def work(batch: object) -> None:
        worked.append(batch)
        threading.Event().wait(0.001)

    tickets = Tickets(work, patience_s)
    gave_up: list[Code] = []

    def call() -> None:
        for _ in range(25):
            try:
                tickets.serve(id)
            except BackendUnavailable as refusal:
                gave_up.append(refusal.code)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not tickets._queue
    assert not tickets._led
    assert gave_up
    before = len(worked)
    tickets.serve(id)
    assert len(worked) == before + 1


class LateEvent(threading.Event):
    """Tells the thread that is named so that its time is over at the very moment it is called."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(timeout) and threading.current_thread().name != "late"


def test_caller_that_gives_up_when_it_is_just_named_leader_names_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lead is handed on: who waits behind such a caller is served, and so is who comes later."""
    reached, go = threading.Event(), threading.Event()
    batches: list[int] = []

    def work(batch: Sequence[Ticket[object]]) -> None:
        batches.append(len(batch))
        reached.set()
        go.wait()

    monkeypatch.setattr("gateway.state.commit_queue.threading.Event", LateEvent)
    tickets = Tickets(work, 30)
    outcomes: dict[str, object] = {}

    def call() -> None:
        try:
            outcomes[threading.current_thread().name] = tickets.serve(id)
        except BackendUnavailable as refusal:
            outcomes[threading.current_thread().name] = refusal.code

    threads = [threading.Thread(target=call, name=name) for name in ("first", "late", "next")]
    for place, thread in enumerate(threads):
        thread.start()
        reached.wait()
        while len(tickets._queue) < place:
            time.sleep(0)
    go.set()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()
    assert outcomes == {"first": None, "late": Code.STATE_UNAVAILABLE, "next": None}
    assert batches == [1, 1]
    tickets.serve(id)
    assert batches == [1, 1, 1]
