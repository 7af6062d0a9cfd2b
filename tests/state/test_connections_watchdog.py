"""The watchdog ends waits that would never end, and nothing else."""

import socket
import threading
from collections.abc import Iterator

import pytest

from gateway.state.connections import SocketWatchdog


@pytest.fixture
def watchdog() -> Iterator[SocketWatchdog]:
    made = SocketWatchdog(0.05)
    yield made
    made.close()


def wait_is_ended(watchdog: SocketWatchdog) -> bool:
    """Wait for bytes that never come."""
    here, there = socket.socketpair()
    with here, there, watchdog.watch() as watched:
        here.settimeout(20)
        watched(here.fileno())
        return here.recv(1) == b""


def test_watchdog_ends_a_wait_when_the_limit_is_over(watchdog: SocketWatchdog) -> None:
    """Whoever waits sees the end of the connection; again and again."""
    assert wait_is_ended(watchdog)
    assert wait_is_ended(watchdog)


def test_watchdog_goes_on_when_a_connection_is_gone_before_it_bites(
    watchdog: SocketWatchdog,
) -> None:
    """A socket that cannot be shut down any more does not end the watch over the others."""
    with socket.socket() as unconnected:
        closed = socket.socket()
        number = closed.fileno()
        closed.close()
        for file in (unconnected.fileno(), number):
            with watchdog.watch() as watched:
                watched(file)
                while watchdog._socket >= 0:
                    threading.Event().wait(0.005)
    assert wait_is_ended(watchdog)


def test_watchdog_leaves_alone_what_ended_in_time(watchdog: SocketWatchdog) -> None:
    """After the watch the same socket may wait as long as it likes."""
    here, there = socket.socketpair()
    with here, there:
        with watchdog.watch() as watched:
            watched(here.fileno())
        assert wait_is_ended(watchdog)  # meanwhile the limit is over
        there.sendall(b"x")
        assert here.recv(1) == b"x"
