"""Opens the state with the logins of owner and application.

The embedded state has two log-ins: an owner that migrates, and the application, which may not. Both get random
passwords that are stored beside the state, readable by the gateway's own OS user alone. Creating them again is
harmless, so an interrupted start repairs itself.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import DBAPIError

from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.events import Emit, ignore_event
from gateway.postgres_server import Lease, open_server
from gateway.state.anchor import Anchor
from gateway.state.connections import ConnectionLines, engine_for
from gateway.state.journal import Journal
from gateway.state.schema import require_head, upgrade

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


@dataclass(frozen=True)
class State:
    """The open state: read through the engine, write through the journal."""

    engine: Engine
    journal: Journal
    anchor: Anchor
    lines: ConnectionLines


@contextmanager
def reach_state(settings: Settings) -> Iterator[StateUrls]:
    """The URLs of the state; an embedded server runs at least until this context ends."""
    if settings.state_url is not None:
        application = make_url(settings.state_url.get_secret_value())
        owner = settings.state_owner_url
        login = application.username or ""
        yield StateUrls(
            application, None if owner is None else make_url(owner.get_secret_value()), login
        )
        return
    with open_server(settings.home, settings.postgres_bin) as lease:
        yield _embedded(lease, settings)


@contextmanager
def open_state(
    settings: Settings, audit_secret: bytes, emit: Emit = ignore_event
) -> Iterator[State]:
    """The state, up to date and not behind its anchor, or one clear `OperatorError`."""
    with ExitStack() as stack:
        urls = stack.enter_context(reach_state(settings))
        if settings.state_url is None:
            upgrade_state(urls)
        stack.enter_context(translate_connection_errors(urls.application))
        lines = ConnectionLines()
        engine = lines.watch(engine_for(urls.application))
        stack.callback(engine.dispose)
        with engine.connect() as connection:
            require_head(connection)
        anchor = open_anchor(settings, audit_secret)
        unpooled = lines.watch(engine_for(urls.application, pooled=False))
        journal = Journal(unpooled, anchor, emit)
        stack.callback(journal.close)
        with translate_anchor_errors(anchor):
            journal.open()
        yield State(engine, journal, anchor, lines)


def open_anchor(settings: Settings, audit_secret: bytes) -> Anchor:
    return Anchor(settings.audit_anchor or settings.home / "anchor", audit_secret)


def upgrade_state(urls: StateUrls) -> None:
    """Bring the schema to this version as the owner; the application's login cannot."""
    owner = engine_for(urls.owner or urls.application, name="gateway db", statement_timeout=False)
    try:
        with translate_connection_errors(urls.owner or urls.application):
            upgrade(owner, application_login=urls.login)
    finally:
        owner.dispose()


@contextmanager
def translate_connection_errors(url: URL) -> Iterator[None]:
    """Report which database cannot be reached, without its password."""
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not _is_about_access(cause):
            raise
        where = f"{url.host or url.query.get('host', 'localhost')}/{url.database or ''}"
        raise OperatorError(
            Code.STATE_UNREACHABLE,
            f"`{where}` as `{url.username}`: {' '.join(str(cause).split()) or type(cause).__name__}",
            "check GATEWAY_STATE_URL and that PostgreSQL runs",
        ) from None


@contextmanager
def translate_anchor_errors(anchor: Anchor) -> Iterator[None]:
    """Report which anchor cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise OperatorError(
            Code.ANCHOR_UNAVAILABLE,
            f"`{anchor.path}`: {error.strerror}",
            "GATEWAY_AUDIT_ANCHOR must name a file in a directory that the gateway may write to",
        ) from None


def _is_about_access(cause: BaseException | None) -> bool:
    """True if the operator can correct this; otherwise it is an internal error."""
    if isinstance(cause, psycopg.OperationalError | psycopg.errors.InsufficientPrivilege):
        return True
    return isinstance(cause, psycopg.ProgrammingError) and "connection option" in str(cause)


def _embedded(lease: Lease, settings: Settings) -> StateUrls:
    return embedded_urls(lease, settings.home)
