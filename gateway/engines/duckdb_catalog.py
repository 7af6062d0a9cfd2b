"""DuckDB's catalog. Its constraints are always enforced and cannot be added unvalidated."""

import re
from collections import defaultdict

from sqlalchemy import Connection

from gateway.engines.source_tables import ForeignKey, SourceColumn, SourceTable

_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, NOT is_nullable
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, constraint_column_names,
       referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database()
ORDER BY schema_name, table_name, constraint_index
"""
# What DuckDB calls otherwise than PostgreSQL.
_NAMES = {
    "TINYINT": "smallint",
    "VARCHAR": "text",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "TIMESTAMP": "timestamp without time zone",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
}
_DECIMAL = re.compile(r"DECIMAL(\(.*\))")

_Name = tuple[str, str]


def read_duckdb(connection: Connection) -> tuple[SourceTable, ...]:
    columns: dict[_Name, list[SourceColumn]] = defaultdict(list)
    for schema, table, column, kind, not_null in connection.exec_driver_sql(_COLUMNS):
        columns[schema, table].append(SourceColumn(column, _type(kind), not_null=not_null))
    unique: dict[_Name, list[frozenset[str]]] = defaultdict(list)
    foreign: dict[_Name, list[ForeignKey]] = defaultdict(list)
    for schema, table, kind, names, to, targets in connection.exec_driver_sql(_CONSTRAINTS):
        if kind in {"PRIMARY KEY", "UNIQUE"}:
            unique[schema, table].append(frozenset(names))
        elif kind == "FOREIGN KEY" and len(names) == 1:
            foreign[schema, table].append(ForeignKey(names[0], to, targets[0]))
    return tuple(
        SourceTable(*name, tuple(found), tuple(unique[name]), tuple(foreign[name]))
        for name, found in columns.items()
    )


def _type(name: str) -> str:
    if decimal := _DECIMAL.fullmatch(name):
        return f"numeric{decimal[1].replace(' ', '')}"
    return _NAMES.get(name, name.lower())
