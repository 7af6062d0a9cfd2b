"""A clock that ends what runs for too long."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

_LOOK_S = 1.0


@dataclass
class Alarm:
    """Calls what ends a statement: one thread for all statements of a process, one statement at a time."""

    _asked: threading.Condition = field(default_factory=threading.Condition)
    _until: float | None = None
    _stop: Callable[[], object] = lambda: None
    _ended: bool = False

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["Alarm"]:
        """Its thread is there while this is open."""
        made = cls()
        thread = threading.Thread(target=made._wait, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            with made._asked:
                made._ended = True
                made._asked.notify()
            thread.join()

    @contextmanager
    def set_to(self, seconds: float, stop: Callable[[], object]) -> Iterator[None]:
        """`stop` is called when this is open for longer."""
        with self._asked:
            self._until, self._stop = monotonic() + seconds, stop
        try:
            yield
        finally:
            with self._asked:
                self._until = None

    def _wait(self) -> None:
        with self._asked:
            while not self._ended:
                self._asked.wait(_LOOK_S)
                if self._until is not None and monotonic() > self._until:
                    self._stop()
