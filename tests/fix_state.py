"""States to work on: one embedded server for each test process, a database of its own for each test."""

import functools
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr
from scratch import PASSABLE
from sqlalchemy import URL

from gateway.config import Settings
from gateway.postgres_server import Lease, open_server
from gateway.state.open import (
    APPLICATION,
    OWNER,
    State,
    StateUrls,
    embedded_urls,
    open_state,
    upgrade_state,
)
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail

AUDIT_SECRET = b"the audit key of the tests, 32 b"


@dataclass(frozen=True)
class StateServer:
    """A running PostgreSQL with a migrated template database and an empty one to migrate."""

    lease: Lease
    urls: StateUrls
    _kept: list[psycopg.Connection] = field(default_factory=list, repr=False)

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[StateUrls]:
        """A fresh database, dropped afterwards."""
        name = f"test_{secrets.token_hex(6)}"
        template = str(self.urls.application.database) if migrated else "template0"
        database = sql.Identifier(name)
        self._run(
            # copied as files: half the work of writing every page to the log first
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY file_copy").format(
                database, sql.Identifier(template), sql.Identifier(OWNER)
            )
        )
        try:
            assert self.urls.owner is not None
            yield StateUrls(
                self.urls.application.set(database=name), self.urls.owner.set(database=name)
            )
        finally:
            self._run(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))

    def _run(self, statement: sql.Composed) -> None:
        """Run it on the one connection that is kept: a new one costs the server as much as a dozen commits."""
        with suppress(psycopg.OperationalError):  # a test may have ended it
            if self._kept:
                self._kept[0].execute("SELECT 1")
        if not self._kept or self._kept[0].closed:
            self._kept[:] = [psycopg.connect(self._superuser_dsn("postgres"), autocommit=True)]
        self._kept[0].execute(statement)

    def close(self) -> None:
        """Close the connection that is kept."""
        for one in self._kept:
            one.close()
        self._kept.clear()

    @contextmanager
    def superuser(self, database: str = "postgres") -> Iterator[psycopg.Connection]:
        with psycopg.connect(self._superuser_dsn(database), autocommit=True) as connection:
            yield connection

    def _superuser_dsn(self, database: str) -> str:
        password = self.lease.superuser_password
        return dsn_of(
            self.lease.address.url(user=self.lease.superuser, password=password, database=database)
        )


def dsn_of(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def settings_on(urls: StateUrls, home: Path, **options: object) -> Settings:
    """Settings of a gateway whose state is this database."""
    own = {
        "home": home,
        "state_url": SecretStr(urls.application.render_as_string(hide_password=False)),
        "state_owner_url": None
        if urls.owner is None
        else SecretStr(urls.owner.render_as_string(hide_password=False)),
        **options,
    }
    is_told = any(name.upper().startswith("GATEWAY_") for name in os.environ)
    if is_told or Path(".env").exists() or not all(map(_is_read, own.values())):
        return Settings(**own)  # type: ignore[arg-type]  # pydantic checks them
    return _defaults().model_copy(update=own)


def _is_read(value: object) -> bool:
    """Whether pydantic would take the value as it is."""
    is_path = isinstance(value, Path) and value.is_absolute()
    return value is None or is_path or isinstance(value, SecretStr)


@functools.cache
def _defaults() -> Settings:
    """Settings of which nothing was said: to read them for each test takes as long as to open a state."""
    return Settings()


@contextmanager
def scratch_server(home: Path) -> Iterator[Lease]:
    """An embedded server that is stopped and removed with everything it wrote."""
    lease = open_server(home)
    place = lease.data_dir.parent
    try:
        yield lease
    finally:
        lease.close()
        shutil.rmtree(place)


def do_without_fsync(lease: Lease) -> None:
    """Let a server of tests not wait for disks: no test of this process outlives its operating system.

    Nor does it vacuum: its databases live for a test, and there are hundreds.
    """
    with (lease.data_dir / "postgresql.auto.conf").open("a") as settings:
        settings.write("fsync = off\nfull_page_writes = off\nautovacuum = off\n")
    url = lease.address.url(
        user=lease.superuser, password=lease.superuser_password, database="postgres"
    )
    with psycopg.connect(dsn_of(url), autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def state_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StateServer]:
    home = tmp_path_factory.mktemp("state-server")
    home.chmod(PASSABLE)
    with scratch_server(home) as lease:
        do_without_fsync(lease)
        urls = embedded_urls(lease, home)
        upgrade_state(urls)
        with closing(StateServer(lease, urls)) as server:
            yield server


@pytest.fixture
def state_urls(state_server: StateServer) -> Iterator[StateUrls]:
    """A migrated database with nothing in it."""
    with state_server.database() as urls:
        yield urls


@pytest.fixture
def state_settings(state_urls: StateUrls, tmp_path: Path) -> Settings:
    return settings_on(state_urls, tmp_path)


@pytest.fixture
def state(state_settings: Settings) -> Iterator[State]:
    """An open state on a fresh database."""
    with ExitStack() as stack:
        yield stack.enter_context(open_state(state_settings, AUDIT_SECRET))


@pytest.fixture
def trail() -> Trail:
    return Trail(ChainKey(AUDIT_SECRET))


__all__ = ["APPLICATION", "AUDIT_SECRET", "StateServer", "dsn_of", "settings_on"]
