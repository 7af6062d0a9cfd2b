"""Small durable files, and file locks between gateways.

The kernel releases the locks of gateways on one home when a process dies. `flock` belongs to the open file, not to
the process: two leases of one process are two holders, and a forked child shares its parent's. Programs that the
gateway starts inherit none but the server lock.

INVARIANT: the mode of an existing directory is never changed.
INVARIANT: leases and the server lock are taken and tested under the start lock alone, so a test never coincides
with a taker.
"""

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import Code, OperatorError

_HINTS = {
    errno.EACCES: "give the gateway's OS user the right to it, or choose another GATEWAY_HOME",
    errno.EPERM: "give the gateway's OS user the right to it, or choose another GATEWAY_HOME",
    errno.EROFS: "the file system is read-only: choose another GATEWAY_HOME",
    errno.ENOSPC: "the disk is full: make room, then start again",
    errno.EDQUOT: "the disk quota is used up: make room, then start again",
    errno.EEXIST: "a file is in the way: remove it, or choose another GATEWAY_HOME",
    errno.ENOTDIR: "a file is in the way: remove it, or choose another GATEWAY_HOME",
    errno.ELOOP: "a symbolic link is in the way: remove it, or choose another GATEWAY_HOME",
    errno.ENAMETOOLONG: "choose a shorter GATEWAY_HOME",
}


@contextmanager
def translate_os_errors(home: Path) -> Iterator[None]:
    """Translate file-system errors into one clear message."""
    try:
        yield
    except OSError as error:
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"`{error.filename or home}`: {(error.strerror or str(error)).lower()}",
            _HINTS.get(error.errno or 0, "GATEWAY_HOME must be a directory on a local disk"),
        ) from error


def make_directory(path: Path, mode: int) -> None:
    """Create a directory and missing parents, whatever the umask."""
    if not path.parent.exists():
        make_directory(path.parent, mode)
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(mode)


def write_durably(path: Path, content: str | bytes, like: os.stat_result | None = None) -> None:
    """Write a file that survives a power cut once this returns: private, or with the owner and rights of another."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            if like is not None:
                if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file, like.st_uid, like.st_gid)
                os.fchmod(file, stat.S_IMODE(like.st_mode))
            stream.write(os.fsencode(content))
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    make_durable(path.parent)


def make_durable(directory: Path) -> None:
    """Make new names in a directory survive a power cut."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


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
