"""A PostgreSQL for the sample, and in it an empty database for each test."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fix_state import do_without_fsync
from psycopg import sql
from sqlalchemy.engine import URL

from gateway.postgres_server import Lease, open_server


@pytest.fixture(scope="session")
def sample_server() -> Iterator[Lease]:
    # not below pytest's own directory: when root runs the tests, the server's user has to pass
    home = Path(tempfile.mkdtemp(prefix="sample-"))
    home.chmod(0o711)
    try:
        with open_server(home) as lease:
            do_without_fsync(lease)
            yield lease
    finally:
        shutil.rmtree(home)


@pytest.fixture
def sample_database(sample_server: Lease) -> Iterator[URL]:
    """A database of its own; what a test made outside of it, a login, the test drops itself."""
    name = f"clinic_{secrets.token_hex(6)}"
    address, password = sample_server.address, sample_server.superuser_password
    admin = address.url(user=sample_server.superuser, password=password, database="postgres")
    with psycopg.connect(plain(admin), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name))
        )
        yield admin.set(database=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def plain(url: URL) -> str:
    """As psycopg reads it, password and all."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
