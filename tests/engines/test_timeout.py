"""The watchdog over the statements of a source."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.cancellation import CancelEvent
from gateway.engines.timeout import StatementTimer, StatementWatch, StopReason

_PATIENCE_S = 60.0


@pytest.fixture
def watchdog() -> Iterator[StatementTimer]:
    made = StatementTimer()
    yield made
    made.close()


def stopped_by(
    watchdog: StatementTimer,
    limit_s: float,
    cancelled: threading.Event | None,
    under_way: Callable[[], None] = lambda: None,
) -> StatementWatch:
    """A statement that ends when it is stopped and not before."""
    ended = threading.Event()
    with watchdog.watching(limit_s, cancelled) as watch, watch.reaching(ended.set):
        under_way()
        assert ended.wait(_PATIENCE_S)
    return watch


def test_watchdog_stops_a_statement_when_its_time_is_over(watchdog: StatementTimer) -> None:
    """Also the second one, whose time is over before that of one that ended early."""
    with watchdog.watching(1000, None):
        pass
    assert stopped_by(watchdog, 0.05, None).stopped is StopReason.LATE
    assert stopped_by(watchdog, 0.05, None).stopped is StopReason.LATE


@pytest.mark.parametrize("made", [threading.Event, CancelEvent])
def test_watchdog_stops_a_statement_when_it_is_cancelled(
    watchdog: StatementTimer, made: Callable[[], threading.Event]
) -> None:
    """Before it began and while it runs, by an event that calls back or one that has to be looked at."""
    before, during = made(), made()
    before.set()
    assert stopped_by(watchdog, 1000, before).stopped is StopReason.CANCELLED
    assert stopped_by(watchdog, 1000, during, during.set).stopped is StopReason.CANCELLED


@pytest.mark.parametrize("made", [threading.Event, CancelEvent])
def test_watchdog_stops_nothing_when_the_statement_has_ended(
    watchdog: StatementTimer, made: Callable[[], threading.Event]
) -> None:
    """What is cancelled afterwards does not meet the next statement of the connection."""
    calls = list[int]()
    cancelled = made()
    with watchdog.watching(1000, cancelled) as watch, watch.reaching(lambda: calls.append(1)):
        pass
    cancelled.set()
    watch.stop(StopReason.LATE)
    # one that is watched afterwards has been looked at, so the thread has been round
    assert stopped_by(watchdog, 0.0, None).stopped is StopReason.LATE
    assert calls == []
    assert watch.stopped is StopReason.NOT


def test_watch_does_not_reach_a_connection_that_was_given_back(watchdog: StatementTimer) -> None:
    """A question that goes on without one of its connections does not stop what runs there now."""
    given_back, mine = list[int](), threading.Event()
    cancelled = CancelEvent()
    with watchdog.watching(1000, cancelled) as watch, watch.reaching(mine.set):
        with watch.reaching(lambda: given_back.append(1)):
            pass
        cancelled.set()
        assert mine.wait(_PATIENCE_S)
    assert given_back == []


def test_watchdog_calls_again_when_the_first_call_came_too_early(watchdog: StatementTimer) -> None:
    """A call before the statement began does nothing, so it is repeated."""
    calls, enough = list[int](), threading.Event()

    def stop() -> None:
        calls.append(1)
        if len(calls) == 3:
            enough.set()

    with watchdog.watching(0.0, None) as watch, watch.reaching(stop):
        assert enough.wait(_PATIENCE_S)
    assert len(calls) >= 3


def test_watchdog_keeps_many_apart_when_they_are_under_way_at_once(
    watchdog: StatementTimer,
) -> None:
    """Each of 40 is stopped for its own reason, and those that end by themselves for none."""

    def ask(number: int) -> StopReason:
        if number % 4 == 0:
            return stopped_by(watchdog, 0.02 * (number % 5), None).stopped
        cancelled = CancelEvent() if number % 4 == 1 else threading.Event()
        if number % 4 == 3:
            with watchdog.watching(1000, cancelled) as watch:
                return watch.stopped
        return stopped_by(watchdog, 1000, cancelled, cancelled.set).stopped

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(ask, range(40)))
    wanted = [StopReason.LATE, StopReason.CANCELLED, StopReason.CANCELLED, StopReason.NOT]
    assert found == [wanted[number % 4] for number in range(40)]


def test_watchdog_has_one_thread_and_leaves_none_when_it_is_closed() -> None:
    """However many are watched, one thread holds the clock; it ends with the source, or with the last question."""
    before = threading.active_count()
    watchdog = StatementTimer()
    mine = [one for one in threading.enumerate() if one.name == "source-watchdog"]
    with watchdog.watching(1000, None), watchdog.watching(1000, CancelEvent()):
        now = [one for one in threading.enumerate() if one.name == "source-watchdog"]
        assert len(now) == len(mine) + 1
        (thread,) = set(now) - set(mine)
        watchdog.close()
        # what is under way keeps its clock
        assert stopped_by(watchdog, 0.0, None).stopped is StopReason.LATE
        assert thread.is_alive()
    thread.join(_PATIENCE_S)
    assert threading.active_count() == before
