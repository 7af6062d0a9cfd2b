"""Where tests put their files: in memory, where there is enough of it.

A server on a disk takes four seconds to be made, and one in memory less than one; a commit that waits for a disk takes
milliseconds. No test is about a computer that loses its power, so none needs a disk. `--basetemp` or `TMPDIR` name
another place. Each run has a directory of its own, which it removes.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pytest

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # a fresh, private directory is made in it
_BYTES: Final = 4 * 2**30  # a run of all tests takes less than half of it
_OWN: Final = "t"
# users of servers pass through to their directories, and can list nothing on their way
PASSABLE: Final = 0o711


class Scratch:
    """The directory of this run, for the process that started it."""

    def __init__(self) -> None:
        self._made: Path | None = None

    def open(self, config: pytest.Config) -> None:
        """Let this process, and all that it starts, put temporary files into a fresh directory in memory."""
        if config.option.basetemp or "TMPDIR" in os.environ or not _is_roomy(_MEMORY):
            return
        self._made = Path(tempfile.mkdtemp(prefix="gw-", dir=_MEMORY))
        self._made.chmod(PASSABLE)
        os.environ["TMPDIR"] = str(self._made)
        tempfile.tempdir = None  # it is looked up again
        # short, so that the path of a socket in a `tmp_path` is not too long
        config.option.basetemp = self._made / _OWN

    def remove(self) -> None:
        """Remove it with what is left in it."""
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def make_passable(directory: Path) -> None:
    """Let the users of servers pass through to this directory, if it is one of the run's own."""
    top = Path(tempfile.gettempdir()) / _OWN
    if top in (directory, *directory.parents):
        directory.chmod(PASSABLE)
        if directory != top:
            make_passable(directory.parent)


def _is_roomy(place: Path) -> bool:
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    runs = not found.f_flag & os.ST_NOEXEC and os.access(place, os.W_OK | os.X_OK)
    return runs and found.f_bavail * found.f_frsize >= _BYTES
