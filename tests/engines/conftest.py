"""The table of extreme values, in a schema of its own of PostgreSQL and in DuckDB."""

from collections.abc import Iterator

import pytest
from engines.extremes import Databases, fill
from sqlalchemy import StaticPool, create_engine, text

from gateway.postgres_server import Lease


@pytest.fixture(scope="module")
def filled(sample_server: Lease) -> Iterator[Databases]:
    password = sample_server.superuser_password
    url = sample_server.address.url(
        user=sample_server.superuser, password=password, database="postgres"
    )
    postgresql = create_engine(url.set(drivername="postgresql+psycopg"))
    duckdb = create_engine("duckdb:///:memory:", poolclass=StaticPool)
    with postgresql.begin() as connection:
        # a schema of its own: the server is shared by the tests of a process
        connection.execute(text("DROP SCHEMA IF EXISTS extremes CASCADE"))
        connection.execute(text("CREATE SCHEMA extremes"))
    placed = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"options": "-c search_path=extremes -c timezone=Asia/Kolkata"},
    )
    fill(placed, "postgresql")
    fill(duckdb, "duckdb")
    with placed.connect() as one, duckdb.connect() as other:
        yield Databases(one, other)
    with postgresql.begin() as connection:
        connection.execute(text("DROP SCHEMA extremes CASCADE"))
    for engine in (postgresql, placed, duckdb):
        engine.dispose()


@pytest.fixture
def databases(filled: Databases) -> Iterator[Databases]:
    """A test that fails leaves no broken transaction to the next one."""
    yield filled
    filled.postgresql.rollback()
    filled.duckdb.rollback()
