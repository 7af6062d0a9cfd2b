"""Comments of tables and columns in a catalog. No row is read.

These are no proofs. A first policy takes descriptions from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy import Connection

Place: TypeAlias = tuple[str, str, str | None]
"""Schema, table and column; without a column, the table itself."""

_COMMENTS: Final = """
SELECT n.nspname, c.relname, a.attname, d.description
FROM pg_description AS d
JOIN pg_class AS c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
"""
_DUCKDB_COMMENTS: Final = """
SELECT schema_name, table_name, NULL, comment FROM duckdb_tables()
WHERE comment IS NOT NULL AND database_name = current_database()
UNION ALL
SELECT schema_name, table_name, column_name, comment FROM duckdb_columns()
WHERE comment IS NOT NULL AND database_name = current_database()
"""


@dataclass(frozen=True)
class Annotations:
    """Comments of tables and columns."""

    comments: Mapping[Place, str] = field(default_factory=dict)


def read_annotations(connection: Connection) -> Annotations:
    """The annotations of all tables of the source."""
    is_duckdb = connection.dialect.name == "duckdb"
    told = connection.exec_driver_sql(_DUCKDB_COMMENTS if is_duckdb else _COMMENTS)
    return Annotations(
        MappingProxyType({(schema, table, column): text for schema, table, column, text in told})
    )
