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
        ("CREATE TABLE t () INHERITS (u)", False),
        ("CREATE TABLE t (a bigint UNIQUE) INHERITS (u)", True),
        ("CREATE TABLE t (a bigint UNIQUE) PARTITION BY RANGE (a)", False),
        (
            """CREATE TABLE v (a bigint UNIQUE) PARTITION BY RANGE (a);
            CREATE TABLE t PARTITION OF v FOR VALUES FROM (0) TO (9)""",
            False,
        ),
        ("CREATE TABLE u (a bigint UNIQUE); CREATE VIEW t AS SELECT a FROM u", False),
        (
            "CREATE MATERIALIZED VIEW t AS SELECT 1::bigint AS a; CREATE UNIQUE INDEX ON t (a)",
            False,
        ),
        ('CREATE TABLE t (a text COLLATE "C" UNIQUE)', True),
    ],
)
def test_unique_is_what_postgresql_enforces_always(
    sample_database: URL, statement: str, *, unique: bool
) -> None:
    """Not partial, not of expressions, not deferred, not of one part of an inheritance alone."""
    heir = "CREATE TABLE u (a bigint); " if "INHERITS (u)" in statement else ""
    table = described(in_postgresql(sample_database, heir + statement)).find("t")
    assert table is not None
    assert (frozenset({"a"}) in table.unique) is unique


@pytest.mark.parametrize(
    ("column", "stale"),
    [
        (
            'text COLLATE "stale"',
            "UPDATE pg_collation SET collversion = '0' WHERE collname = 'stale'",
        ),
        (
            "text",
            "UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database()",
        ),
    ],
)
def test_unique_text_counts_only_by_the_version_of_its_collation_that_is_there(
    sample_database: URL, column: str, stale: str
) -> None:
    """An index that was sorted by another version may hold a text twice; whole numbers are not concerned."""
    create = f"""CREATE COLLATION stale (provider = libc, locale = 'C.utf8');
        CREATE TABLE t (a {column} UNIQUE, b bigint UNIQUE)"""
    table = described(in_postgresql(sample_database, create)).find("t")
    assert table is not None
    assert {frozenset({"a"}), frozenset({"b"})} == set(table.unique)
    table = described(in_postgresql(sample_database, stale)).find("t")
    assert table is not None
    assert {frozenset({"b"})} == set(table.unique)


def test_unique_without_overlaps_is_not_unique(sample_database: URL) -> None:
    """Its index is one of exclusion: what is equal is for others to say than the equality of a join."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        if connection.info.server_version < 180000:
            pytest.skip("since PostgreSQL 18")
        connection.execute(
            "CREATE TABLE t (a int4range, b int4range, PRIMARY KEY (a, b WITHOUT OVERLAPS))"
        )
    table = described(sample_database).find("t")
    assert table is not None
    assert not table.unique


def test_not_null_counts_when_it_is_validated(sample_database: URL) -> None:
    """A constraint that says NOT VALID says nothing of the rows that are there."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a bigint, b bigint NOT NULL)")
        if connection.info.server_version >= 180000:
            connection.execute("ALTER TABLE t ADD CONSTRAINT c NOT NULL a NOT VALID")
    table = described(sample_database).find("t")
    assert table is not None
    assert [(one.name, one.not_null) for one in table.columns] == [("a", False), ("b", True)]
