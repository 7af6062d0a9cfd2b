"""Write the rows of a whole batch with one statement: one round trip, one commit, all or nothing.

The rows travel as one JSON parameter. The statement depends only on which tables are written, so
PostgreSQL plans it once for each set of tables.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from psycopg import Connection as DriverConnection
from psycopg import RawCursor
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

from gateway.store.draft import Cell
from gateway.store.tables import METADATA

_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
_ORDER = {table.name: place for place, table in enumerate(METADATA.sorted_tables)}


Driver = DriverConnection[tuple[object, ...]]


def write_rows(
    connection: Driver,
    rows: Iterable[tuple[Table, Mapping[str, Cell]]],
) -> None:
    """Insert `rows`; the caller decides about the transaction."""
    by_table: dict[str, list[Mapping[str, Cell]]] = {}
    for table, row in rows:
        by_table.setdefault(table.name, []).append(row)
    names = tuple(sorted(by_table, key=_ORDER.__getitem__))
    document = json.dumps(by_table, separators=(",", ":"))
    RawCursor(connection).execute(insert_statement(names), (document,), prepare=True)


@lru_cache
def insert_statement(names: Sequence[str]) -> bytes:
    """The statement for this set of tables; made of names from the MetaData alone."""
    inserts = [_insert_into(METADATA.tables[name]) for name in names]
    *first, last = inserts
    steps = ", ".join(f"step_{place} AS ({insert})" for place, insert in enumerate(first))
    return (f"WITH {steps} {last}" if steps else last).encode()


def _insert_into(table: Table) -> str:
    columns = ", ".join(column.name for column in table.columns)
    typed = ", ".join(f"{column.name} {column.type.compile(_DIALECT)}" for column in table.columns)
    return (
        f"INSERT INTO {table.name} ({columns}) SELECT {columns}"  # noqa: S608  # names of our own tables
        f" FROM jsonb_to_recordset($1::jsonb -> '{table.name}') AS row({typed})"
    )
