"""Sources that are made of a few statements, and what their catalogs say."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
from fix_sample import plain
from sqlalchemy import URL

from gateway.engines.connect import reading_source
from gateway.engines.described import Described, describe


def in_duckdb(place: Path, statements: str) -> URL:
    file = place / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(statements)
    return URL.create("duckdb", database=str(file))


def insert_in_duckdb(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]
) -> None:
    """All rows as columns, at once: one by one DuckDB takes a millisecond for each."""
    if rows:
        columns = [pa.array(list(one)) for one in zip(*rows, strict=True)]
        made = pa.table(columns, names=[f"c{place}" for place in range(len(columns))])
        connection.register("made", made)
        connection.execute(f"INSERT INTO {table} SELECT * FROM made")
        connection.unregister("made")


def in_postgresql(url: URL, statements: str) -> URL:
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(statements.encode())
    return url


def described(url: URL) -> Described:
    with reading_source(url) as connection:
        return describe(connection)
