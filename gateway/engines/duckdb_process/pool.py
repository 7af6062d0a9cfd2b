"""Pool of DuckDB processes for one file: limited places, one statement in each, shared fairly between subjects.

A closed pool keeps no process: a process in use may end with its user, and a later request gets a new one. A
stopped pool kills running processes.

INVARIANT: a subject has at most half of the places, so no single subject blocks another one. The waiting
subject with the fewest processes is next; among equals, the first to wait. INVARIANT: a process reads the file
that exists when it is taken. A process that opened another file, that was slow, or whose last statement did not
end by itself is killed and never used again.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from gateway.cancellation import call_when_cancelled
from gateway.engines.duckdb_process.process import (
    DuckdbProcess,
    Identity,
    Launcher,
    LauncherClosed,
    ProcessLost,
    ProcessSettings,
)

_OPEN_S: Final = 10.0
_END_S: Final = 1.0
_LEAST_PLACES: Final = 4
_TRIES: Final = 3


class PoolBusy(Exception):
    """No process became free in time."""


class PoolStopped(Exception):
    """The gateway stops."""


class WaitCancelled(Exception):
    """The caller no longer waits."""


def places_for(cores: int) -> int:
    """The number of processes: more than cores, because one subject's long statements hold at most half of them and have a low priority."""
    return max(_LEAST_PLACES, 2 * cores)


@dataclass(eq=False)
class _Ticket:
    subject: str
    is_called: threading.Event = field(default_factory=threading.Event)
    has_place: bool = False


@dataclass(frozen=True)
class LeasedProcess:
    """A process for one statement, and the file that it reads."""

    process: DuckdbProcess
    identity: Identity


class Pool:
    """The processes of all files. None is started before the first statement."""

    def __init__(self, settings: ProcessSettings, launcher: Launcher) -> None:
        self.settings = settings
        self.share = max(1, settings.places // 2)
        self._launcher = launcher
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._taken: Counter[str] = Counter()
        self._idle: list[DuckdbProcess] = []
        self._busy: set[DuckdbProcess] = set()
        self._closed = False
        self._stopped = False

    @property
    def is_stopped(self) -> bool:
        return self._stopped

    def has(self, number: int) -> bool:
        """Whether this process can run another statement."""
        with self._lock:
            return any(one.number == number for one in (*self._busy, *self._idle))

    @contextmanager
    def lease(
        self, subject: str, patience_s: float, cancelled: threading.Event | None = None
    ) -> Iterator[LeasedProcess]:
        """A process for the statements of one query of this subject, one after the other.

        While the block runs, `cancelled` closes the line of the process, so that a reader gets `ProcessLost`.
        """
        with self._place(subject, patience_s, cancelled):
            leased = self._take()
            try:
                with call_when_cancelled(cancelled, leased.process.abandon):
                    yield leased
            finally:
                self._give_back(leased.process, is_kept=leased.process.is_usable)

    def close(self) -> None:
        """End every process that is not in use."""
        with self._lock:
            self._closed = True
            idle = [*self._idle]
            self._idle.clear()
        _end(idle)

    def stop(self) -> None:
        """Kill every process; waiting and reading callers get an error at once."""
        with self._lock:
            self._closed = self._stopped = True
            for ticket in self._waiting:
                ticket.is_called.set()
            busy, idle = [*self._busy], [*self._idle]
            self._idle.clear()
        for one in busy:
            self._launcher.kill(one.number)
            one.abandon()  # whoever reads from it closes its line
        _end(idle)

    @contextmanager
    def _place(
        self, subject: str, patience_s: float, cancelled: threading.Event | None
    ) -> Iterator[None]:
        ticket = _Ticket(subject)
        with self._lock:
            self._waiting.append(ticket)
            self._call_next()
        try:
            self._wait(ticket, monotonic() + patience_s, cancelled)
            yield
        finally:
            with self._lock:
                if ticket.has_place:
                    self._taken[subject] -= 1
                    if not self._taken[subject]:
                        del self._taken[subject]
                else:
                    self._waiting.remove(ticket)
                self._call_next()

    def _wait(self, ticket: _Ticket, until: float, cancelled: threading.Event | None) -> None:
        with call_when_cancelled(cancelled, ticket.is_called.set):
            while not ticket.has_place:
                if self._stopped:
                    raise PoolStopped
                if cancelled is not None and cancelled.is_set():
                    raise WaitCancelled
                left = until - monotonic()
                if left <= 0:
                    raise PoolBusy
                ticket.is_called.wait(left)

    def _call_next(self) -> None:
        """Assign every free place to a waiting caller. The caller holds the lock."""
        while self._taken.total() < self.settings.places:
            able = [one for one in self._waiting if self._taken[one.subject] < self.share]
            if not able:
                return
            ticket = min(able, key=lambda one: self._taken[one.subject])  # the first of these
            self._waiting.remove(ticket)
            self._taken[ticket.subject] += 1
            ticket.has_place = True
            ticket.is_called.set()

    def _take(self) -> LeasedProcess:
        """A process that has the current file open."""
        for _ in range(_TRIES):
            process = self._next()
            try:
                identity = process.identity(monotonic() + _OPEN_S)
                if _is_current(self.settings.path, identity):
                    return LeasedProcess(process, identity)
            except BaseException as error:
                self._give_back(process, is_kept=False)
                if isinstance(error, ProcessLost) and not self._stopped:
                    continue  # its zygote may have been gone
                raise
            self._give_back(process, is_kept=False)
        raise ProcessLost

    def _next(self) -> DuckdbProcess:
        with self._lock:
            if self._stopped:
                raise PoolStopped
            dead = [one for one in self._idle if not one.is_there()]
            alive = [one for one in self._idle if one not in dead]
            found = alive.pop() if alive else None
            self._idle = alive
            if found is not None:
                self._busy.add(found)
        for one in dead:
            one.kill()
        return found if found is not None else self._start()

    def _start(self) -> DuckdbProcess:
        try:
            made = DuckdbProcess(self._launcher, self.settings)
        except LauncherClosed:
            raise PoolStopped from None
        except OSError:
            raise ProcessLost from None
        with self._lock:
            self._busy.add(made)
        return made

    def _give_back(self, process: DuckdbProcess, *, is_kept: bool) -> None:
        """Keep the process for the next statement, or kill it and start another one."""
        with self._lock:
            is_kept = is_kept and not self._closed
            self._busy.discard(process)
            if is_kept:
                self._idle.append(process)
            wants_spare = not is_kept and not self._idle and not self._closed
        if is_kept:
            return
        process.kill()
        if wants_spare:
            self._add_spare()

    def _add_spare(self) -> None:
        """Start a spare process, which opens its file in advance."""
        try:
            made = DuckdbProcess(self._launcher, self.settings)
        except (LauncherClosed, OSError):
            return  # the caller that needs one gets the error
        with self._lock:
            if not self._closed:
                self._idle.append(made)
                return
        made.kill()


def _end(processes: Sequence[DuckdbProcess]) -> None:
    """Kill the processes, and wait until their file is free."""
    for one in processes:
        one.begin_to_end()
    until = monotonic() + _END_S
    for one in processes:
        one.wait_until_gone(until)


def _is_current(path: str, identity: Identity) -> bool:
    try:
        there = Path(path).stat()
    except OSError:
        return False
    found = (there.st_dev, there.st_ino, there.st_mtime_ns, there.st_size)
    return found == (identity.device, identity.inode, identity.modified_ns, identity.size)
