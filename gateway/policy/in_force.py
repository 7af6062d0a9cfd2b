"""Policies in force, and their replacement: all at once, or not at all.

The files are checked twice a second. A change is acted on when two checks in a row agree, so that a file is not
read while it is being written.

INVARIANT: `value` is always a whole `LoadedPolicies` that was accepted: its accounts are open and its trail
record is durable. A refused reload changes nothing but the trail. INVARIANT: whatever a reload raises, the
watch goes on.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from gateway.errors import OperatorError
from gateway.policy.files.load import LoadedPolicies, PolicyReading

Read: TypeAlias = Callable[[], PolicyReading]


@dataclass(frozen=True)
class Cause:
    """The actor and the reason of a reload."""

    actor: str
    because: str


Accept: TypeAlias = Callable[[LoadedPolicies, LoadedPolicies | None, Cause], None]
Reject: TypeAlias = Callable[[tuple[OperatorError, ...], LoadedPolicies | None, Cause], None]


@dataclass(frozen=True)
class ReloadResult:
    """The result of a reload. With problems, the previous policies stay in force."""

    changed: bool
    in_force: LoadedPolicies
    problems: tuple[OperatorError, ...] = ()


class CurrentPolicies:
    """Holds the policies in force; reading them takes no lock."""

    def __init__(self, read: Read, accept: Accept, reject: Reject) -> None:
        self._read = read
        self._accept = accept
        self._reject = reject
        self._reloading = threading.Lock()
        self._value: LoadedPolicies | None = None

    @property
    def value(self) -> LoadedPolicies:
        if self._value is None:
            raise RuntimeError("policies are used before they are opened")
        return self._value

    def open(self, cause: Cause) -> LoadedPolicies:
        """Load for the first time; the first problem is raised, because there are no previous policies."""
        with self._reloading:
            reading = self._read()
            if reading.loaded is None:
                self._reject(reading.problems, None, cause)
                raise reading.problems[0]
            try:
                self._accept(reading.loaded, None, cause)
            except OperatorError as error:
                self._reject((error,), None, cause)
                raise
            self._value = reading.loaded
            return reading.loaded

    def check(self) -> PolicyReading:
        """The result of a reload without the reload."""
        return self._read()

    def reload(self, cause: Cause) -> ReloadResult:
        """Put the files in force; an unreachable state is raised, and nothing changes."""
        with self._reloading:
            before = self.value
            reading = self._read()
            if reading.loaded is None:
                self._reject(reading.problems, before, cause)
                return ReloadResult(changed=False, in_force=before, problems=reading.problems)
            same = reading.loaded.digest == before.digest
            if same and not _tells_more(reading.loaded, before):
                return ReloadResult(changed=False, in_force=before)
            try:
                self._accept(reading.loaded, before, cause)
            except OperatorError as error:
                self._reject((error,), before, cause)
                return ReloadResult(changed=False, in_force=before, problems=(error,))
            self._value = reading.loaded
            return ReloadResult(changed=True, in_force=reading.loaded)


def _tells_more(now: LoadedPolicies, before: LoadedPolicies) -> bool:
    """True if a source reported more of a public table than before, with the same files."""
    return any(
        table.public and table.columns and table not in before.policies[name].dataset.tables
        for name, policy in now.policies.items()
        for table in policy.dataset.tables
    )


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


class FileWatch:
    """Calls `changed` after the files changed, and `asked` after a request, on its own thread."""

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
        """Request a reload, whatever the state of the files; safe in a signal handler."""
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
