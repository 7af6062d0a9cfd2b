"""Replies leave on the grid, whatever happened and however long it took; the clock is the test's own."""

import threading
from dataclasses import dataclass, field

import pytest

from gateway.errors import Code, Refusal, SourceStopped, SyntaxRefused
from gateway.stages.reply_grid import Pace

_MS = 1_000_000


@dataclass
class Time:
    """Passes when somebody works or waits."""

    now: int = 7_777_777
    waits: list[float] = field(default_factory=list)
    too_short: float = 0.0

    def clock(self) -> int:
        return self.now

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        if event.is_set():
            return True
        self.now += round(seconds * 1000 * _MS * (1 - self.too_short)) + (
            1 if self.too_short else 0
        )
        return False

    def works(self, milliseconds: float) -> None:
        self.now += round(milliseconds * _MS)

    def pace(self) -> Pace:
        return Pace(self.clock, self.wait)


def _took(time: Time, step_ms: int | None, work_ms: float) -> float:
    began = time.now
    with time.pace().on_grid(step_ms, threading.Event()):
        time.works(work_ms)
    return (time.now - began) / _MS


@pytest.mark.parametrize(
    ("work_ms", "took_ms"),
    [
        (0, 100),
        (0.001, 100),
        (99.999, 100),
        (100, 100),
        (100.001, 200),
        (230, 300),
        (30_000.5, 30_100),
    ],
)
def test_reply_leaves_on_the_first_point_of_the_grid_after_the_work(
    work_ms: float, took_ms: float
) -> None:
    """The smallest multiple that is not before the work is done, and never 0."""
    assert _took(Time(), 100, work_ms) == took_ms


def test_reply_is_waited_for_by_nobody_when_there_is_no_grid() -> None:
    """Nothing changes for policies without one."""
    time = Time()
    assert _took(time, None, 12.5) == 12.5
    assert time.waits == []


def test_reply_is_waited_for_to_the_end_when_a_wait_ends_early() -> None:
    """An operating system that wakes us too soon does not shift the grid."""
    time = Time(too_short=0.5)
    assert _took(time, 100, 1) >= 100
    assert len(time.waits) > 1


def test_refusal_leaves_on_the_grid() -> None:
    """A time-out or a refusal waits as an answer does, and is what it was."""
    time = Time()
    began = time.now

    def refuse() -> None:
        with time.pace().on_grid(50, threading.Event()):
            time.works(60)
            raise SyntaxRefused(Code.SQL_SYNTAX)

    with pytest.raises(Refusal) as caught:
        refuse()
    assert caught.value.code is Code.SQL_SYNTAX
    assert time.now - began == 100 * _MS


def test_bug_of_ours_leaves_on_the_grid() -> None:
    """What breaks may depend on rows; when it did is not told."""
    time = Time()
    began = time.now
    with pytest.raises(ZeroDivisionError), time.pace().on_grid(50, threading.Event()):
        raise ZeroDivisionError
    assert time.now - began == 50 * _MS


def test_grid_becomes_that_of_the_dataset_when_it_is_known() -> None:
    """From the arrival on, not from when it became known."""
    time = Time()
    began = time.now
    with time.pace().on_grid(1000, threading.Event()) as grid:
        time.works(25)
        grid.step_ms = 40
    assert time.now - began == 40 * _MS
    with time.pace().on_grid(1000, threading.Event()) as grid:
        grid.step_ms = None
    assert time.now - began == 40 * _MS


@pytest.mark.parametrize("ready_ms", [10.0, 90.0])
def test_cancelled_question_is_told_so_on_the_grid_when_its_answer_was_ready(
    ready_ms: float,
) -> None:
    """Whether it was ready when it was cancelled cannot be seen: same refusal, same time."""
    time, cancelled = Time(), threading.Event()
    began = time.now

    def cancel() -> None:
        with time.pace().on_grid(100, cancelled):
            time.works(ready_ms)
            cancelled.set()

    with pytest.raises(SourceStopped) as caught:
        cancel()
    assert caught.value.code is Code.SOURCE_CANCELLED
    assert time.now - began == 100 * _MS


def test_cancelled_question_has_its_answer_when_there_is_no_grid() -> None:
    """The negative control: without a grid the time is not hidden anyway."""
    cancelled = threading.Event()
    cancelled.set()
    with Time().pace().on_grid(None, cancelled):
        pass


def test_reply_leaves_at_once_when_the_gateway_stops() -> None:
    """A grid of a minute keeps no gateway from stopping."""
    time = Time()
    pace = time.pace()
    pace.stopping.set()
    began = time.now
    with pace.on_grid(60_000, threading.Event()):
        time.works(1)
    assert time.now - began == _MS
    assert len(time.waits) == 1
