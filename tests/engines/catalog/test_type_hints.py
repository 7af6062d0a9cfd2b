"""The hint for a type that does not fit names what works: the type to declare, or a cast that fails for no value."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import psycopg
import pytest
from engines.sources import described, in_duckdb, in_postgresql
from fix_sample import plain
from sqlalchemy import URL

from gateway.catalog.tables import Column
from gateway.catalog.types import parse_type
from gateway.catalog.unused_types import UnusedColumn, is_unused
from gateway.engines.catalog.describe import SourceColumn, SourceTable
from gateway.engines.catalog.proofs import fits_source
from gateway.engines.catalog.type_hints import type_hint

# the type, and values that are hard on a cast
POSTGRESQL: Final[Mapping[str, Sequence[str]]] = {
    "json": ('{"key": [1]}', "[]", "1"),
    "jsonb": ('{"key": null}', '"x"'),
    "inet": ("::1/64", "10.0.0.1"),
    "cidr": ("10.0.0.0/8",),
    "macaddr": ("08:00:2b:01:02:03",),
    "macaddr8": ("08:00:2b:01:02:03:04:05",),
    "bytea": ("\\x00ff", ""),
    "name": ("x",),
    "bit(3)": ("101",),
    "bit varying": ("", "1"),
    "oid": ("4294967295",),
    "interval": ("178000000 years", "-178000000 years", "1 day"),
    "interval day to second": ("1 day",),
    "time": ("24:00:00", "00:00"),
    "time with time zone": ("24:00:00+15:59",),
    "money": ("92233720368547758.07", "-1"),
    "point": ("(1e300,0)",),
    "int4range": ("empty", "(,)"),
    "int8multirange": ("{}", "{[1,3]}"),
    "daterange": ("(,infinity)", "empty"),
    "integer[]": ("{}", "{{1,2},{3,4}}"),
    "jsonb[]": ("{}",),
    "document": ('{"key": 1}',),
    "address": ("10.0.0.1",),
}
DUCKDB: Final[Mapping[str, Sequence[str]]] = {
    "JSON": ('{"key": [1]}', "[]", "1"),
    "BLOB": ("\\x00\\xFF", ""),
    "UHUGEINT": ("340282366920938463463374607431768211455", "0"),
    "INTERVAL": ("1 day", "-100000 years"),
    "TIME": ("24:00:00", "00:00:00"),
    "TIME WITH TIME ZONE": ("23:59:59+15:59",),
    "TIMESTAMP_S": ("2024-01-31 00:00:00", "infinity"),
    "TIMESTAMP_MS": ("290000-01-31 00:00:00", "infinity"),
    "TIMESTAMP_NS": ("1700-01-31 00:00:00", "infinity"),
    "INTEGER[]": ("[]", "[NULL]"),
    "INTEGER[2]": ("[1, 2]",),
    "STRUCT(field INTEGER, other VARCHAR)": ("{'field': 1, 'other': 'x'}",),
    "MAP(VARCHAR, INTEGER)": ("{key=1}", "{}"),
    "BIT": ("101",),
}
READ: Final[Mapping[str, str]] = {
    "UTINYINT": "utinyint",
    "USMALLINT": "usmallint",
    "UINTEGER": "uinteger",
    "UBIGINT": "ubigint",
    "HUGEINT": "hugeint",
    "VARCHAR[]": "text[]",
    "DECIMAL(8,2)": "numeric(8,2)",
}
_VIEW: Final = re.compile(r"(?:a view of the table that has|from: \"?)\s*`?([^`\"]+)")


def _columns(types: Mapping[str, object]) -> str:
    return ", ".join(f"c{place} {of}" for place, of in enumerate(types))


def _expression(found: SourceColumn) -> str:
    """The expression that the hint names."""
    hint = type_hint(found, is_key=False)
    named = _VIEW.search(hint)
    assert named is not None, (found.type, hint)
    return named[1].strip()


def _require_hint(found: SourceColumn) -> None:
    """The column does not fit as a text, and fits as it stands if the hint's own type is written."""
    assert not fits_source(Column("c", parse_type("text")), found, is_key=False)
    hint = type_hint(found, is_key=False)
    declared = re.search(r"`type: \"?([^`\"]+)", hint)
    if declared is not None:
        assert is_unused(declared[1]), hint
        assert UnusedColumn("c", declared[1]).shown_type


def _view_column(table: SourceTable | None) -> SourceColumn:
    assert table is not None
    return table.columns[0]


def test_hint_of_postgresql_names_a_cast_that_works(sample_database: URL) -> None:
    """A view with the cast has a type that queries read, and no value stops it."""
    statements = f"CREATE DOMAIN document AS jsonb; CREATE DOMAIN address AS inet; CREATE TABLE t ({_columns(POSTGRESQL)})"
    table = described(in_postgresql(sample_database, statements)).find("t")
    assert table is not None
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        for found, (of, values) in zip(table.columns, POSTGRESQL.items(), strict=True):
            _require_hint(found)
            for value in values:
                put = f"INSERT INTO t ({found.name}) VALUES (CAST(%s AS {of}))"
                connection.execute(put.encode(), (value,))
            made = (
                f"DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT {_expression(found)} AS c FROM t"
            )
            connection.execute(made.encode())
            rows = connection.execute("SELECT count(c), count(*) FROM v").fetchone()
            assert rows is not None
            assert _view_column(described(sample_database).find("v")).has_known_type, of


def test_hint_of_duckdb_names_a_cast_that_works(tmp_path: Path) -> None:
    """A view with the cast has a type that queries read, and no value stops it."""
    url = in_duckdb(tmp_path, f"CREATE TABLE t ({_columns(DUCKDB)})")
    table = described(url).find("t")
    assert table is not None
    for found, (of, values) in zip(table.columns, DUCKDB.items(), strict=True):
        _require_hint(found)
        with duckdb.connect(str(url.database)) as connection:
            for value in values:
                connection.execute(
                    f"INSERT INTO t ({found.name}) VALUES (CAST(? AS {of}))", [value]
                )
            connection.execute(
                f"CREATE OR REPLACE VIEW v AS SELECT {_expression(found)} AS c FROM t"
            )
            assert connection.execute("SELECT count(c), max(c) FROM v").fetchone() is not None
        assert _view_column(described(url).find("v")).has_known_type, of


def test_hint_names_the_type_to_declare(tmp_path: Path) -> None:
    """Numbers that PostgreSQL has not, arrays that row rules read, decimals with their comma in quotes."""
    table = described(in_duckdb(tmp_path, f"CREATE TABLE t ({_columns(READ)})")).find("t")
    assert table is not None
    for found, wanted in zip(table.columns, READ.values(), strict=True):
        assert wanted in type_hint(found, is_key=False)


@pytest.mark.parametrize(
    ("of", "base", "hint"),
    [
        ("character(3)", "", "write `type: character(3)`"),
        ("mood", "text", "write `type: text`"),
        ("amount", "numeric(8,2)", 'write `type: "numeric(8,2)"`'),
        ("tsvector", "", "no question can use this type: leave the column out"),
        ("composite", "", "no question can use this type: leave the column out"),
        (
            "json",
            "",
            "write `type: json`: no query reads it; another column reads a value `from: \"c ->> 'key'\"`",
        ),
        (
            "inet",
            "",
            "leave the column out, write `type: inet` to show that it exists, or declare a view of the table that has `host(c)` instead",
        ),
    ],
)
def test_hint_is_one_sentence(of: str, base: str, hint: str) -> None:
    """It says what to write, and where nothing can be had that the column can be left out."""
    assert type_hint(SourceColumn("c", of, not_null=False, base=base), is_key=False) == hint


def test_key_that_is_an_enum_needs_a_type_of_its_own() -> None:
    """Keys are read as they are stored."""
    key = type_hint(SourceColumn("c", "mood", not_null=False, base="text"), is_key=True)
    assert "cannot be enums or domains" in key
