"""The clock over the statements of a source."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.cancellation import Cancel
from gateway.engines.timeout import Stopped, Watch, Watchdog

_PATIENCE_S = 60.0


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    made = Watchdog()
    yield made
    made.close()


def stopped_by(
    watchdog: Watchdog,
    limit_s: float,
    cancelled: threading.Event | None,
    under_way: Callable[[], None] = lambda: None,
) -> Watch:
    """A statement that ends when it is stopped and not before."""
    ended = threading.Event()
    with watchdog.watching(limit_s, cancelled) as watch, watch.reaching(ended.set):
        under_way()
        assert ended.wait(_PATIENCE_S)
    return watch


def test_watchdog_stops_a_statement_when_its_time_is_over(watchdog: Watchdog) -> None:
    """Also the second one, whose time is over before that of one that ended early."""
    with watchdog.watching(1000, None):
        pass
    assert stopped_by(watchdog, 0.05, None).stopped is Stopped.LATE
    assert stopped_by(watchdog, 0.05, None).stopped is Stopped.LATE


@pytest.mark.parametrize("made", [threading.Event, Cancel])
def test_watchdog_stops_a_statement_when_it_is_cancelled(
    watchdog: Watchdog, made: Callable[[], threading.Event]
) -> None:
    """Before it began and while it runs, by an event that calls back or one that has to be looked at."""
    before, during = made(), made()
    before.set()
    assert stopped_by(watchdog, 1000, before).stopped is Stopped.CANCELLED
    assert stopped_by(watchdog, 1000, during, during.set).stopped is Stopped.CANCELLED


@pytest.mark.parametrize("made", [threading.Event, Cancel])
def test_watchdog_stops_nothing_when_the_statement_has_ended(
    watchdog: Watchdog, made: Callable[[], threading.Event]
) -> None:
    """What is cancelled afterwards does not meet the next statement of the connection."""
    calls = list[int]()
    cancelled = made()
    with watchdog.watching(1000, cancelled) as watch, watch.reaching(lambda: calls.append(1)):
        pass
    cancelled.set()
    watch.stop(Stopped.LATE)
    # one that is watched afterwards has been looked at, so the thread has been round
    assert stopped_by(watchdog, 0.0, None).stopped is Stopped.LATE
    assert calls == []
    assert watch.stopped is Stopped.NOT


def test_watch_does_not_reach_a_connection_that_was_given_back(watchdog: Watchdog) -> None:
    """A question that goes on without one of its connections does not stop what runs there now."""
    given_back, mine = list[int](), threading.Event()
    cancelled = Cancel()
    with watchdog.watching(1000, cancelled) as watch, watch.reaching(mine.set):
        with watch.reaching(lambda: given_back.append(1)):
            pass
        cancelled.set()
        assert mine.wait(_PATIENCE_S)
    assert given_back == []


def test_watchdog_calls_again_when_the_first_call_came_too_early(watchdog: Watchdog) -> None:
    """A call before the statement began does nothing, so it is repeated."""
    calls, enough = list[int](), threading.Event()

    def stop() -> None:
        calls.append(1)
        if len(calls) == 3:
            enough.set()

    with watchdog.watching(0.0, None) as watch, watch.reaching(stop):
        assert enough.wait(_PATIENCE_S)
    assert len(calls) >= 3


def test_watchdog_keeps_many_apart_when_they_are_under_way_at_once(watchdog: Watchdog) -> None:
    """Each of 40 is stopped for its own reason, and those that end by themselves for none."""

    def ask(number: int) -> Stopped:
        if number % 4 == 0:
            return stopped_by(watchdog, 0.02 * (number % 5), None).stopped
        cancelled = Cancel() if number % 4 == 1 else threading.Event()
        if number % 4 == 3:
            with watchdog.watching(1000, cancelled) as watch:
                return watch.stopped
        return stopped_by(watchdog, 1000, cancelled, cancelled.set).stopped

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(ask, range(40)))
    wanted = [Stopped.LATE, Stopped.CANCELLED, Stopped.CANCELLED, Stopped.NOT]
    assert found == [wanted[number % 4] for number in range(40)]


def test_watchdog_has_one_thread_and_leaves_none_when_it_is_closed() -> None:
    """However many are watched, one thread holds the clock; it ends with the source, or with the last question."""
    before = threading.active_count()
    watchdog = Watchdog()
    mine = [one for one in threading.enumerate() if one.name == "source-watchdog"]
    with watchdog.watching(1000, None), watchdog.watching(1000, Cancel()):
        now = [one for one in threading.enumerate() if one.name == "source-watchdog"]
        assert len(now) == len(mine) + 1
        (thread,) = set(now) - set(mine)
        watchdog.close()
        # what is under way keeps its clock
        assert stopped_by(watchdog, 0.0, None).stopped is Stopped.LATE
        assert thread.is_alive()
    thread.join(_PATIENCE_S)
    assert threading.active_count() == before
