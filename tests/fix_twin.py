"""A twin that the tests of a process share, and sessions of analysts on it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from gateway.twin import (
    ForeignKey,
    Twin,
    TwinRefused,
    TwinSession,
    VisibleColumn,
    VisibleTable,
    VisibleTables,
    open_twin,
)
from gateway.twin.server import admin_connection
from gateway.twin.supervisor import Life

PATIENTS = VisibleTable(
    "patients",
    (
        VisibleColumn("patient_id", "bigint", not_null=True),
        VisibleColumn("region", "character varying(12)", comment="where they live"),
        VisibleColumn("income", "numeric(10,2)"),
        VisibleColumn("code", "character(3)"),
    ),
    primary_key=("patient_id",),
    comment="everyone who was here; it's a table",
)
VISITS = VisibleTable(
    "visits",
    (
        VisibleColumn("visit_id", "bigint"),
        VisibleColumn("patient_id", "bigint", not_null=True),
        VisibleColumn("Cost", "numeric"),
        VisibleColumn("seen", "timestamp(3) with time zone"),
    ),
    primary_key=("visit_id",),
    foreign_keys=(ForeignKey(("patient_id",), "public", "patients", ("patient_id",)),),
)
CLINIC: VisibleTables = frozenset({PATIENTS, VISITS})
# computes for hours in little memory, and heeds a cancel
ENDLESS = (
    "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d "
    "WHERE a.attname || b.attname || c.attname || d.attname = 'x'"
)
OTHER: VisibleTables = frozenset({VisibleTable("secrets", (VisibleColumn("secret_id", "uuid"),))})


@pytest.fixture(scope="session")
def twin() -> Iterator[Twin]:
    with a_twin_home() as home, open_twin(home, limit_s=20) as twin:
        yield twin


@pytest.fixture
def twin_home() -> Iterator[Path]:
    with a_twin_home() as home:
        yield home


@pytest.fixture
def analyst(twin: Twin) -> Iterator[TwinSession]:
    """Alice, who sees the clinic."""
    with twin.session("alice", CLINIC) as session:
        yield session


@pytest.fixture
def attacker(twin: Twin) -> Iterator[TwinSession]:
    """Alice again, who has switched off what a session can switch off."""
    with twin.session("alice", CLINIC) as session:
        session.run("SET default_transaction_read_only = off")
        session.run("SET statement_timeout = 0")
        yield session


@pytest.fixture
def other(twin: Twin) -> Iterator[TwinSession]:
    """Mallory, who sees something else."""
    with twin.session("mallory", OTHER) as session:
        yield session


@contextmanager
def a_twin_home() -> Iterator[Path]:
    """A home that the twin's OS user can pass through; nothing of the twin is left there."""
    top = Path(tempfile.mkdtemp(prefix="gw-test-"))
    top.chmod(0o711)
    try:
        home = top / "home"
        home.mkdir()
        home.chmod(0o711)
        yield home
        left = {path.name for path in (home / "twin").iterdir()} if (home / "twin").exists() else {}
        assert set(left) <= {"start.lock"}
    finally:
        shutil.rmtree(top)


def state(*sqlstates: str) -> Callable[[TwinRefused], bool]:
    """For `pytest.raises(TwinRefused, check=…)`: the refusal has one of these SQLSTATEs."""
    return lambda refused: refused.sqlstate in sqlstates


def life_of(twin: Twin) -> Life:
    return twin._supervisor.life()


@contextmanager
def as_gateway(twin: Twin, database: str = "postgres") -> Iterator[psycopg.Connection]:
    """The gateway's own way in."""
    with admin_connection(life_of(twin).server, database) as connection:
        yield connection
