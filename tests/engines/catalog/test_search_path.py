"""Tables of a source along a search path: PostgreSQL and DuckDB find the one that the catalog names."""

from pathlib import Path

import duckdb
import psycopg
from fix_sample import plain
from psycopg import sql
from sqlalchemy import URL

from gateway.engines.catalog.describe import SourceTable, SourceTables, describe_source
from gateway.engines.connections import Connections, open_source

_SCHEMA = """
CREATE SCHEMA first; CREATE SCHEMA "Second One";
CREATE TABLE first.here (a integer);
CREATE TABLE "Second One".here (b integer);
CREATE TABLE "Second One".there (b integer);
CREATE TABLE "Second One".hidden (b integer);
CREATE VIEW first.seen AS SELECT a FROM first.here;
"""
_PATH = ("nowhere", "first", "Second One")


def _places(found: SourceTables, *names: str) -> list[str | None]:
    tables = [found.find(name) for name in names]
    return [None if one is None else one.schema for one in tables]


def test_name_leads_where_postgresql_leads_it(sample_database: URL) -> None:
    """Also to a table that the login may not read: no later schema is searched then."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(_SCHEMA.encode())
        connection.execute("CREATE TABLE first.hidden (a integer)")
        login = f"reader_{sample_database.database}"
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(sql.Identifier(login))
        )
        try:
            for schema in ("first", "Second One"):
                connection.execute(
                    sql.SQL(
                        "GRANT USAGE ON SCHEMA {0} TO {1}; GRANT SELECT ON ALL TABLES IN SCHEMA {0} TO {1}"
                    ).format(sql.Identifier(schema), sql.Identifier(login))
                )
            revoked = sql.SQL("REVOKE ALL ON first.hidden FROM {}").format(sql.Identifier(login))
            connection.execute(revoked)
            url = sample_database.set(username=login, password="x")
            with open_source(url, _PATH) as reading:
                found = describe_source(reading, _PATH)
                said = reading.exec_driver_sql(
                    "SELECT relnamespace::regnamespace::text FROM pg_class"
                    " WHERE oid = 'here'::regclass OR oid = 'hidden'::regclass"
                )
                assert [schema for (schema,) in said] == ["first", "first"]
            pools = Connections.open(url, 1, 1, _PATH)
            with pools.engine.connect() as connected:
                path = connected.exec_driver_sql("SELECT current_schemas(false)").scalar_one()
            pools.drop()
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(login)))
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))
    assert path == ["first", "Second One"]
    assert found.search_path == ("first", "Second One")
    assert _places(found, "here", "there", "hidden") == ["first", "Second One", None]
    assert _places(found, "Second One.here", "Second One.hidden", "first.hidden") == [
        "Second One",
        "Second One",
        None,
    ]


def test_name_leads_where_duckdb_leads_it(tmp_path: Path) -> None:
    """DuckDB takes a name of another case for the same one, and the policy's name then leads nowhere."""
    file = tmp_path / "schemas.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(_SCHEMA)
        connection.execute("CREATE TABLE first.THERE (a integer)")
        connection.execute("SET search_path = 'first,\"Second One\"'")
        described = connection.execute("DESCRIBE there").fetchone()
        assert described is not None
        assert described[0] == "a"  # of the first schema, whose name is in capitals
    with open_source(URL.create("duckdb", database=str(file)), _PATH) as reading:
        found = describe_source(reading, _PATH)
    assert _places(found, "here", "there", "THERE", "hidden") == [
        "first",
        None,
        "first",
        "Second One",
    ]
    (view,) = (one for one in found.tables if one.is_view)
    assert (view.name, view.unique, [one.not_null for one in view.columns]) == (
        "seen",
        (),
        [False],
    )


def test_name_is_written_with_its_schema_when_the_path_does_not_lead_there() -> None:
    """A template for a policy names each table so that the source finds it again."""
    tables = tuple(SourceTable(schema, "t", ()) for schema in ("a", "b"))
    assert list(SourceTables(("a", "b"), tables).names()) == ["t", "b.t"]
    assert list(SourceTables(("b",), tables).names()) == ["a.t", "t"]
