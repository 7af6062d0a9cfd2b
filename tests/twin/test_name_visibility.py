"""Visible names: those of the subject's own database and role, and PostgreSQL's own."""

from pathlib import Path

import psycopg
import pytest
from fix_twin import CLINIC, OTHER, as_gateway, life_of, state

from gateway.twin import Twin, TwinRefused, TwinSession, open_twin
from gateway.twin.databases import MADE_AT_ONCE

_RELATIONS = """
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1
"""


def test_catalogs_show_the_visible_tables_alone(analyst: TwinSession, other: TwinSession) -> None:
    """Tables, columns and keys are those of one's own set; another set leaves no trace in them."""
    assert analyst.run(_RELATIONS) == (
        *(("patients",), ("patients_pkey",), ("visits",), ("visits_pkey",)),
    )
    assert other.run(_RELATIONS) == (("secrets",),)
    for catalog, column in (
        ("pg_attribute", "attname"),
        ("pg_type", "typname"),
        ("pg_constraint", "conname"),
        ("pg_description", "description"),
        ("information_schema.columns", "column_name"),
        ("information_schema.tables", "table_name"),
        ("information_schema.table_constraints", "constraint_name"),
        ("pg_tables", "tablename"),
    ):
        assert analyst.run(f"SELECT FROM {catalog} WHERE {column} LIKE '%secret%'") == ()
        assert other.run(f"SELECT FROM {catalog} WHERE {column}::text ~ 'patient|visit'") == ()


def test_information_schema_shows_columns_without_any_right_to_read(analyst: TwinSession) -> None:
    """REFERENCES is enough for a BI tool to find tables, columns, types and keys."""
    assert analyst.run(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'public' AND table_name = 'patients' ORDER BY ordinal_position"
    ) == (
        ("patients", "patient_id", "bigint", "NO"),
        ("patients", "region", "character varying", "YES"),
        ("patients", "income", "numeric", "YES"),
        ("patients", "code", "character", "YES"),
    )
    assert analyst.run(
        "SELECT constraint_type, count(*) FROM information_schema.table_constraints "
        "WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') GROUP BY 1 ORDER BY 1"
    ) == (("FOREIGN KEY", "1"), ("PRIMARY KEY", "2"))


def test_databases_of_others_cannot_be_seen(analyst: TwinSession, other: TwinSession) -> None:
    """`pg_database` has one row, one's own, by the name of the dataset, and no list of who may connect."""
    ((mine, name, rights),) = analyst.run("SELECT oid, datname, datacl FROM pg_catalog.pg_database")
    ((theirs, _),) = other.run("SELECT oid, datname FROM pg_database")
    assert analyst.run("SELECT current_database()") == ((name,),)
    assert rights is None
    assert mine != theirs


def test_roles_of_others_cannot_be_listed(twin: Twin, analyst: TwinSession) -> None:
    """`pg_roles` and `pg_user` have oneself, by the subject's name, and the roles PostgreSQL is born with."""
    with twin.session("bob", CLINIC) as session:
        ((bob,),) = session.run("SELECT current_user")
    ((alice,),) = analyst.run("SELECT current_user")
    with as_gateway(twin) as gateway:
        known = gateway.execute("SELECT rolname FROM pg_authid").fetchall()
    assert {(alice,), (bob,)} < set(known)
    born = {row for row in known if not row[0].startswith("analyst_")}
    assert set(analyst.run("SELECT rolname FROM pg_roles")) == {*born, ("alice",)}
    assert set(analyst.run("SELECT usename FROM pg_user")) == {("postgres",), ("alice",)}
    assert analyst.run("SELECT FROM pg_auth_members WHERE member >= 16384 OR roleid >= 16384") == ()


def test_names_are_opaque(twin: Twin, analyst: TwinSession) -> None:
    """Neither the server's name of a database nor that of a role says whose it is."""
    ((database, role),) = analyst.run("SELECT current_database_of_server(), current_user")
    for name in (database, role):
        assert name is not None
        assert "alice" not in name
        assert "clinic" not in name
    with twin.session("alice", OTHER) as session:
        assert session.run("SELECT current_user") != ((role,),)


def test_settings_do_not_say_where_the_server_is(twin: Twin, analyst: TwinSession) -> None:
    """No setting that can be read has a path of the twin or of the gateway."""
    place = str(life_of(twin).server.where.place.path.parents[1])
    values = [value or "" for (value,) in analyst.run("SELECT setting FROM pg_settings")]
    assert len(values) > 300
    assert not [value for value in values if place in value or "gw-test" in value]


def test_errors_of_a_log_in_elsewhere_name_nothing(twin: Twin, analyst: TwinSession) -> None:
    """One's own database is the only one that lets one in."""
    life = life_of(twin)
    login = life.roles.login("alice", CLINIC)
    elsewhere = life.roles.login("mallory", OTHER)
    for database in (elsewhere.database, "postgres", "template1", "template0"):
        said = _said_at_log_in(twin, login.role, login.password.get_secret_value(), database)
        assert "permission denied for database" in said or "not currently accepting" in said
    for password in ("", "wrong", elsewhere.password.get_secret_value()):
        assert "password" in _said_at_log_in(twin, login.role, password, login.database)


def test_nobody_sees_that_another_subject_has_come(twin_home: Path) -> None:
    """Roles that are there can be listed by their numbers: as many, and alike, before and after somebody logs in."""
    seen = """
        SELECT o, o::oid::regrole::text, pg_get_userbyid_of_server(o::oid)::text, makeaclitem(o::oid, 10, 'SELECT', false)::text,
               has_database_privilege_of_server(o::oid, d.oid, 'CONNECT'), has_table_privilege_of_server(o::oid, 1259::oid, 'SELECT')
        FROM generate_series(16384, 20000) AS o, pg_database AS d WHERE pg_get_userbyid_of_server(o::oid) NOT LIKE 'unknown%'
    """
    with open_twin(twin_home) as twin, twin.session("alice", CLINIC) as alice:
        before = alice.run(seen)
        assert len(before) >= MADE_AT_ONCE
        with twin.session("bob", CLINIC) as bob:
            ((role,),) = bob.run("SELECT current_user")
            assert alice.run(seen) == before
            assert role in {row[1] for row in before}
        with twin.session("bob", OTHER):  # another set of tables has other roles
            assert alice.run(seen) != before


def test_what_remains_is_what_the_document_says(twin: Twin, analyst: TwinSession) -> None:
    """Who knows the number of a role gets its name, which is drawn at random: left to the gateway."""
    with twin.session("bob", CLINIC) as session:
        ((bob,),) = session.run("SELECT current_user")
    with as_gateway(twin) as gateway:
        found = gateway.execute("SELECT oid FROM pg_authid WHERE rolname = %s", (bob,)).fetchone()
    assert found is not None
    number = str(found[0])
    assert analyst.run("SELECT pg_get_userbyid($1)", [number]) == ((f"unknown (OID={number})",),)
    assert analyst.run("SELECT pg_get_userbyid_of_server($1)", [number]) == ((bob,),)
    with pytest.raises(TwinRefused, check=state("42501")):
        analyst.run("SELECT pg_describe_object('pg_authid'::regclass, $1, 0)", [number])


def _said_at_log_in(twin: Twin, role: str, password: str, database: str) -> str:
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(
            host=str(life_of(twin).server.address.socket_dir),
            user=role,
            password=password,
            dbname=database,
        )
    return str(refused.value)
