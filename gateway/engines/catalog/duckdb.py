"""DuckDB's catalog. Its constraints are always enforced and cannot be added unvalidated.

Texts are an exception: a CHECK compares them by the default collation of the writing connection, so `in ('x')`
may admit an X, and UNIQUE compares bytes where the column's own collation considers more texts equal.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gateway.engines.catalog.tables import SourceColumn, SourceForeignKey, SourceTable

_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, NOT is_nullable
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, to_json(constraint_column_names)::VARCHAR,
       referenced_table, to_json(referenced_column_names)::VARCHAR, expression
FROM duckdb_constraints() WHERE database_name = current_database()
ORDER BY schema_name, table_name, constraint_index
"""
# A column's collation is in no list of the catalog; the table's own text has it.
_COLLATED = """
SELECT schema_name, table_name FROM duckdb_tables()
WHERE database_name = current_database() AND (sql IS NULL OR contains(lower(sql), 'collate'))
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


def read_duckdb(ask: Callable[[str], Iterable[Sequence[Any]]]) -> tuple[SourceTable, ...]:
    """The tables of the file that `ask` asks, one statement after the other."""
    columns: dict[_Name, list[SourceColumn]] = defaultdict(list)
    for schema, table, column, kind, not_null in ask(_COLUMNS):
        columns[schema, table].append(SourceColumn(column, _type(kind), not_null=not_null))
    collated = {(schema, table) for schema, table in ask(_COLLATED)}
    unique: dict[_Name, list[frozenset[str]]] = defaultdict(list)
    foreign: dict[_Name, list[SourceForeignKey]] = defaultdict(list)
    checks: dict[_Name, list[str]] = defaultdict(list)
    for row in ask(_CONSTRAINTS):
        schema, table, kind, listed, to, referenced, condition = row
        names, targets = _names(listed), _names(referenced)
        name = schema, table
        if kind in {"PRIMARY KEY", "UNIQUE"}:
            texts = {one.name for one in columns[name] if one.type == "text"}
            if name not in collated or texts.isdisjoint(names):
                unique[name].append(frozenset(names))
        elif kind == "FOREIGN KEY" and len(names) == 1:
            # a foreign key of DuckDB stays within its schema
            foreign[name].append(SourceForeignKey(names[0], to, targets[0], (schema, to)))
        elif kind == "CHECK" and condition is not None:
            checks[name].append(condition)
    return tuple(
        SourceTable(
            *name, tuple(found), tuple(unique[name]), tuple(foreign[name]), tuple(checks[name])
        )
        for name, found in columns.items()
    )


def _names(listed: str | None) -> list[str]:
    found: list[str] = json.loads(listed or "[]")
    return found


def _type(name: str) -> str:
    if decimal := _DECIMAL.fullmatch(name):
        return f"numeric{decimal[1].replace(' ', '')}"
    return _NAMES.get(name, name.lower())
