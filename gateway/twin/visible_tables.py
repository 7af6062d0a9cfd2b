"""What a database of the twin shows: tables with names, types, keys and comments, and no row.

INVARIANT: equal sets of visible tables are one database, so whatever tells two databases apart for an
analyst stands here. A key that leads to what is not visible is left out: it would name it.
"""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.catalog.system_tables import OWN_TABLES
from gateway.catalog.tables import Dataset, Table

DEFAULT_SCHEMA = "public"


@dataclass(frozen=True, order=True)
class VisibleColumn:
    """A column; `type` is as PostgreSQL's `format_type` writes it."""

    name: str
    type: str
    not_null: bool = False
    comment: str = ""


@dataclass(frozen=True, order=True)
class ForeignKey:
    """Columns that lead to the primary key of another table."""

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
    """The tables of the twin for what a subject may see of a dataset, and the gateway's own.

    A unit key is a primary key where a unit has one row; a join that leads to one is a foreign key.
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
