"""Durable directories and small files: complete and on the disk, or absent.

INVARIANT: the mode of an existing directory is never changed.
"""

import errno
import os
import secrets
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


def write_durably(path: Path, text: str) -> None:
    """Write a private file that survives a power cut once this returns."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(os.fsencode(text))
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
