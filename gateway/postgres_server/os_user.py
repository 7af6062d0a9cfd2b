"""OS user of the server: the gateway's own, or an unprivileged one if the gateway is root.

PostgreSQL refuses to run as root. The uid it gets instead belongs to nobody else, so no other process can read
the data or signal the server.

INVARIANT: a program started here inherits no variable of the gateway's environment, which may contain
passwords.
"""

import errno
import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from gateway.errors import Code, OperatorError

_NAMED = "gateway"
_UNNAMED = range(61_987, 62_087)
_NAMED_APART = "gateway-twin"
_UNNAMED_APART = range(62_087, 62_187)
_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


@dataclass(frozen=True)
class OsUser:
    """A uid and gid; `switch` says whether the child process has to change to it."""

    uid: int
    gid: int
    switch: bool

    @classmethod
    def own(cls) -> Self:
        return cls(os.geteuid(), os.getegid(), switch=False)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        output: tuple[int, int] = (subprocess.PIPE, subprocess.PIPE),
        inherited: Sequence[int] = (),
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this user, out of reach of the terminal's Ctrl-C.

        `output` is for stdout and stderr; a server that outlives the gateway must not get a pipe.
        """
        try:
            return subprocess.run(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=output[0],
                stderr=output[1],
                text=True,
                errors="replace",
                check=False,
                timeout=timeout,
                cwd="/",
                env={**_ENVIRONMENT, **(environment or {})},
                pass_fds=inherited,
                start_new_session=True,
                umask=0o077,
                user=self.uid if self.switch else None,
                group=self.gid if self.switch else None,
                extra_groups=() if self.switch else None,
            )
        except subprocess.TimeoutExpired:
            raise OperatorError(
                Code.EMBEDDED_SERVER, f"`{argv[0]}` did not end within {timeout:g} s"
            ) from None
        except OSError as error:
            raise self._cannot_run(argv[0], error) from error

    def may_use(self, path: Path) -> bool:
        """True if this user can enter the directory or run the program.

        The system is asked; the mode alone does not decide, because access lists and mounts count too.
        """
        if not self.switch:
            return os.access(path, os.X_OK)
        return self.run(["/bin/sh", "-c", '[ -x "$1" ]', "sh", path]).returncode == 0

    def give(self, path: Path) -> None:
        """Change the owner of a file or directory to this user."""
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def share(self, directory: Path) -> None:
        """Let this user's group, and nobody else, pass through a directory of the gateway's."""
        if self.switch:
            os.chown(directory, -1, self.gid)
            directory.chmod(0o710)

    def give_tree(self, top: Path) -> None:
        self.give(top)
        for directory, below, files in os.walk(top):
            for name in (*below, *files):
                self.give(Path(directory, name))

    def _cannot_run(self, program: str | Path, error: OSError) -> OperatorError:
        if self.switch and error.errno in {errno.EPERM, errno.EINVAL}:
            return OperatorError(
                Code.EMBEDDED_SERVER,
                f"PostgreSQL cannot be run as uid {self.uid}: {error.strerror}",
                "PostgreSQL refuses to run as root: start the gateway as an ordinary user, "
                "or allow it to change its uid (the capabilities SETUID and SETGID)",
            )
        return OperatorError(
            Code.EMBEDDED_SERVER,
            f"`{program}` cannot be run: {error.strerror}",
            "GATEWAY_POSTGRES_BIN may name the programs' directory of a PostgreSQL 18",
        )


def server_account(data: Path) -> OsUser:
    """The user that runs the server of a data directory, which need not exist yet."""
    if os.geteuid() != 0:
        return OsUser.own()
    if data.exists() and (found := data.stat()).st_uid != 0:
        return OsUser(found.st_uid, found.st_gid, switch=True)
    try:
        named = pwd.getpwnam(_NAMED)
    except KeyError:
        uid = next(uid for uid in _UNNAMED if not _has_entry(uid))
        return OsUser(uid, uid, switch=True)
    return OsUser(named.pw_uid, named.pw_gid, switch=True)


def separate_account(others: OsUser) -> OsUser:
    """A user for a server that must not be able to touch the files of `others`.

    Only root can separate two servers in this way; an ordinary user runs both as itself.
    """
    if os.geteuid() != 0:
        return OsUser.own()
    with suppress(KeyError):
        named = pwd.getpwnam(_NAMED_APART)
        if named.pw_uid not in {0, others.uid} and named.pw_gid != others.gid:
            return OsUser(named.pw_uid, named.pw_gid, switch=True)
    taken = {others.uid, others.gid}
    uid = next(uid for uid in _UNNAMED_APART if uid not in taken and not _has_entry(uid))
    return OsUser(uid, uid, switch=True)


def initdb_account(account: OsUser) -> OsUser:
    """The user that runs initdb, which requires a user name: `account`, or `nobody` in its place.

    `nobody` keeps the group of `account`: only with that group can it reach the new directory, or be traced, so
    other processes of `nobody` can do neither.
    """
    if _has_entry(account.uid):
        return account
    if account.switch:
        try:
            return replace(account, uid=pwd.getpwnam("nobody").pw_uid)
        except KeyError:
            raise OperatorError(
                Code.EMBEDDED_SERVER,
                "there is no OS account to create the database with",
                f"add an account named `{_NAMED}` to /etc/passwd",
            ) from None
    raise OperatorError(
        Code.EMBEDDED_SERVER,
        f"the OS user with uid {account.uid} has no entry in /etc/passwd, which initdb needs",
        f"add the entry, or start the gateway as a user that has one; for instance "
        f"gateway:x:{account.uid}:{account.gid}::/:/usr/sbin/nologin",
    )


def _has_entry(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
