import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg
import pytest
from fix_sample import plain
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy.engine import URL
from typing_extensions import override

from gateway.errors import Code, OperatorError
from gateway.sample.clinic import Clinic, Visits
from gateway.sample.duckdb_loader import load_into_duckdb
from gateway.sample.postgres_loader import Existing, ReaderLogin, load_into_postgres

CLINIC = Clinic(patients=200, visits=1_200)
TABLES = ("regions", "patients", "visits", "prescriptions")

BROKEN_RULES = (
    "INSERT INTO patients VALUES (1, 'north', 1980, 1)",
    "INSERT INTO visits VALUES (1, 1, 'x', 1, '2020-01-01')",
    "INSERT INTO visits VALUES (0, 0, 'x', 1, '2020-01-01')",
    "INSERT INTO visits VALUES (0, NULL, 'x', 1, '2020-01-01')",
    "INSERT INTO patients VALUES (NULL, 'north', 1980, 1)",
    "INSERT INTO patients VALUES (0, 'centre', 1980, 1)",
    "INSERT INTO patients VALUES (0, 'north', 1919, 1)",
    "INSERT INTO patients VALUES (0, 'north', 2021, 1)",
    "INSERT INTO patients VALUES (0, 'north', 1980, -1)",
    "INSERT INTO patients VALUES (0, 'north', 1980, 200001)",
    "INSERT INTO patients VALUES (0, 'north', 1980, 'NaN')",
    "INSERT INTO visits VALUES (0, 1, 'x', 5000.01, '2020-01-01')",
    "INSERT INTO visits VALUES (0, 1, 'x', -0.01, '2020-01-01')",
    "INSERT INTO visits VALUES (0, 1, 'x', 1, '2019-12-31')",
    "INSERT INTO visits VALUES (0, 1, 'x', 1, '2027-01-01')",
    "INSERT INTO regions VALUES ('north', 'North', 1)",
    "DELETE FROM patients WHERE patient_id = 1",
    "DELETE FROM regions",
)
KEPT_RULES = (
    "INSERT INTO patients VALUES (0, 'north', 2020, 200000)",
    "INSERT INTO visits VALUES (0, 0, NULL, 5000, '2026-12-31')",
)


@dataclass(frozen=True)
class Misdated(Clinic):
    """A clinic with a visit on a day that the table does not take."""

    @override
    def visit_rows(self, rows: int = 1_000) -> Iterator[Visits]:
        for chunk in super().visit_rows(rows):
            chunk.day[-1] = 9_999
            yield chunk


@pytest.fixture
def reader(sample_database: URL) -> Iterator[ReaderLogin]:
    """A login nobody else uses; logins belong to the whole server."""
    made = ReaderLogin(SecretStr("p'ä ss\\"), f"reader_{secrets.token_hex(6)}")
    yield made
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        name = sql.Identifier(made.name)
        if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [made.name]).fetchone():
            connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
            connection.execute(sql.SQL("DROP ROLE {}").format(name))


def test_postgres_holds_the_same_rows_as_duckdb(sample_database: URL, tmp_path: Path) -> None:
    """Whichever database is loaded, the clinic is the same, value by value."""
    load_into_duckdb(CLINIC, tmp_path / "clinic.duckdb")
    assert load_into_postgres(CLINIC, plain(sample_database))
    with (
        duckdb.connect(tmp_path / "clinic.duckdb", read_only=True) as one,
        psycopg.connect(plain(sample_database)) as other,
    ):
        for table in TABLES:
            query = f"SELECT * FROM {table} ORDER BY 1"
            rows = one.execute(query).fetchall()
            assert rows
            assert rows == other.execute(query).fetchall()


@pytest.mark.parametrize("driver", ["postgresql", "postgresql+psycopg"])
def test_postgres_takes_urls_of_sqlalchemy_and_of_libpq(sample_database: URL, driver: str) -> None:
    """A URL that SQLAlchemy understands is understood here."""
    url = sample_database.set(drivername=driver).render_as_string(hide_password=False)
    assert load_into_postgres(Clinic(1, 1), url)


def test_postgres_refuses_rows_when_they_break_a_rule_of_the_policy(sample_database: URL) -> None:
    """Keys and domains that the policy declares are enforced by the database."""
    load_into_postgres(Clinic(1, 1), plain(sample_database))
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        for statement in BROKEN_RULES:
            with pytest.raises(psycopg.IntegrityError):
                connection.execute(statement)
        for statement in KEPT_RULES:
            connection.execute(statement)


def test_postgres_has_validated_keys_and_an_index_on_visits_by_patient(
    sample_database: URL,
) -> None:
    """Every constraint was checked against the rows, and a person's visits are found by index."""
    load_into_postgres(CLINIC, plain(sample_database))
    with psycopg.connect(plain(sample_database)) as connection:
        constraints = connection.execute(
            "SELECT conrelid::regclass::text, contype::text, convalidated FROM pg_constraint "
            "WHERE conrelid IN ('regions'::regclass, 'patients'::regclass, 'visits'::regclass) "
            "AND contype IN ('p', 'f', 'c')"
        ).fetchall()
        assert {(table, kind) for table, kind, _ in constraints} == {
            ("regions", "p"),
            *((table, kind) for table in ("patients", "visits") for kind in "pfc"),
        }
        assert all(validated for *_, validated in constraints)
        indexes = connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'visits'"
        ).fetchall()
        assert any(text.endswith("(patient_id)") for (text,) in indexes)


def test_postgres_tables_are_kept_when_they_exist(sample_database: URL) -> None:
    """A table of that name is not overwritten, whoever made it."""
    with psycopg.connect(plain(sample_database)) as connection:
        connection.execute("CREATE TABLE patients AS SELECT 1 AS precious")
    with pytest.raises(OperatorError, match="tables `patients` already") as caught:
        load_into_postgres(CLINIC, plain(sample_database))
    assert caught.value.code is Code.ARGUMENT_INVALID
    with pytest.raises(OperatorError, match="only `patients` exist"):
        load_into_postgres(CLINIC, plain(sample_database), existing=Existing.KEEP)
    with psycopg.connect(plain(sample_database)) as connection:
        assert connection.execute("SELECT * FROM patients").fetchall() == [(1,)]


def test_postgres_tables_are_replaced_when_told_to(sample_database: URL) -> None:
    """The second sample takes the place of the first."""
    load_into_postgres(Clinic(1, 1), plain(sample_database))
    assert load_into_postgres(CLINIC, plain(sample_database), existing=Existing.REPLACE)
    assert _counts(sample_database) == [4, 200, 1_200, 953]


def test_postgres_tables_are_left_when_they_may_stay(sample_database: URL) -> None:
    """A one-shot loader may run at every start: what is there is kept, and that is no failure."""
    assert load_into_postgres(Clinic(1, 1), plain(sample_database), existing=Existing.KEEP)
    assert not load_into_postgres(CLINIC, plain(sample_database), existing=Existing.KEEP)
    assert _counts(sample_database) == [4, 1, 1, 2]


def test_postgres_stays_as_it_was_when_the_load_breaks_off(sample_database: URL) -> None:
    """All or nothing: a row that is refused takes the whole sample with it, and the old one stays."""
    with pytest.raises(OperatorError, match="did not take the sample"):
        load_into_postgres(Misdated(200, 1_200), plain(sample_database))
    with psycopg.connect(plain(sample_database)) as connection:
        assert connection.execute("SELECT to_regclass('regions')").fetchone() == (None,)
    load_into_postgres(Clinic(1, 1), plain(sample_database))
    with pytest.raises(OperatorError, match="did not take the sample"):
        load_into_postgres(Misdated(200, 1_200), plain(sample_database), existing=Existing.REPLACE)
    assert _counts(sample_database) == [4, 1, 1, 2]


def test_reader_can_read_and_nothing_else(sample_database: URL, reader: ReaderLogin) -> None:
    """The gateway's source login sees the rows; its transactions are read-only and it owns nothing."""
    load_into_postgres(CLINIC, plain(sample_database), reader=reader)
    with _log_in(sample_database, reader) as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (1_200,)
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("on",)
        connection.execute("SET default_transaction_read_only = off")
        for statement in (
            "DELETE FROM visits",
            "UPDATE patients SET income = 0",
            "INSERT INTO regions VALUES ('north', 'North', 1)",
            "TRUNCATE visits",
            "DROP TABLE visits",
            "CREATE TABLE mine ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_reader_is_made_when_the_tables_are_kept(sample_database: URL, reader: ReaderLogin) -> None:
    """A second run gives an existing sample its reader, and a known reader a new password."""
    load_into_postgres(CLINIC, plain(sample_database))
    load_into_postgres(
        CLINIC,
        plain(sample_database),
        existing=Existing.KEEP,
        reader=ReaderLogin(SecretStr("old"), reader.name),
    )
    load_into_postgres(CLINIC, plain(sample_database), existing=Existing.KEEP, reader=reader)
    with _log_in(sample_database, reader) as connection:
        assert connection.execute("SELECT count(*) FROM regions").fetchone() == (4,)
    with pytest.raises(psycopg.OperationalError):
        _log_in(sample_database, ReaderLogin(SecretStr("old"), reader.name))


def test_reader_shows_no_password() -> None:
    """The password appears in no repr."""
    assert "hidden" not in repr(ReaderLogin(SecretStr("hidden")))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://me:hidden@localhost:1/clinic", "cannot be reached"),
        ("postgresql://me:hidden@/clinic?host=/nonexistent", "cannot be reached"),
        ("postgresql://me:hidden@localhost/clinic?sslmode=hidden2", "cannot be reached"),
        ("postgresql://me:hidden@localhost:port/clinic", "this is no URL"),
        ("me hidden", "this is no URL"),
        ("mysql://me:hidden@localhost/clinic", "must begin with postgresql"),
    ],
)
def test_postgres_says_so_without_the_password_when_it_cannot_be_reached(
    url: str, message: str
) -> None:
    """A wrong URL and a silent server are one clear line that does not hold the password."""
    with pytest.raises(OperatorError, match=message) as caught:
        load_into_postgres(CLINIC, url)
    assert "hidden@" not in str(caught.value)
    assert "me:" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_postgres_says_so_when_the_password_is_wrong(sample_database: URL) -> None:
    """A refused log-in tells the place and not the password."""
    with pytest.raises(OperatorError, match="password authentication failed") as caught:
        load_into_postgres(CLINIC, plain(sample_database.set(password="hidden")))
    assert "hidden" not in str(caught.value)


def _counts(url: URL) -> list[int]:
    with psycopg.connect(plain(url)) as connection:
        return [
            count
            for table in TABLES
            for (count,) in connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        ]


def _log_in(url: URL, reader: ReaderLogin) -> psycopg.Connection:
    password = reader.password.get_secret_value()
    return psycopg.connect(plain(url), user=reader.name, password=password, autocommit=True)
