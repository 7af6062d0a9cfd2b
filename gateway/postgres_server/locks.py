"""Locks between gateways on one home; the kernel releases them when a process dies.

`flock` belongs to the open file, not to the process: two leases of one process are two holders, and a forked
child shares its parent's. Programs that the gateway starts inherit none but the server lock.

INVARIANT: leases and the server lock are taken and tested under the start lock alone, so a test never coincides
with a taker.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import Code, OperatorError

_POLL = 0.01


class Hold:
    """A share in a lock, until `release`."""

    def __init__(self, path: Path) -> None:
        self._pid = os.getpid()
        self._file = _open(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._file)
            raise

    @property
    def mine(self) -> bool:
        """True in the process that took it, not in its forks."""
        return self._pid == os.getpid()

    def release(self) -> None:
        """Release the share; in a forked child, forget it and leave the parent's alone."""
        file, self._file = self._file, -1
        if file < 0:
            return
        if self.mine:
            # closing is not enough while a forked child keeps the same open file
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


@contextmanager
def hold_lock(path: Path, wait: float) -> Iterator[None]:
    """Hold this lock exclusively; an `OperatorError` if it is not free within `wait` seconds."""
    file = _open(path)
    try:
        deadline = time.monotonic() + wait
        while not _take(file):
            if time.monotonic() > deadline:
                raise OperatorError(
                    Code.EMBEDDED_SERVER,
                    f"another process has held `{path}` for {wait:g} s",
                    "it is starting or stopping the server; find it with `fuser` and see what it waits for",
                )
            time.sleep(_POLL)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


@contextmanager
def inherit_lock(path: Path) -> Iterator[int]:
    """A locked descriptor for a program to inherit: locked until the last process with it has ended.

    It is closed here and not unlocked, which would unlock it for the inheriting processes too.
    """
    file = _open(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file
    finally:
        os.close(file)


def is_free(path: Path) -> bool:
    """True if nobody holds this lock; tested under the start lock."""
    file = _open(path)
    try:
        return _take(file)
    finally:
        os.close(file)


def _take(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
