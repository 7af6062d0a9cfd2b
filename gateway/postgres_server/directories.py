"""Directories of an embedded server: the home, the cluster, and the socket.

The cluster is at `<home>/state/postgres`. If the gateway is root and the server's OS user cannot pass through
the home, it is below `/var/lib/gateway/homes`, and `<home>/state/location` has its path. The socket's directory
is private, and its path is short: a socket's path has at most 107 bytes, and some characters have a meaning in
a connection string, while a home may be longer and contain any character.

INVARIANT: a server directory belongs to one home, and a home that names one never gets another. A missing
cluster is an error: a new, empty one would forget what was spent.
"""

import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy.engine import URL

from gateway.errors import Code, OperatorError
from gateway.postgres_server.files import make_directory, write_durably
from gateway.postgres_server.os_user import OsUser

SYSTEM = Path("/var/lib/gateway")


@dataclass(frozen=True)
class Home:
    """The directory that the operator named; these files belong to the gateway's own OS user."""

    path: Path

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def start_lock(self) -> Path:
        return self.state / "start.lock"

    @property
    def lease_lock(self) -> Path:
        return self.state / "lease.lock"

    @property
    def superuser(self) -> Path:
        return self.state / "superuser"

    @property
    def location(self) -> Path:
        return self.state / "location"


@dataclass(frozen=True)
class ServerDirectory:
    """A server's directory. The gateway owns it; the server owns `data` and `run` and nothing above them."""

    path: Path

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    @property
    def configuration(self) -> Path:
        return self.path / "postgresql.conf"

    @property
    def hba(self) -> Path:
        return self.path / "pg_hba.conf"

    @property
    def server_lock(self) -> Path:
        return self.path / "server.lock"

    @property
    def owner(self) -> Path:
        """The note that names the home of a directory outside of it."""
        return self.path / "home"


def open_home(path: Path) -> Home:
    home = Home(path.absolute())
    make_directory(home.state, _open_mode())
    return home


def find_directory(home: Home) -> ServerDirectory:
    """The directory of this home's cluster, existing or not."""
    if not home.location.exists():
        return ServerDirectory(home.state / "postgres")
    place = ServerDirectory(Path(_said(home.location)))
    if not place.path.is_dir():
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"the database `{place.path}`, named in `{home.location}`, is gone",
            "bring it back from a backup; a new, empty state would forget the budget that was spent",
        )
    whose = _said(place.owner)
    if whose != str(home.path):
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"the database `{place.path}`, named in `{home.location}`, belongs to the home `{whose}`",
            f"if that home was moved here, write the new path into `{place.owner}`",
        )
    return place


def prepare_directory(home: Home, place: ServerDirectory, account: OsUser) -> ServerDirectory:
    """Make sure that the directory exists and the server can reach it; under the start lock."""
    if place.data.exists() or home.location.exists():
        if not account.may_use(place.path):
            raise OperatorError(
                Code.HOME_UNUSABLE,
                f"the database `{place.path}` cannot be reached by its OS user, uid {account.uid}",
                "let others pass through the directories above it (chmod o+x)",
            )
        return place
    if account.may_use(home.state):
        make_directory(place.path, _open_mode())
        return place
    return _far_from_home(home, account)


def _far_from_home(home: Home, account: OsUser) -> ServerDirectory:
    place = ServerDirectory(SYSTEM / "homes" / secrets.token_hex(8))
    make_directory(place.path, _open_mode())
    if not account.may_use(place.path):
        place.path.rmdir()
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"uid {account.uid}, as which PostgreSQL runs, can reach neither `{home.path}` nor `{SYSTEM}`",
            "let others pass through the directories above one of them (chmod o+x)",
        )
    write_durably(place.owner, f"{home.path}\n")
    write_durably(home.location, f"{place.path}\n")
    return place


def _said(note: Path) -> str:
    return os.fsdecode(note.read_bytes()).removesuffix("\n")


def _open_mode() -> int:
    """The mode that lets the server's user pass through, if the gateway runs as root; it can list nothing on
    its way.
    """
    return 0o711 if os.geteuid() == 0 else 0o700


PORT = 5432  # part of the socket's file name alone: no TCP port is ever opened


@dataclass(frozen=True)
class Address:
    socket_dir: Path
    port: int = PORT

    @property
    def socket(self) -> Path:
        return self.socket_dir / f".s.PGSQL.{self.port}"

    def url(self, *, user: str, password: SecretStr, database: str) -> URL:
        """A URL for SQLAlchemy; its repr hides the password."""
        return URL.create(
            "postgresql+psycopg",
            username=user,
            password=password.get_secret_value(),
            port=self.port,
            database=database,
            query={"host": str(self.socket_dir)},
        )


LONGEST = 93
_PREFIX = "gateway-"
_PLAIN = re.compile(r"/[A-Za-z0-9_./+=~-]*")


def make_socket_dir(place: ServerDirectory, account: OsUser) -> Path:
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


def clear_socket_dir(place: ServerDirectory, account: OsUser, socket_dir: Path | None) -> None:
    """Remove the files of a server that has ended: its lock file may stop the next one.

    In a directory elsewhere, only the gateway's own files are touched.
    """
    shutil.rmtree(place.run, ignore_errors=True)
    if socket_dir is None or not socket_dir.name.startswith(_PREFIX):
        return
    with suppress(OSError):  # the system may have cleaned /tmp already
        if socket_dir.lstat().st_uid == account.uid:
            socket = Address(socket_dir).socket
            socket.unlink(missing_ok=True)
            Path(f"{socket}.lock").unlink(missing_ok=True)
            socket_dir.rmdir()


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST and _PLAIN.fullmatch(str(path)) is not None
