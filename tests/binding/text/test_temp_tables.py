"""What keeps an answer is taken apart as PostgreSQL's own scanner reads it, and what reads it gets it in front."""

import pytest
from laws import for_each

from gateway.binding.text.temp_tables import (
    CreateTempTable,
    DropTempTable,
    TempTable,
    add_temp_tables,
    find_named_tables,
    find_read_table,
    parse_temp_table,
)

ONE = TempTable(7, (("a", "integer"), ('b "c"', "numeric(12,2)")), 0)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("CREATE TEMP TABLE t AS SELECT 1", CreateTempTable("t", (), "SELECT 1")),
        (
            'create local temporary table "#T" ("a", B) on commit preserve rows as (select 1, 2) with data',
            CreateTempTable("#T", ("a", "b"), "(select 1, 2) "),
        ),
        (
            "CREATE GLOBAL TEMP TABLE IF NOT EXISTS t AS TABLE x WITH NO DATA",
            CreateTempTable("t", (), "TABLE x ", with_data=False, unless_there=True),
        ),
        (
            "SELECT 1 AS a INTO TEMP TABLE t FROM x",
            CreateTempTable("t", (), "SELECT 1 AS a  FROM x"),
        ),
        (
            "WITH w AS (SELECT 1) SELECT * INTO LOCAL TEMPORARY t FROM w",
            CreateTempTable("t", (), "WITH w AS (SELECT 1) SELECT *  FROM w"),
        ),
        ("DROP TABLE t", DropTempTable(("t",), if_there=False)),
        ('DROP TABLE IF EXISTS t, "U" CASCADE', DropTempTable(("t", "U"), if_there=True)),
    ],
)
def test_statement_is_taken_apart(sql: str, wanted: CreateTempTable | DropTempTable) -> None:
    """Names are as PostgreSQL folds them, the query is as it was written."""
    assert parse_temp_table(sql) == wanted


@for_each(
    "sql",
    [
        "SELECT 'INTO TEMP TABLE t'",
        "SELECT (SELECT 1 INTO TEMP t)",
        "SELECT 1 INTO t -- temp",
        "CREATE TABLE temp AS SELECT 1",
        "CREATE TEMP TABLE t (a int)",
        "CREATE TEMP TABLE t (a int) AS SELECT 1",
        "CREATE TEMP TABLE s.t AS SELECT 1",
        "CREATE TEMP TABLE t ON COMMIT DROP AS SELECT 1",
        "CREATE TEMP TABLE t AS INSERT INTO x VALUES (1)",
        "CREATE TEMP TABLE t AS EXECUTE p",
        "CREATE TEMP VIEW t AS SELECT 1",
        "DROP TABLE s.t",
        "DROP TABLE",
        "DROP VIEW t",
        "DROP OWNED BY t",
    ],
)
def test_another_form_is_none(sql: str) -> None:
    """It goes the way of all statements, where it is refused or means something else."""
    assert parse_temp_table(sql) is None


def test_a_query_gets_what_it_names_in_front() -> None:
    """Also where it has relations of its own in front already."""
    relation = (
        '"t" AS NOT MATERIALIZED (SELECT CAST(t.c0 AS integer) AS "a", CAST(t.c1 AS numeric(12,2)) AS "b ""c""" '
        "FROM unnest(pg_catalog.current_setting('gateway.kept_7_0')::text[], "
        "pg_catalog.current_setting('gateway.kept_7_1')::text[]) AS t(c0, c1))"
    )
    kept = {"t": ONE}
    assert add_temp_tables("TABLE t", kept) == f"WITH {relation} TABLE t"
    assert (
        add_temp_tables("with x AS (TABLE t) TABLE x", kept)
        == f"with {relation},  x AS (TABLE t) TABLE x"
    )
    recursive = add_temp_tables("WITH RECURSIVE x AS (TABLE t) TABLE x", kept)
    assert recursive == f"WITH RECURSIVE {relation},  x AS (TABLE t) TABLE x"


def test_a_name_is_read_where_a_table_stands() -> None:
    """Elsewhere it is a column's, or a string."""
    kept = {"t": ONE}
    assert find_named_tables("SELECT T FROM x", kept) == ["t"]
    assert find_named_tables("""SELECT 't', "T" FROM x""", kept) == []
    assert find_read_table("SELECT t FROM x", kept) is None
    assert find_read_table('SELECT 1 FROM x JOIN "t" ON true', kept) == "t"
