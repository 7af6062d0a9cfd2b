"""Ends a wait on a database that stopped answering without closing its connection.

A client that waits for PostgreSQL waits for ever when the server is frozen or the network swallows
packets. The watchdog shuts such a socket down after a time limit; the waiting side then sees an
ordinary broken connection.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Watchdog:
    """Watches one socket at a time; a thread runs only while something is watched for long."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._socket = -1
        self._deadline = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self) -> Iterator[Callable[[int], None]]:
        """Within this context the socket named last is shut down when the limit is over."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._patrol, name="state-watchdog", daemon=True)
            self._thread.start()
        self._deadline = time.monotonic() + self._limit_s
        try:
            yield self._name
        finally:
            with self._lock:
                self._socket = -1

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _name(self, file: int) -> None:
        with self._lock:
            self._socket = file

    def _patrol(self) -> None:
        while not self._stop.wait(min(1.0, self._limit_s / 4)):
            with suppress(OSError):  # the connection may have ended by itself
                self._bite()

    def _bite(self) -> None:
        with self._lock:
            if self._socket < 0 or time.monotonic() < self._deadline:
                return
            file, self._socket = self._socket, -1
            duplicate = os.dup(file)
        with socket.socket(fileno=duplicate) as watched:
            watched.shutdown(socket.SHUT_RDWR)
