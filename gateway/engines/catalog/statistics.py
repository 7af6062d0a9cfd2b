"""Statistics of a source's catalog: how many rows a table has, and how many different values a column.

They are made from protected values, by the source's own ANALYZE, and have no noise.

INVARIANT: they are for whoever has the source's own login, at the command line. No decision, bound, answer, notice or
record of the gateway rests on them: an import contract keeps this module from all code that answers questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy import Connection

TablePlace: TypeAlias = tuple[str, str]
ColumnPlace: TypeAlias = tuple[str, str, str]

_ROWS: Final = """
SELECT n.nspname, c.relname, c.reltuples::bigint
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND c.reltuples >= 0
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
"""
_DISTINCT: Final = """
SELECT schemaname, tablename, attname, n_distinct::float8
FROM pg_stats
WHERE NOT inherited AND n_distinct <> 0
  AND schemaname <> 'information_schema' AND NOT starts_with(schemaname, 'pg_')
"""
_DUCKDB_ROWS: Final = """
SELECT schema_name, table_name, estimated_size FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal
"""


@dataclass(frozen=True)
class Statistics:
    """Estimated rows of tables, and estimated different values of columns, as far as the source has them."""

    rows: Mapping[TablePlace, int] = field(default_factory=dict)
    distinct: Mapping[ColumnPlace, int] = field(default_factory=dict)


def read_statistics(connection: Connection) -> Statistics:
    """What the source has collected; PostgreSQL has nothing of a table before its first ANALYZE."""
    if connection.dialect.name == "duckdb":
        found = connection.exec_driver_sql(_DUCKDB_ROWS)
        return Statistics(
            MappingProxyType({(schema, table): rows for schema, table, rows in found})
        )
    rows = {
        (schema, table): int(count) for schema, table, count in connection.exec_driver_sql(_ROWS)
    }
    distinct = {
        # below zero it is a part of the rows
        (schema, table, column): round(many if many > 0 else -many * rows.get((schema, table), 0))
        for schema, table, column, many in connection.exec_driver_sql(_DISTINCT)
    }
    return Statistics(MappingProxyType(rows), MappingProxyType(distinct))
