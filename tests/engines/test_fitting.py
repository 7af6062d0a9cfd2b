"""Policies are held against the catalogs of real databases; no row is read."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from fix_policy import BASE, changed, read
from fix_sample import plain
from sqlalchemy import URL, Connection, text
from sqlalchemy.exc import DBAPIError

from gateway.engines.connect import reading_source
from gateway.engines.described import Described, describe
from gateway.engines.fitting import misfits, proofs
from gateway.errors import Code, OperatorError
from gateway.policy.rules import Policy

SCHEMA = """
CREATE TABLE regions (region text PRIMARY KEY);
CREATE TABLE patients (patient_id bigint PRIMARY KEY, region text NOT NULL, birth_year integer,
    income numeric, weight double precision);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients,
    cost numeric(8,2), visit_date date NOT NULL, UNIQUE (patient_id, visit_date));
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read(BASE).accepted


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[Connection]:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCHEMA)
    with reading_source(URL.create("duckdb", database=str(file))) as reading:
        yield reading


@pytest.fixture
def postgres(sample_database: URL) -> Iterator[Connection]:
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(SCHEMA)
    with reading_source(sample_database) as reading:
        yield reading


@pytest.fixture(params=["duck", "postgres"])
def source(request: pytest.FixtureRequest) -> Connection:
    found: Connection = request.getfixturevalue(request.param)
    return found


def test_policy_that_fits_has_no_misfits(policy: Policy, source: Connection) -> None:
    """Tables, columns and types are there, in both databases."""
    assert list(misfits(policy.dataset, describe(source))) == []


def test_constraints_prove_what_need_not_be_done(policy: Policy, source: Connection) -> None:
    """A unique unit key means one row each; NOT NULL means never null."""
    found = [(proof.table, proof.message) for proof in proofs(policy.dataset, describe(source))]
    assert found == [
        ("patients", "`patient_id` is unique: no person has more than one row"),
        ("patients", "`patient_id` is never null"),
        ("patients", "`region` is never null"),
        ("visits", "`visit_id` is never null"),
        ("visits", "`patient_id` is never null"),
        ("visits", "`visit_date` is never null"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            "  regions: {",
            "  region: {",
            "the source has no table `region`",
            "did you mean `regions`?",
        ),
        (
            "      weight:",
            "      weigth:",
            "the source has no column `patients.weigth`",
            "did you mean `weight`?",
        ),
        (
            "birth_year: {type: integer",
            "birth_year: {type: smallint",
            "`patients.birth_year` is `integer` in the source, not `smallint`",
            "",
        ),
        (
            "type: double precision",
            "type: text",
            "`patients.weight` is `double precision` in the source, not `text`",
            "",
        ),
        (
            '"numeric(8,2)"',
            '"numeric(9,2)"',
            "`visits.cost` is `numeric(8,2)` in the source, not `numeric(9,2)`",
            "",
        ),
    ],
)
def test_misfit_is_told(source: Connection, old: str, new: str, message: str, hint: str) -> None:
    """What is not there, with what is meant; a type that does not hold the source's values."""
    dataset = changed(old, new).dataset
    assert [(one.message, one.hint) for one in misfits(dataset, describe(source))] == [
        (message, hint)
    ]


def test_wider_type_than_the_source_fits(source: Connection) -> None:
    """Every integer is a bigint."""
    dataset = changed("birth_year: {type: integer", "birth_year: {type: bigint").dataset
    assert list(misfits(dataset, describe(source))) == []


def test_source_is_read_only(source: Connection) -> None:
    """Nobody writes through a connection that reads."""
    with pytest.raises(DBAPIError):
        source.execute(text("CREATE TABLE mine (a integer)"))


@pytest.mark.parametrize(
    ("statement", "unique"),
    [
        ("CREATE TABLE t (a bigint UNIQUE)", True),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t (a)", True),
        ("CREATE TABLE t (a bigint, b int); CREATE UNIQUE INDEX ON t (a) INCLUDE (b)", True),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t (a) WHERE a > 0", False),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t ((a + 1))", False),
        ("CREATE TABLE t (a bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)", False),
        ("CREATE TABLE t (a bigint UNIQUE); CREATE TABLE u () INHERITS (t)", False),
        ("CREATE TABLE t (a bigint UNIQUE) PARTITION BY RANGE (a)", True),
        ("CREATE TABLE u (a bigint UNIQUE); CREATE VIEW t AS SELECT a FROM u", False),
    ],
)
def test_unique_is_what_postgresql_enforces_always(
    sample_database: URL, statement: str, *, unique: bool
) -> None:
    """Not partial, not of expressions, not deferred, not of one part of an inheritance alone."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(statement.encode())
    table = described(sample_database).find("t")
    assert table is not None
    assert (frozenset({"a"}) in table.unique) is unique


def described(url: URL) -> Described:
    with reading_source(url) as connection:
        return describe(connection)


def test_not_null_counts_when_it_is_validated(sample_database: URL) -> None:
    """A constraint that says NOT VALID says nothing of the rows that are there."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a bigint, b bigint NOT NULL)")
        if connection.info.server_version >= 180000:
            connection.execute("ALTER TABLE t ADD CONSTRAINT c NOT NULL a NOT VALID")
    table = described(sample_database).find("t")
    assert table is not None
    assert [(one.name, one.not_null) for one in table.columns] == [("a", False), ("b", True)]


def test_source_that_is_away_is_named_without_its_login() -> None:
    """One line, no password."""
    url = URL.create("postgresql+psycopg", "reader", "hunter2", "127.0.0.1", 1, "clinic")
    with pytest.raises(OperatorError) as refused, reading_source(url):
        pass
    assert refused.value.code is Code.SOURCE_UNUSABLE
    assert "postgresql://127.0.0.1:1/clinic" in refused.value.detail
    assert "hunter2" not in str(refused.value)
    assert "reader" not in str(refused.value)
