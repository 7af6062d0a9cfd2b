"""Databases and roles: one for each set of visible tables, one for each subject that sees it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from fix_twin import CLINIC, OTHER, PATIENTS, VISITS, as_gateway, life_of, state

from gateway.twin import (
    ForeignKey,
    Twin,
    TwinRefused,
    UnsupportedColumn,
    VisibleColumn,
    VisibleTable,
    VisibleTables,
    open_twin,
)
from gateway.twin.databases import MADE_AT_ONCE
from gateway.twin.settings import SESSIONS_OF_ROLE


def _one(column: VisibleColumn) -> VisibleTables:
    return frozenset({VisibleTable("t", (column,))})


@pytest.fixture
def forgotten(twin: Twin) -> Iterator[list[VisibleTables]]:
    """Sets of tables that a test made a database for, dropped afterwards."""
    made: list[VisibleTables] = []
    yield made
    for tables in made:
        twin.forget(tables)


def test_tables_have_exact_types_keys_and_comments(twin: Twin) -> None:
    """What PostgreSQL says of the tables is what was asked for."""
    with twin.session("alice", CLINIC) as session:
        assert session.run(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
            "WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attnum"
        ) == (
            ("visit_id", "bigint", "t"),
            ("patient_id", "bigint", "t"),
            ("Cost", "numeric", "f"),
            ("seen", "timestamp(3) with time zone", "f"),
        )
        assert session.run(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid = 'visits'::regclass AND contype <> 'n' ORDER BY 1"
        ) == (
            ("FOREIGN KEY (patient_id) REFERENCES patients(patient_id)",),
            ("PRIMARY KEY (visit_id)",),
        )
        assert session.run(
            "SELECT obj_description('patients'::regclass), col_description('patients'::regclass, 2)"
        ) == ((PATIENTS.comment, "where they live"),)


def test_equal_sets_share_a_database_and_others_do_not(twin: Twin) -> None:
    """A subject who sees the same gets the same database with a role of its own."""
    roles = life_of(twin).roles
    alice, again, bob = (roles.login(who, CLINIC) for who in ("alice", "alice", "bob"))
    assert alice == again
    assert alice.database == bob.database
    assert alice.role != bob.role
    assert roles.login("alice", OTHER).database != alice.database
    assert alice.password.get_secret_value() not in repr(alice)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: replace(table, comment="another"),
        lambda table: replace(table, primary_key=()),
        lambda table: replace(table, columns=table.columns[:-1]),
        lambda table: replace(table, schema="elsewhere"),
    ],
    ids=["comment", "key", "column", "schema"],
)
def test_any_difference_makes_another_database(
    twin: Twin, forgotten: list[VisibleTables], change: object
) -> None:
    """Whatever could be seen to differ is a set of its own."""
    assert callable(change)
    other: VisibleTables = frozenset({change(PATIENTS)})
    forgotten += [other, frozenset({PATIENTS})]
    roles = life_of(twin).roles
    assert roles.login("a", other).database != roles.login("a", frozenset({PATIENTS})).database


def test_role_has_no_rights_but_to_connect(twin: Twin) -> None:
    """No attribute, no membership, one database; nobody may make temporary tables anywhere."""
    login = life_of(twin).roles.login("alice", CLINIC)
    with as_gateway(twin) as gateway:
        assert gateway.execute(
            "SELECT rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, "
            "rolconnlimit FROM pg_authid WHERE rolname = %s",
            (login.role,),
        ).fetchone() == (*[False] * 6, SESSIONS_OF_ROLE)
        databases = gateway.execute(
            "SELECT datname FROM pg_database "
            "WHERE has_database_privilege(%s, oid, 'CONNECT') AND datallowconn",
            (login.role,),
        ).fetchall()
        assert databases == [(login.database,)]
        assert not gateway.execute(
            "SELECT FROM pg_database WHERE has_database_privilege(%s, oid, 'TEMP, CREATE') "
            "AND datallowconn",
            (login.role,),
        ).fetchall()


def test_table_in_a_schema_is_found_there(twin: Twin, forgotten: list[VisibleTables]) -> None:
    """A schema is made when a table has one, and can be used but not added to."""
    tables = frozenset({replace(PATIENTS, schema="Ward 1")})
    forgotten.append(tables)
    with twin.session("alice", tables) as session:
        assert session.describe('SELECT region FROM "Ward 1".patients').columns
        session.run("SET default_transaction_read_only = off")
        with pytest.raises(TwinRefused, check=state("42501")):
            session.run('CREATE TABLE "Ward 1".t (a int)')


def test_strange_names_and_comments_are_taken_as_they_are(
    twin: Twin, forgotten: list[VisibleTables]
) -> None:
    """Quotes, blanks and percent signs are part of a name, never of a statement."""
    name = "a \"b' %s; DROP -- é"
    tables = frozenset(
        {VisibleTable(name, (VisibleColumn(name, "text", comment=name),), comment=name)}
    )
    forgotten.append(tables)
    with twin.session("alice", tables) as session:
        quoted = '"' + name.replace('"', '""') + '"'
        assert session.describe(f"SELECT {quoted} FROM {quoted}").columns[0].name == name


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (_one(VisibleColumn("a", "nothing")), "no type"),
        (_one(VisibleColumn("a", "int); DROP TABLE t; --")), "syntax error|no type"),
        (_one(VisibleColumn("é" * 32, "int")), "63 bytes"),
        (_one(VisibleColumn("", "int")), "63 bytes"),
        (frozenset({PATIENTS, replace(PATIENTS, comment="twice")}), "two tables"),
        (frozenset({replace(PATIENTS, schema="pg_catalog")}), "unacceptable schema name"),
        (
            frozenset({replace(VISITS, foreign_keys=(ForeignKey(("x",), "public", "y", ("z",)),))}),
            "does not exist",
        ),
    ],
)
def test_database_that_cannot_be_made_leaves_nothing(
    twin: Twin, tables: VisibleTables, problem: str
) -> None:
    """A set that PostgreSQL cannot have is refused, and no half-made database stays."""
    before = _databases(twin)
    with pytest.raises((UnsupportedColumn, psycopg.Error), match=problem):
        twin.session("alice", tables)
    assert _databases(twin) == before


def test_set_without_tables_is_an_empty_database(twin: Twin) -> None:
    """Somebody who sees nothing still gets a session, and sees nothing."""
    with twin.session("eve", frozenset()) as session:
        assert session.run("SELECT FROM pg_tables WHERE schemaname = 'public'") == ()
        assert session.describe("SELECT version()").columns


def test_forgetting_ends_sessions_and_removes_everything(twin: Twin) -> None:
    """Database and roles go, sessions in it end; the next session makes them anew."""
    tables = frozenset({replace(PATIENTS, name="for_a_while")})
    session = twin.session("alice", tables)
    ((database, role),) = session.run("SELECT current_database_of_server(), current_user")
    twin.forget(tables)
    with pytest.raises(TwinRefused, check=state("57P01")):
        session.run("SELECT 1")
    assert database not in _databases(twin)
    with as_gateway(twin) as gateway:
        assert not gateway.execute("SELECT FROM pg_authid WHERE rolname = %s", (role,)).fetchall()
    with twin.session("alice", tables) as again:
        assert again.run("SELECT current_database_of_server()") != ((database,),)
    twin.forget(tables)
    twin.forget(tables)


def test_keeping_some_drops_all_others(twin_home: Path) -> None:
    """Databases and roles of other tables go, and sessions in them end; what is kept is untouched."""
    others = [frozenset({replace(PATIENTS, name=name)}) for name in ("one", "two")]
    with open_twin(twin_home) as twin:
        before = _databases(twin), _roles(twin)
        kept = [twin.session(who, CLINIC) for who in ("alice", "bob")]
        with_kept = _databases(twin), _roles(twin)
        ended = [twin.session(who, tables) for who in ("alice", "bob") for tables in others]
        assert len(_databases(twin) - before[0]) == 3
        assert len(_roles(twin) - before[1]) == 3 * MADE_AT_ONCE
        twin.keep([CLINIC, OTHER])  # what was never asked for is not made
        for session in kept:
            assert session.run("SELECT 1") == (("1",),)
        for session in ended:
            with pytest.raises(TwinRefused, check=state("57P01")):
                session.run("SELECT 1")
        assert (_databases(twin), _roles(twin)) == with_kept
        with twin.session("alice", others[0]) as again:
            assert again.describe("SELECT region FROM one").columns
        twin.keep([])
        assert (_databases(twin), _roles(twin)) == before


def test_roles_are_made_anew_when_more_subjects_come_than_were_expected(twin_home: Path) -> None:
    """Each has one of its own, with a password of its own."""
    with open_twin(twin_home) as twin:
        roles = life_of(twin).roles
        logins = [roles.login(f"subject {one}", CLINIC) for one in range(MADE_AT_ONCE + 1)]
        assert len({one.role for one in logins}) == len(logins)
        assert len({one.password.get_secret_value() for one in logins}) == len(logins)
        with twin.session(f"subject {MADE_AT_ONCE}", CLINIC) as session:
            assert session.run("SELECT current_user") == ((logins[-1].role,),)
        before = _roles(twin)
        twin.forget(CLINIC)
        assert len(before - _roles(twin)) == 2 * MADE_AT_ONCE


def test_sessions_of_a_role_are_limited(twin: Twin) -> None:
    """One subject cannot take all the connections there are."""
    sessions = []
    try:
        with pytest.raises(TwinRefused, check=state("53300")):  # noqa: PT012  # which one is refused is not said
            for _ in range(SESSIONS_OF_ROLE + 1):
                sessions.append(twin.session("greedy", OTHER))  # noqa: PERF401  # each must be closed
        assert len(sessions) == SESSIONS_OF_ROLE
        with twin.session("modest", OTHER) as session:
            assert session.run("SELECT 1") == (("1",),)
    finally:
        for session in sessions:
            session.close()


def _databases(twin: Twin) -> set[str]:
    with as_gateway(twin) as gateway:
        return {name for (name,) in gateway.execute("SELECT datname FROM pg_database").fetchall()}


def _roles(twin: Twin) -> set[str]:
    with as_gateway(twin) as gateway:
        return {name for (name,) in gateway.execute("SELECT rolname FROM pg_authid").fetchall()}
