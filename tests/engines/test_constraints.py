"""Unique and never null is what a real database always enforces; for each there is what it does not."""

from pathlib import Path

import psycopg
import pytest
from engines.sources import described, in_duckdb, in_postgresql
from fix_sample import plain
from sqlalchemy import URL


@pytest.mark.parametrize(
    ("column", "unique"),
    [("a text", True), ("a text COLLATE nocase", False), ("a bigint, b text COLLATE nocase", True)],
)
def test_unique_of_duckdb_is_not_by_collation(tmp_path: Path, column: str, *, unique: bool) -> None:
    """UNIQUE compares bytes: where more is equal, two rows may be met."""
    table = described(in_duckdb(tmp_path, f"CREATE TABLE t ({column}, UNIQUE (a))")).find("t")
    assert table is not None
    assert (frozenset({"a"}) in table.unique) is unique


@pytest.mark.parametrize(
    ("statement", "unique"),
    [
        ("CREATE TABLE t (a bigint UNIQUE)", True),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t (a)", True),
        ("CREATE TABLE t (a bigint, b int); CREATE UNIQUE INDEX ON t (a) INCLUDE (b)", True),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t (a) WHERE a > 0", False),
        ("CREATE TABLE t (a bigint); CREATE UNIQUE INDEX ON t ((a + 1))", False),
        ("CREATE TABLE t (a bigint, b int); CREATE UNIQUE INDEX ON t (a, b)", False),
        ("CREATE TABLE t (a bigint, b int); CREATE UNIQUE INDEX ON t (a, abs(b))", False),
        ("CREATE TABLE t (a bigint); CREATE INDEX ON t (a)", False),
        ("CREATE TABLE t (a bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)", False),
        ("CREATE TABLE t (a bigint UNIQUE DEFERRABLE)", False),
        ("CREATE TABLE t (a text); CREATE UNIQUE INDEX ON t (a text_pattern_ops)", False),
        ('CREATE TABLE t (a text); CREATE UNIQUE INDEX ON t (a COLLATE "C")', False),
        ("CREATE TABLE t (a text UNIQUE)", True),
        ("CREATE TABLE t (a bigint UNIQUE); CREATE TABLE u () INHERITS (t)", False),
        ("CREATE TABLE t (a bigint UNIQUE) PARTITION BY RANGE (a)", True),
        ("CREATE TABLE u (a bigint UNIQUE); CREATE VIEW t AS SELECT a FROM u", False),
        ("CREATE MATERIALIZED VIEW t AS SELECT 1::bigint AS a; CREATE UNIQUE INDEX ON t (a)", True),
    ],
)
def test_unique_is_what_postgresql_enforces_always(
    sample_database: URL, statement: str, *, unique: bool
) -> None:
    """Not partial, not of expressions, not deferred, not of one part of an inheritance alone."""
    table = described(in_postgresql(sample_database, statement)).find("t")
    assert table is not None
    assert (frozenset({"a"}) in table.unique) is unique


def test_not_null_counts_when_it_is_validated(sample_database: URL) -> None:
    """A constraint that says NOT VALID says nothing of the rows that are there."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a bigint, b bigint NOT NULL)")
        if connection.info.server_version >= 180000:
            connection.execute("ALTER TABLE t ADD CONSTRAINT c NOT NULL a NOT VALID")
    table = described(sample_database).find("t")
    assert table is not None
    assert [(one.name, one.not_null) for one in table.columns] == [("a", False), ("b", True)]
