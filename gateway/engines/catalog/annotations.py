"""What a catalog says of its tables for people: comments, and the labels of enum types. No row is read.

These are no proofs. A first policy takes descriptions and lists of values from them.
"""

import re
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
_LABELS: Final = """
SELECT n.nspname, c.relname, a.attname,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum AS e WHERE e.enumtypid = t.oid
             ORDER BY e.enumsortorder)
FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_type AS t ON t.oid = a.atttypid
WHERE t.typtype = 'e' AND a.attnum > 0 AND NOT a.attisdropped
"""
_DUCKDB_COMMENTS: Final = """
SELECT schema_name, table_name, NULL, comment FROM duckdb_tables()
WHERE comment IS NOT NULL AND database_name = current_database()
UNION ALL
SELECT schema_name, table_name, column_name, comment FROM duckdb_columns()
WHERE comment IS NOT NULL AND database_name = current_database()
"""
_DUCKDB_ENUMS: Final = """
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE starts_with(data_type, 'ENUM(') AND database_name = current_database()
"""
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True)
class Annotations:
    """Comments of tables and columns, and the labels of columns of an enum type in their order."""

    comments: Mapping[Place, str] = field(default_factory=dict)
    labels: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)


def read_annotations(connection: Connection) -> Annotations:
    """The annotations of all tables of the source."""
    if connection.dialect.name == "duckdb":
        told = connection.exec_driver_sql(_DUCKDB_COMMENTS)
        listed = {
            (schema, table, column): tuple(
                label.replace("''", "'") for label in _QUOTED.findall(of)
            )
            for schema, table, column, of in connection.exec_driver_sql(_DUCKDB_ENUMS)
        }
    else:
        told = connection.exec_driver_sql(_COMMENTS)
        listed = {
            (schema, table, column): tuple(labels)
            for schema, table, column, labels in connection.exec_driver_sql(_LABELS)
        }
    comments = {(schema, table, column): text for schema, table, column, text in told}
    return Annotations(MappingProxyType(comments), MappingProxyType(listed))
