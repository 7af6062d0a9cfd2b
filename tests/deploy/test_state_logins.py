"""The script that makes the state's logins, run by the real psql on a real server."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fix_sample import plain
from psycopg import sql
from sqlalchemy.engine import URL

from gateway.postgres_server import Lease
from gateway.state.open import StateUrls, upgrade_state

SCRIPT = Path(__file__).parents[2] / "deploy" / "state-logins.sql"
PASSWORDS = {"gateway_owner": "owner's \\ pass", "gateway_app": "$app $pass$"}


@pytest.fixture
def state(sample_server: Lease, sample_database: URL) -> Iterator[URL]:
    """A database in which the script was run; its logins are dropped with it."""
    done = run_script(sample_server, sample_database, PASSWORDS)
    assert (done.returncode, done.stderr) == (0, "")
    yield sample_database
    drop_logins(sample_database)


def drop_logins(database: URL) -> None:
    with psycopg.connect(plain(database), autocommit=True) as connection:
        name = sql.Identifier(str(database.database))
        connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO postgres").format(name))
        for login in map(sql.Identifier, PASSWORDS):
            connection.execute(sql.SQL("DROP OWNED BY {}").format(login))
            connection.execute(sql.SQL("DROP ROLE {}").format(login))


def run_script(
    server: Lease, database: URL, passwords: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """As the PostgreSQL image runs what lies in its directory for such scripts."""
    given = dict(
        zip(
            ("STATE_OWNER_PASSWORD", "STATE_APPLICATION_PASSWORD"), passwords.values(), strict=False
        )
    )
    return subprocess.run(
        [
            *(server.programs.path("psql"), "-v", "ON_ERROR_STOP=1", "--no-psqlrc", "--quiet"),
            *("--username", "postgres", "--dbname", str(database.database), "-f", SCRIPT),
        ],
        env={
            "PATH": os.environ["PATH"],
            "PGHOST": str(server.address.socket_dir),
            "PGPASSWORD": server.superuser_password.get_secret_value(),
            **given,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def log_in(database: URL, login: str) -> psycopg.Connection:
    return psycopg.connect(plain(database), user=login, password=PASSWORDS[login], autocommit=True)


def test_owner_makes_tables_and_the_application_owns_none(state: URL) -> None:
    """The owner can migrate; the application can do what it is granted and change no table."""
    with log_in(state, "gateway_owner") as owner:
        owner.execute("CREATE TABLE ledger (n integer)")
        owner.execute("GRANT SELECT, INSERT ON ledger TO gateway_app")
    with log_in(state, "gateway_app") as application:
        application.execute("INSERT INTO ledger VALUES (1)")
        for statement in (
            "DELETE FROM ledger",
            "UPDATE ledger SET n = 0",
            "TRUNCATE ledger",
            "DROP TABLE ledger",
            "ALTER TABLE ledger ADD COLUMN m integer",
            "CREATE TABLE mine ()",
            "CREATE TEMP TABLE mine ()",
            "CREATE SCHEMA mine",
            "SET ROLE gateway_owner",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                application.execute(statement)


def test_script_prepares_a_database_that_can_be_migrated(state: URL) -> None:
    """`gateway db upgrade` works with these logins, and every table is the owner's."""
    owner, application = (
        state.set(username=login, password=PASSWORDS[login])
        for login in ("gateway_owner", "gateway_app")
    )
    upgrade_state(StateUrls(application, owner))
    with psycopg.connect(plain(state)) as connection:
        owners = connection.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
    assert owners == [("gateway_owner",)]


def test_nobody_else_may_connect_to_the_state(state: URL) -> None:
    """A login that was not named has no way into the database."""
    with psycopg.connect(plain(state)) as connection:
        granted = connection.execute(
            "SELECT DISTINCT coalesce(rolname, 'everyone') FROM pg_database, aclexplode(datacl) "
            "LEFT JOIN pg_roles ON pg_roles.oid = grantee WHERE datname = current_database()"
        ).fetchall()
    assert {name for (name,) in granted} == {"gateway_owner", "gateway_app"}


def test_logins_have_no_powers_over_the_server(state: URL) -> None:
    """Neither is a superuser, makes databases or logins; both passwords are kept as verifiers."""
    with psycopg.connect(plain(state)) as connection:
        rows = connection.execute(
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls, "
            "rolpassword LIKE 'SCRAM-SHA-256$%%' FROM pg_authid WHERE rolname = ANY(%s)",
            [list(PASSWORDS)],
        ).fetchall()
    assert rows == [(False, True), (False, True)]


def test_script_fails_when_a_password_is_missing(
    sample_server: Lease, sample_database: URL
) -> None:
    """Without a password there is no login: the server's first start fails and says so."""
    done = run_script(sample_server, sample_database, {})
    assert done.returncode != 0
    assert "syntax error" in done.stderr
    with psycopg.connect(plain(sample_database)) as connection:
        made = connection.execute(
            "SELECT FROM pg_roles WHERE rolname = ANY(%s)", [list(PASSWORDS)]
        ).fetchall()
    assert made == []
