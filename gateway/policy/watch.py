"""Notice when policy files change: by looking, twice a second, at what the directory says of them.

A change is acted on when two looks in a row agree, so that a file is not read while it is being written.
INVARIANT: whatever a reload raises, the watch goes on.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

LOOK_EVERY_S: Final = 0.4

Fingerprint: TypeAlias = tuple[tuple[str, int, int, int], ...]


def fingerprint(directory: Path) -> Fingerprint:
    """Name, time, size and inode of every file; links are followed, as deployments swap them."""
    try:
        paths = sorted(directory.iterdir())
    except OSError:
        return ()
    return tuple((path.name, *_of(path)) for path in paths if path.suffix in {".yaml", ".yml"})


def _of(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


class Watch:
    """Calls `changed` after the files changed, and `asked` after somebody asked, on its own thread."""

    def __init__(
        self,
        directory: Path,
        changed: Callable[[], bool],
        asked: Callable[[], bool],
        *,
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._directory = directory
        self._changed = changed
        self._asked = asked
        self._every_s = every_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._requests = 0
        self._acted_on = fingerprint(directory)
        self._thread = threading.Thread(target=self._run, name="policies", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self) -> None:
        """Reload now, whatever the files look like; safe in a signal handler."""
        self._requests += 1
        self._wake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        served = 0
        last = self._acted_on
        while True:
            self._wake.wait(self._every_s)
            self._wake.clear()
            if self._stopping.is_set():
                return
            now = fingerprint(self._directory)
            wanted = self._requests
            if wanted != served:
                if self._asked():
                    served, self._acted_on = wanted, now
            elif now == last and now != self._acted_on and self._changed():
                self._acted_on = now
            last = now
