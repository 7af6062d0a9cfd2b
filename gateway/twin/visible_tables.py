"""Visible tables of a subject, as the twin shows them: names, types, keys and comments, and no row.

INVARIANT: equal sets of visible tables are one database, so everything that distinguishes two databases for an
analyst is part of this value. A foreign key to a table that is not visible is left out, because it would name
that table.
"""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.catalog.system_tables import OWN_TABLES
from gateway.catalog.tables import Dataset, Table

DEFAULT_SCHEMA = "public"


@dataclass(frozen=True, order=True)
class VisibleColumn:
    """A column; `type` is written as by PostgreSQL's `format_type`."""

    name: str
    type: str
    not_null: bool = False
    comment: str = ""


@dataclass(frozen=True, order=True)
class ForeignKey:
    """Columns that refer to the primary key of another table."""

    columns: tuple[str, ...]
    schema: str
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, order=True)
class VisibleTable:
    """An empty table of the twin."""

    name: str
    columns: tuple[VisibleColumn, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str = ""
    schema: str = DEFAULT_SCHEMA


VisibleTables: TypeAlias = frozenset[VisibleTable]


def visible_tables(projection: Dataset) -> VisibleTables:
    """The twin's tables for a subject's part of a dataset, and the gateway's own tables.

    A unit key is a primary key if a unit has one row; a join to such a table is a foreign key.
    """
    tables = (*projection.tables, *OWN_TABLES.values())
    keys = {table.name: _primary_key(table) for table in tables}
    return frozenset(_visible(table, keys) for table in tables)


def _visible(table: Table, keys: dict[str, tuple[str, ...]]) -> VisibleTable:
    schema, name = _split(table.name)
    primary_key = keys[table.name]
    foreign_keys = (
        ForeignKey((column.name,), *_split(column.joins.table), (column.joins.column,))
        for column in table.columns
        if column.joins is not None and keys[column.joins.table] == (column.joins.column,)
    )
    columns = tuple(
        VisibleColumn(column.name, str(column.type), not_null=not column.nullable)
        for column in table.columns
    )
    return VisibleTable(name, columns, primary_key, tuple(foreign_keys), schema=schema)


def _primary_key(table: Table) -> tuple[str, ...]:
    if table.protection is None or table.protection.rows_per_unit != 1:
        return ()
    return (table.protection.unit_key,)


def _split(name: str) -> tuple[str, str]:
    schema, dot, bare = name.rpartition(".")
    return (schema, bare) if dot else (DEFAULT_SCHEMA, name)
