"""Log-ins of the embedded state: an owner that migrates, and the application, which may not.

Both get random passwords that are stored beside the state, readable by the gateway's own OS user alone.
Creating them again is harmless, so an interrupted start repairs itself.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import URL

from gateway.postgres_server import Lease

OWNER: Final = "gateway_owner"
APPLICATION: Final = "gateway_app"
_DATABASE: Final = "gateway"
_LOGINS_LOCK: Final = 0x6761_7465_0004


@dataclass(frozen=True)
class StateUrls:
    """URLs of the state for each log-in; the application may not know the owner's."""

    application: URL
    owner: URL | None
    login: str = field(default=APPLICATION)


def embedded_urls(lease: Lease, home: Path) -> StateUrls:
    """Make sure both logins and the database exist on the embedded server."""
    passwords = _passwords(home / "state" / "logins.json")
    bootstrap = lease.address.url(
        user=lease.superuser, password=lease.superuser_password, database="postgres"
    )
    dsn = bootstrap.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOGINS_LOCK,))
        for login, password in passwords.items():
            _make_login(connection, login, password)
        _make_database(connection)
    owner, application = (
        lease.address.url(user=login, password=SecretStr(passwords[login]), database=_DATABASE)
        for login in (OWNER, APPLICATION)
    )
    return StateUrls(application, owner)


def _make_login(connection: psycopg.Connection, login: str, password: str) -> None:
    verifier = connection.pgconn.encrypt_password(
        password.encode(), login.encode(), b"scram-sha-256"
    ).decode()
    known = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (login,)).fetchone()
    verb = sql.SQL("CREATE" if known is None else "ALTER")
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}").format(
            verb, sql.Identifier(login), sql.Literal(verifier)
        )
    )


def _make_database(connection: psycopg.Connection) -> None:
    known = connection.execute(
        "SELECT FROM pg_database WHERE datname = %s", (_DATABASE,)
    ).fetchone()
    database = sql.Identifier(_DATABASE)
    if known is None:
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(database, sql.Identifier(OWNER))
        )
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    connection.execute(
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, sql.Identifier(APPLICATION))
    )


def _passwords(path: Path) -> dict[str, str]:
    """The two passwords, created and stored before they are needed."""
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as handle:
            json.dump({login: secrets.token_urlsafe(32) for login in (OWNER, APPLICATION)}, handle)
            handle.flush()
            os.fsync(handle.fileno())
        with suppress(FileExistsError):  # another gateway starts too: its passwords count
            path.hardlink_to(fresh)
        fresh.unlink()
    passwords: dict[str, str] = json.loads(path.read_text())
    return passwords
