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

from gateway.catalog.tables import Column
from gateway.catalog.types import ColumnType, parse_type
from gateway.engines.catalog.describe import describe_source
from gateway.engines.catalog.proofs import find_mismatches, fits_source
from gateway.engines.connections import open_source
from gateway.errors import Code, OperatorError
from gateway.policy.policy import Policy

SCHEMA = """
CREATE TABLE regions (region text PRIMARY KEY);
CREATE TABLE patients (patient_id bigint PRIMARY KEY, region text NOT NULL, birth_year integer,
    income numeric, weight double precision, consents text[], shares integer[]);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients,
    cost numeric(8,2), visit_date date NOT NULL, UNIQUE (patient_id, visit_date));
"""
USER_TYPES = """
CREATE TYPE mood AS ENUM ('a', 'it''s');
CREATE TYPE odd AS ENUM ('a');
CREATE FUNCTION shout(odd) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'A' $$;
CREATE CAST (odd AS text) WITH FUNCTION shout(odd);
CREATE DOMAIN short AS varchar(7) CHECK (VALUE <> '');
CREATE DOMAIN nested AS short;
CREATE DOMAIN wrapped AS mood;
CREATE DOMAIN amount AS numeric(8,2);
CREATE TABLE t (key mood PRIMARY KEY, mood mood, nested nested, wrapped wrapped, amount amount,
    odd odd, many mood[]);
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read(BASE).accepted


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[Connection]:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCHEMA)
    with open_source(URL.create("duckdb", database=str(file))) as reading:
        yield reading


@pytest.fixture
def postgres(sample_database: URL) -> Iterator[Connection]:
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(SCHEMA)
    with open_source(sample_database) as reading:
        yield reading


@pytest.fixture(params=["duck", "postgres"])
def source(request: pytest.FixtureRequest) -> Connection:
    found: Connection = request.getfixturevalue(request.param)
    return found


def test_policy_that_fits_has_no_misfits(policy: Policy, source: Connection) -> None:
    """Tables, columns and types are there, in both databases."""
    assert list(find_mismatches(policy.dataset, describe_source(source))) == []


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
            "write `type: integer`",
        ),
        (
            "type: double precision",
            "type: text",
            "`patients.weight` is `double precision` in the source, not `text`",
            "write `type: double precision`",
        ),
        (
            '"numeric(8,2)"',
            '"numeric(9,2)"',
            "`visits.cost` is `numeric(8,2)` in the source, not `numeric(9,2)`",
            'write `type: "numeric(8,2)"`',
        ),
        (
            "birth_year: {type: integer,",
            "birth_year: {type: integer, joins: regions.regio,",
            "the source has no column `regions.regio`, which `birth_year` joins",
            "did you mean `region`?",
        ),
    ],
)
def test_misfit_is_told(source: Connection, old: str, new: str, message: str, hint: str) -> None:
    """What is not there, with what is meant; a type that does not hold the source's values."""
    dataset = changed(old, new).dataset
    assert [
        (one.message, one.hint) for one in find_mismatches(dataset, describe_source(source))
    ] == [(message, hint)]


def test_array_column_is_held_against_the_source(source: Connection) -> None:
    """An array of texts is one in both databases; a text, an array of numbers or nothing is none."""
    there = describe_source(source)

    def told(name: str) -> list[str]:
        line = f"      {name}: {{type: 'text[]', class: sensitive}}\n"
        dataset = changed("      weight:", f"{line}      weight:").dataset
        return [one.message for one in find_mismatches(dataset, there)]

    assert told("consents") == []
    assert told("agreements") == ["the source has no column `patients.agreements`"]
    assert told("shares") == ["`patients.shares` is `integer[]` in the source, not `text[]`"]
    text = changed("weight: {type: double precision", "consents: {type: text").dataset
    assert len(list(find_mismatches(text, there))) == 1


def test_wider_type_than_the_source_fits(source: Connection) -> None:
    """Every integer is a bigint."""
    dataset = changed("birth_year: {type: integer", "birth_year: {type: bigint").dataset
    assert list(find_mismatches(dataset, describe_source(source))) == []


@pytest.mark.server
def test_enum_or_domain_of_texts_fits_a_text_and_is_no_key(sample_database: URL) -> None:
    """Scans cast texts, and read keys as they are stored; an enum with a cast of its own to text is none."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(USER_TYPES)
    with open_source(sample_database) as reading:
        there = describe_source(reading)
    table = there.find("t")
    assert table is not None
    assert {
        one.name: (str(one.read_type) if one.has_known_type else "", one.labels)
        for one in table.columns
    } == {
        "key": ("text", ("a", "it's")),
        "mood": ("text", ("a", "it's")),
        "nested": ("character varying(7)", ()),
        "wrapped": ("text", ("a", "it's")),
        "amount": ("numeric(8,2)", ()),
        "odd": ("", ("a",)),
        "many": ("", ()),
    }
    of, short = parse_type("text"), parse_type("varchar(6)")

    def fits(name: str, declared: ColumnType = of, *, is_key: bool = False) -> bool:
        found = table.column(name)
        assert found is not None
        return fits_source(Column(name, declared), found, is_key=is_key)

    assert [fits(one.name) for one in table.columns] == [True] * 4 + [False] * 3
    assert fits("amount", parse_type("numeric(8,2)"))
    assert not fits("amount", parse_type("numeric(8,1)"))
    assert not fits("amount", parse_type("numeric(8,2)"), is_key=True)
    assert not fits("mood", short)
    assert not fits("nested", short)
    assert fits("nested", parse_type("varchar(8)"))
    assert not any(fits(one.name, is_key=True) for one in table.columns)


def test_duckdb_enum_fits_a_text(tmp_path: Path) -> None:
    """Its labels are as they were written, with quotes and capitals."""
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t (mood ENUM('New', 'it''s, (so)'), count utinyint)")
    with open_source(URL.create("duckdb", database=str(file))) as reading:
        table = describe_source(reading).find("t")
    assert table is not None
    mood, count = table.columns
    assert (mood.type, str(mood.read_type), mood.labels) == ("enum", "text", ("New", "it's, (so)"))
    assert fits_source(Column("mood", parse_type("text")), mood, is_key=False)
    assert not fits_source(Column("count", parse_type("bigint")), count, is_key=False)


def test_source_is_read_only(source: Connection) -> None:
    """Nobody writes through a connection that reads."""
    with pytest.raises(DBAPIError):
        source.execute(text("CREATE TABLE mine (a integer)"))


def test_table_that_is_being_altered_is_not_waited_for(sample_database: URL) -> None:
    """PostgreSQL tells of a locked table's constraints when the lock is gone, which may be long."""
    with psycopg.connect(plain(sample_database)) as altering:
        altering.execute("CREATE TABLE t (a integer CHECK (a > 0))")
        altering.commit()
        altering.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with (
            pytest.raises(OperatorError, match="LockNotAvailable"),
            open_source(sample_database) as reading,
        ):
            describe_source(reading)


def test_source_that_is_away_is_named_without_its_login() -> None:
    """One line, no password."""
    url = URL.create("postgresql+psycopg", "reader", "hunter2", "127.0.0.1", 1, "clinic")
    with pytest.raises(OperatorError) as refused, open_source(url):
        pass
    assert refused.value.code is Code.SOURCE_UNUSABLE
    assert "postgresql://127.0.0.1:1/clinic" in refused.value.detail
    assert "hunter2" not in str(refused.value)
    assert "reader" not in str(refused.value)
