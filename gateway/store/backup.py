"""Write the whole state to one signed file, and read such a file back into an empty state.

A backup is a zip archive: a manifest that says what is in it, one member for each table in
PostgreSQL's COPY text format, and a signature of the manifest under the audit key. Hashes in the
manifest cover the members, so nobody without the key can give back a state with fewer charges.
"""

import hashlib
import hmac
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine, Table, select

from gateway.errors import Code, OperatorError
from gateway.store.migrate import current_revision
from gateway.store.not_behind import last_position
from gateway.store.position import Position
from gateway.store.tables import METADATA

_FORMAT: Final = 1
_MANIFEST, _SIGNATURE = "manifest.json", "manifest.mac"
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class Backup:
    """A backup file whose signature holds."""

    path: Path
    revision: str
    position: Position
    made_at: str
    tables: Mapping[str, str]


def write_backup(engine: Engine, path: Path, secret: bytes, now: datetime) -> Backup:
    """Write one consistent snapshot to `path`, whole or not at all; gateways go on meanwhile."""
    if path.exists():
        raise OperatorError(Code.BACKUP_UNUSABLE, f"`{path}` exists already", "name a new file")
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w+b") as handle:
            with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
                _write_members(engine, archive, secret, now)
            handle.flush()
            os.fsync(handle.fileno())
        fresh.rename(path)
    except OSError as error:
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` cannot be written: {error.strerror}"
        ) from None
    finally:
        fresh.unlink(missing_ok=True)
    return open_backup(path, secret)


def open_backup(path: Path, secret: bytes) -> Backup:
    """Check the signature and read the manifest."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = archive.read(_MANIFEST)
            signature = archive.read(_SIGNATURE)
    except (OSError, KeyError, zipfile.BadZipFile):
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` cannot be read as a backup", "check the path"
        ) from None
    if not hmac.compare_digest(signature, _sign(manifest, secret)):
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            f"`{path}` was not written with this audit key, or was changed",
            "restore with the audit key the backup was made with",
        )
    said: dict[str, Any] = json.loads(manifest)
    if said["format"] != _FORMAT:
        raise OperatorError(
            Code.BACKUP_UNUSABLE, f"`{path}` has the unknown format {said['format']}"
        )
    position = Position(said["seq"], said["head"])
    return Backup(path, said["revision"], position, said["made_at"], said["tables"])


def load_backup(connection: Connection, backup: Backup) -> None:
    """Copy every table of the backup into the empty tables of its revision."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    with zipfile.ZipFile(backup.path) as archive:
        for name, expected in backup.tables.items():
            digest = hashlib.sha256()
            statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
            with archive.open(name) as member, driver.cursor().copy(statement) as copy:
                while block := member.read(_BLOCK):
                    digest.update(block)
                    copy.write(block)
            if digest.hexdigest() != expected:
                raise OperatorError(
                    Code.BACKUP_UNUSABLE, f"table `{name}` in `{backup.path}` was changed"
                )


def _write_members(engine: Engine, archive: zipfile.ZipFile, secret: bytes, now: datetime) -> None:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
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
    text = json.dumps(manifest, indent=1).encode()
    archive.writestr(_MANIFEST, text)
    archive.writestr(_SIGNATURE, _sign(text, secret))


def _write_table(connection: Connection, archive: zipfile.ZipFile, table: Table) -> str:
    """Write one table in the order of its key; predecessors come first, as the triggers want."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    ordered = select(table).order_by(*table.primary_key.columns).compile(connection)
    statement = sql.SQL("COPY ({}) TO STDOUT").format(sql.SQL(str(ordered)))
    digest = hashlib.sha256()
    with archive.open(table.name, "w") as member, driver.cursor().copy(statement) as copy:
        for block in copy:
            digest.update(block)
            member.write(block)
    return digest.hexdigest()


def _sign(manifest: bytes, secret: bytes) -> bytes:
    key = hmac.digest(secret, b"gateway backup v1", hashlib.sha256)
    return hmac.digest(key, manifest, hashlib.sha256).hex().encode()
