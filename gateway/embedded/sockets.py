"""The directory of the server's socket: private, and short enough for the kernel.

A socket's path has at most 107 bytes, and some characters have a meaning of their own in a
connection string; a home may be longer and stranger than that.
"""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from gateway.embedded.account import Account
from gateway.embedded.address import Address
from gateway.embedded.places import Place
from gateway.errors import Code, OperatorError

LONGEST = 93
_PREFIX = "gateway-"
_PLAIN = re.compile(r"/[A-Za-z0-9_./+=~-]*")


def make_socket_dir(place: Place, account: Account) -> Path:
    """A directory of mode 0700 that belongs to the server's user."""
    if _fits(place.run):
        place.run.mkdir(mode=0o700, exist_ok=True)
        account.give(place.run)
        return place.run
    for above in dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))):  # noqa: S108  # mkdtemp makes a fresh, private directory in it
        if above.is_dir() and _fits(above / f"{_PREFIX}12345678") and account.may_use(above):
            made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
            account.give(made)
            return made
    raise OperatorError(
        Code.HOME_UNUSABLE,
        f"the path `{place.run}` is too long or too strange for a socket, and there is no other place",
        f"choose a GATEWAY_HOME with a path of letters and digits, below {LONGEST - 20} bytes",
    )


def clear_socket_dir(place: Place, account: Account, socket_dir: Path | None) -> None:
    """Remove what a server that is gone left there: its lock file may stop the next one.

    Of a directory elsewhere only what can be ours is touched, and nothing when it is not.
    """
    shutil.rmtree(place.run, ignore_errors=True)
    if socket_dir is None or not socket_dir.name.startswith(_PREFIX):
        return
    with suppress(OSError):  # the system's own cleaning of /tmp may have been faster
        if socket_dir.lstat().st_uid == account.uid:
            socket = Address(socket_dir).socket
            socket.unlink(missing_ok=True)
            Path(f"{socket}.lock").unlink(missing_ok=True)
            socket_dir.rmdir()


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST and _PLAIN.fullmatch(str(path)) is not None
