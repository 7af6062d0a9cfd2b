"""Worker threads and connections before log-in: fair shares of subjects, bounds, and shutdown."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from time import monotonic, sleep

import pytest

from gateway.errors import Code, LimitExceeded
from gateway.frontends.workers import Admission, Workers

_PATIENCE_S = 30


class _Held:
    """Work that waits until it is told to end; it tells when it has begun, and in which order."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.go = threading.Event()
        self._said = threading.Semaphore(0)

    def work(self, name: str) -> str:
        self.began.append(name)
        self._said.release()
        assert self.go.wait(_PATIENCE_S)
        return name

    def submit(self, workers: Workers, subject: str, name: str = "") -> "Future[str]":
        return workers.submit(subject, lambda: self.work(name or subject))

    def wait_for(self, many: int) -> None:
        for _ in range(many):
            assert self._said.acquire(timeout=_PATIENCE_S)


def _wait_for_idle(workers: Workers, many: int) -> None:
    until = monotonic() + _PATIENCE_S
    while workers._idle != many:
        assert monotonic() < until, f"{workers._idle} threads are idle, not {many}"
        sleep(0.001)


@pytest.fixture
def held() -> Iterator[_Held]:
    held = _Held()
    yield held
    held.go.set()


def test_subject_has_half_of_the_threads_and_no_more(held: _Held) -> None:
    """Whoever asks for everything leaves half to others, who do not wait."""
    with closing(Workers(4)) as workers:
        futures = [held.submit(workers, "mallory") for _ in range(8)]
        held.wait_for(2)
        futures += [held.submit(workers, name) for name in ("alice", "bob")]
        held.wait_for(2)
        assert held.began == ["mallory", "mallory", "alice", "bob"]
        held.go.set()
        assert [one.result(_PATIENCE_S) for one in futures] == ["mallory"] * 8 + ["alice", "bob"]


def test_no_question_waits_while_a_thread_may_still_be_made(held: _Held) -> None:
    """One idle thread is woken for two questions: the one that it leaves gets a thread of its own."""
    with closing(Workers(4)) as workers:
        before = _Held()
        three = []
        for name in ("x", "y", "z"):
            three.append(before.submit(workers, name))
            before.wait_for(1)  # a query that no thread has taken yet gets another thread
        before.go.set()
        for one in three:
            one.result(_PATIENCE_S)
        _wait_for_idle(workers, 3)
        for _ in range(2):
            held.submit(workers, "mallory")
        held.wait_for(2)
        _wait_for_idle(workers, 1)
        assert len(workers._threads) == 3
        with workers._changed:  # the idle thread cannot run before both are there
            held.submit(workers, "alice")
            held.submit(workers, "bob")
        held.wait_for(2)
        assert sorted(held.began[2:]) == ["alice", "bob"]
        held.go.set()


def test_waiting_subjects_are_taken_in_turns(held: _Held) -> None:
    """One question of each, whoever came first and with however many."""
    with closing(Workers(1)) as workers:
        blocker = held.submit(workers, "first")
        held.wait_for(1)
        futures = [held.submit(workers, "mallory", f"m{one}") for one in range(3)]
        futures += [held.submit(workers, "alice", f"a{one}") for one in range(2)]
        held.go.set()
        for one in (blocker, *futures):
            one.result(_PATIENCE_S)
        assert held.began == ["first", "m0", "a0", "m1", "a1", "m2"]


def test_question_is_refused_when_too_many_are_under_way(held: _Held) -> None:
    """Waiting ones count, those that are being sent count, and a place is free when the work is told to have ended."""
    with closing(Workers(2, most=4, most_of_one=3)) as workers:
        futures = [held.submit(workers, "alice") for _ in range(2)]
        with workers.place("alice"):
            with pytest.raises(LimitExceeded, match="3 of your") as caught:
                held.submit(workers, "alice")
            assert caught.value.code is Code.TOO_MANY_QUESTIONS
            futures.append(held.submit(workers, "bob"))
            with pytest.raises(LimitExceeded, match="4 queries"):
                held.submit(workers, "carol")
        held.go.set()
        for one in futures:
            one.result(_PATIENCE_S)
        again = [held.submit(workers, "alice") for _ in range(3)]
        assert [one.result(_PATIENCE_S) for one in again] == ["alice"] * 3


def test_failed_work_is_told_and_gives_its_place_back() -> None:
    """What the work raises is raised where its end is waited for."""

    def fail() -> None:
        raise ValueError("a bug")

    with closing(Workers(1, most=1)) as workers:
        for _ in range(3):
            with pytest.raises(ValueError, match="a bug"):
                workers.submit("alice", fail).result(_PATIENCE_S)


def test_workers_leave_no_thread_and_begin_nothing_when_they_are_closed(held: _Held) -> None:
    """What runs may end, what waits never begins, and what comes later is cancelled."""
    before = threading.active_count()
    workers = Workers(1)
    running, waiting = held.submit(workers, "alice"), held.submit(workers, "alice")
    held.wait_for(1)
    threading.Timer(0.05, held.go.set).start()
    workers.close()
    assert running.result(_PATIENCE_S) == "alice"
    assert waiting.cancelled()
    assert held.submit(workers, "alice").cancelled()
    assert held.began == ["alice"]
    workers.close()
    assert threading.active_count() <= before + 1  # the timer's


def test_workers_lose_no_question_when_many_come_at_once() -> None:
    """Every question ends once, however threads, places and turns fall."""
    done: list[int] = []
    with closing(Workers(4, most=2_000, most_of_one=2_000)) as workers:

        def some(subject: str) -> None:
            for one in [workers.submit(subject, lambda: done.append(1)) for _ in range(100)]:
                one.result(_PATIENCE_S)

        askers = [threading.Thread(target=some, args=(f"s{one % 3}",)) for one in range(8)]
        for one in askers:
            one.start()
        for one in askers:
            one.join(_PATIENCE_S)
    assert len(done) == 800


def test_connections_are_bounded_in_all_and_for_each_address() -> None:
    """One address leaves places to others, and a place that is given back is free."""
    admission = Admission(3, 2)
    assert [admission.enter("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [admission.enter(f"192.0.2.{one}") for one in (2, 3)] == [True, False]
    admission.leave("192.0.2.1")
    assert admission.enter("192.0.2.3")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unknown", "unknown", True),
    ],
)
def test_addresses_of_one_client_count_together(one: str, other: str, *, same: bool) -> None:
    """A client of IPv6 has a whole network, and cannot fill the places from its addresses."""
    admission = Admission(9, 1)
    assert admission.enter(one)
    assert admission.enter(other) is not same
