"""Write the rows of a whole batch with one statement: one round trip, one commit, all or nothing.

The rows travel as one JSON parameter. The statement depends only on which tables are written, so
PostgreSQL plans it once for each set of tables.

Every statement first takes its turn: a shared lock, which costs no round trip and keeps nobody
waiting but one who holds it alone, because others were faster than it before. Without it a gateway
that writes under the lock could be outrun by one that does not, again and again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from psycopg import Connection as DriverConnection
from psycopg import RawCursor
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

from gateway.store.draft import Cell
from gateway.store.tables import METADATA

WRITERS_LOCK: Final = 0x6761_7465_0002
_TURN = f"turn AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({WRITERS_LOCK}))"
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
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
    RawCursor(connection).execute(insert_statement(names), (_ENCODE(by_table),), prepare=True)


@lru_cache
def insert_statement(names: Sequence[str]) -> bytes:
    """The statement for this set of tables; made of names from the MetaData alone."""
    inserts = [_insert_into(METADATA.tables[name]) for name in names]
    *first, last = inserts
    steps = [f"step_{place} AS ({insert})" for place, insert in enumerate(first)]
    return f"WITH {', '.join([_TURN, *steps])} {last}".encode()


def _insert_into(table: Table) -> str:
    columns = ", ".join(column.name for column in table.columns)
    typed = ", ".join(f"{column.name} {column.type.compile(_DIALECT)}" for column in table.columns)
    return (
        f"INSERT INTO {table.name} ({columns}) SELECT {columns}"  # noqa: S608  # names of our own tables
        f" FROM turn, jsonb_to_recordset($1::jsonb -> '{table.name}') AS row({typed})"
    )
