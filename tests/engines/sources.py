"""Sources that are made of a few statements, and what their catalogs say."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any, Final, TypeVar

import duckdb
import psycopg
import pyarrow as pa
from fix_sample import plain
from samples import Samples
from sqlalchemy import URL, column, select, text

from gateway.engines.catalog.describe import SourceTables, describe_source
from gateway.engines.connections import Connections, open_source
from gateway.engines.duckdb_preparation import DuckdbStatements
from gateway.engines.preparation import Given, Preparation, Read, Render
from gateway.engines.source import SourceDatabase

_PATIENCE_S: Final = 60.0
T = TypeVar("T")


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


class _InThisProcess:
    """The part of a preparation that runs a statement, without a process of its own."""

    def __init__(self, source: SourceDatabase, url: URL) -> None:
        there: Any = source.database
        self._statements: DuckdbStatements = there.statements
        self._file = str(url.database)

    def run(
        self,
        render: Render,
        parts: int,
        given: Given,
        read: Read[T],
        *,
        limit_s: float,
        cancelled: Event | None,
    ) -> T:
        del parts, limit_s, cancelled
        [statement] = render(1)
        sql = self._statements.find(statement)
        with duckdb.connect(self._file, config={"threads": 1}) as here:
            rows = here.execute(sql.text, sql.parameters(given)).fetchall()
        return read([[rows] if rows else []])


def quick_preparation(source: SourceDatabase, url: URL) -> Preparation | None:
    """How a law of what is rendered asks: hundreds of times, so DuckDB here instead of in a process for each.

    With `--full-samples` it asks as the gateway does; `test_release_spreads.py` and others always do.
    """
    if Samples.full or source.dialect != "duckdb":
        return None
    made: Any = _InThisProcess(source, url)
    quick: Preparation = made
    return quick


def in_postgresql(url: URL, statements: str) -> URL:
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(statements.encode())
    return url


def described(url: URL) -> SourceTables:
    with open_source(url) as connection:
        return describe_source(connection)


def connections_of(source: SourceDatabase) -> Connections:
    """The pools of a source, for whoever looks at the wire."""
    there: Any = source.database
    found: Connections = there.connections
    return found


def run_text(
    source: SourceDatabase, sql: str, limit_s: float, cancelled: Event | None = None
) -> Any:  # noqa: ANN401
    """The first value that a text gives, by the way that a prepared statement takes."""
    made = source.database.prepare([], subject="", limit_s=_PATIENCE_S, cancelled=None)
    with closing(made):
        statement = select(text(sql).columns(column("v")).subquery("s"))
        return made.run(
            lambda _: [statement],
            1,
            {},
            lambda every: next(iter(every[0]))[0][0],
            limit_s=limit_s,
            cancelled=cancelled,
        )
