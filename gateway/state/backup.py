"""Backup and restore of the state: one signed file with all tables.

A backup is a zip archive: a manifest of its content, one member for each table in PostgreSQL's COPY text
format, and a signature of the manifest under the audit key. Hashes in the manifest cover the members, so nobody
without the key can restore a state with fewer charges. A file is checked as a whole before anything of it
reaches a database. A restore is one transaction, checked before it is committed.
"""

import hashlib
import hmac
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from alembic.util import CommandError
from psycopg import sql
from psycopg.errors import DataError, InsufficientPrivilege, IntegrityError
from sqlalchemy import Connection, Engine, Table, select, text
from sqlalchemy.exc import ProgrammingError

from gateway.errors import Code, OperatorError
from gateway.state.anchor import GENESIS, Position, hold_state_alone, last_position
from gateway.state.connections import without_limits
from gateway.state.schema import current_revision, downgrade_on, upgrade_on
from gateway.state.tables import METADATA

_FORMAT: Final = 1
_MANIFEST, _SIGNATURE = "manifest.json", "manifest.mac"
_BLOCK: Final = 1 << 20
_LONGEST_MANIFEST: Final = 1 << 20
# exceptions of zipfile for a file that is damaged, encrypted or crafted
_UNREADABLE: Final = (
    *(OSError, KeyError, zipfile.BadZipFile, zlib.error),
    *(EOFError, RuntimeError, NotImplementedError, ValueError),
)


@dataclass(frozen=True)
class Member:
    """The rows of a table as text."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Backup:
    """A backup file with a valid signature, and with the members that were signed."""

    path: Path
    revision: str
    position: Position
    made_at: str
    tables: Mapping[str, Member]


def write_backup(engine: Engine, path: Path, secret: bytes, now: datetime) -> Backup:
    """Write one consistent snapshot to `path`, completely or not at all; gateways keep working meanwhile."""
    try:
        _require_free(path)
        fresh = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}")
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "w+b") as handle:
                with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
                    _write_members(engine, archive, secret, now)
                handle.flush()
                os.fsync(handle.fileno())
            # claims the name: unlike a hard link, every file system can do that
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        _make_durable(path.parent)
    except FileExistsError:
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` already exists", "choose a new file name"
        ) from None
    except OSError as error:
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            f"`{path}` cannot be written: {error.strerror}",
            "no partial file is left; choose another place",
        ) from None
    return open_backup(path, secret)


def open_backup(path: Path, secret: bytes) -> Backup:
    """Check the signature, and every member against what was signed."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        manifest = _short(archive, _MANIFEST)
        signature = _short(archive, _SIGNATURE)
        if not hmac.compare_digest(signature, _sign(manifest, secret)):
            raise OperatorError(
                Code.BACKUP_UNUSABLE,
                f"`{path}` was not written with this audit key, or was changed",
                "restore with the audit key that was used for the backup",
            )
        backup = _backup(path, json.loads(manifest))
        if sorted(archive.namelist()) != sorted([*backup.tables, _MANIFEST, _SIGNATURE]):
            raise _changed(path, "what it consists of")
        for name in backup.tables:
            for _ in _blocks(archive, backup, name):
                pass
    return backup


def load_backup(connection: Connection, backup: Backup) -> None:
    """Copy every table of the backup into the empty tables of its revision."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    with _reading(backup.path), zipfile.ZipFile(backup.path) as archive:
        for name in backup.tables:
            statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
            with driver.cursor().copy(statement) as copy:
                for block in _blocks(archive, backup, name):
                    copy.write(block)


def _backup(path: Path, said: dict[str, Any]) -> Backup:
    if said["format"] != _FORMAT:
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` has the unknown format {said['format']}"
        )
    tables = {name: Member(*member) for name, member in said["tables"].items()}
    position = Position(said["seq"], said["head"])
    return Backup(path, said["revision"], position, said["made_at"], tables)


def _short(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member that is read before its author is verified; its size is limited."""
    if archive.getinfo(name).file_size > _LONGEST_MANIFEST:
        raise ValueError(name)
    return archive.read(name)


def _blocks(archive: zipfile.ZipFile, backup: Backup, name: str) -> Iterator[bytes]:
    """The blocks of a member; the last one is returned only if the whole member is as signed."""
    expected = backup.tables[name]
    if archive.getinfo(name).file_size != expected.size:
        raise _changed(backup.path, f"table `{name}`")
    digest = hashlib.sha256()
    with archive.open(name) as member:
        held = b""
        while block := member.read(_BLOCK):
            yield held
            digest.update(block)
            held = block
    if digest.hexdigest() != expected.sha256:
        raise _changed(backup.path, f"table `{name}`")
    yield held


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        if not path.is_file():  # an endless member is not read to its end
            raise FileNotFoundError(path)
        yield
    except _UNREADABLE:
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` cannot be read as a backup", "check the path"
        ) from None


def _changed(path: Path, what: str) -> OperatorError:
    return OperatorError(
        Code.BACKUP_UNUSABLE,
        f"{what} of `{path}` was changed after the backup",
        "use another backup",
    )


def _require_free(path: Path) -> None:
    """Fail early if the name exists; a file that appears later is found when the name is claimed."""
    if path.exists():
        raise FileExistsError(path)


def _write_members(engine: Engine, archive: zipfile.ZipFile, secret: bytes, now: datetime) -> None:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        without_limits(connection)
        position = last_position(connection)
        manifest = {
            "format": _FORMAT,
            "revision": current_revision(connection),
            "seq": position.seq,
            "head": position.mac,
            "made_at": now.isoformat(),
            "tables": {
                table.name: _write_table(connection, archive, table)
                for table in METADATA.sorted_tables
            },
        }
    said = json.dumps(manifest, indent=1).encode()
    archive.writestr(_MANIFEST, said)
    archive.writestr(_SIGNATURE, _sign(said, secret))


def _write_table(connection: Connection, archive: zipfile.ZipFile, table: Table) -> tuple[str, int]:
    """Write one table in the order of its key; predecessors come first, as the triggers require."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    ordered = select(table).order_by(*table.primary_key.columns).compile(connection)
    statement = sql.SQL("COPY ({}) TO STDOUT").format(sql.SQL(str(ordered)))
    digest, size = hashlib.sha256(), 0
    with (
        archive.open(table.name, "w", force_zip64=True) as member,
        driver.cursor().copy(statement) as copy,
    ):
        for block in copy:
            digest.update(block)
            size += len(block)
            member.write(block)
    return digest.hexdigest(), size


def _make_durable(directory: Path) -> None:
    """Make the new name survive a power cut."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sign(manifest: bytes, secret: bytes) -> bytes:
    key = hmac.digest(secret, b"gateway backup v1", hashlib.sha256)
    return hmac.digest(key, manifest, hashlib.sha256).hex().encode()


_SLOW: Final = "SET LOCAL statement_timeout = 0"


def replace_state(
    owner: Engine,
    backup: Backup,
    *,
    application_login: str,
    even_if_not_empty: bool,
    check: Callable[[Connection], None],
) -> None:
    """Load `backup` as the owner while no gateway uses the state; `check` may still refuse the loaded state."""
    with owner.connect() as guard:
        hold_state_alone(guard)
        with owner.begin() as connection:
            connection.execute(text(_SLOW))
            if last_position(connection) != GENESIS and not even_if_not_empty:
                raise OperatorError(
                    Code.BACKUP_UNUSABLE,
                    "the state is not empty",
                    "add --replace to replace it by the backup; spending that the backup lacks is charged",
                )
            _make_empty(connection, backup, application_login)
            _load(connection, backup)
            upgrade_on(connection, application_login=application_login)
            check(connection)


def _load(connection: Connection, backup: Backup) -> None:
    try:
        load_backup(connection, backup)
    except (DataError, IntegrityError) as error:
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            f"the state in `{backup.path}` was forged before it was backed up: {error.diag.message_primary}",
            "use an older backup",
        ) from None


def _make_empty(connection: Connection, backup: Backup, application_login: str) -> None:
    """Create the empty tables of the schema that the backup was written from."""
    try:
        downgrade_on(connection, "base")
        upgrade_on(connection, application_login=application_login, revision=backup.revision)
    except CommandError:
        raise OperatorError(
            Code.STATE_VERSION,
            f"the backup is of revision `{backup.revision}`, which this gateway does not know",
            "restore it with the newer gateway that wrote it",
        ) from None
    except ProgrammingError as error:
        if not isinstance(error.orig, InsufficientPrivilege):
            raise
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            "this login may not replace the state",
            "let GATEWAY_STATE_OWNER_URL name the login that owns it",
        ) from None
