"""Visible tables of a subject, as the twin shows them: names, types, keys and comments, no row; and their DDL.

The twin's empty tables have exact types, keys and comments; REFERENCES is granted to everyone, SELECT to nobody.
REFERENCES lets a role see names and types in every catalog, including `information_schema`, and lets PostgreSQL
describe a statement; reading fails, even from an empty table. It is granted to PUBLIC, because the database
decides who can connect at all, and a grant to a role would show that role's name.

INVARIANT: equal sets of visible tables are one database, so everything that distinguishes two databases for an
analyst is part of this value. A foreign key to a table that is not visible is left out, because it would name that
table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import psycopg
from psycopg import sql

from gateway.catalog.tables import OWN_TABLES, Dataset, Table

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
    key = table.unit_column
    return (key.name,) if key is not None and table.has_one_row else ()


def _split(name: str) -> tuple[str, str]:
    schema, dot, bare = name.rpartition(".")
    return (schema, bare) if dot else (DEFAULT_SCHEMA, name)


_LONGEST_NAME = 63  # bytes; PostgreSQL would truncate longer names, and two names could become one
_TYPES = """
SELECT t, pg_catalog.format_type(pg_catalog.to_regtype(t), pg_catalog.to_regtypemod(t))
FROM pg_catalog.unnest(%s::text[]) AS t
"""


class UnsupportedColumn(ValueError):
    """A table that PostgreSQL cannot create like this; the message says why."""


def table_statements(inside: psycopg.Connection, tables: VisibleTables) -> Sequence[sql.Composed]:
    """The statements that create these tables, in a working order."""
    ordered = sorted(tables)
    _check_names(ordered)
    types = _types(inside, ordered)
    schemas = sorted({table.schema for table in ordered} - {DEFAULT_SCHEMA})
    return [
        *(statement for schema in schemas for statement in _schema(schema)),
        *(_table(table, types) for table in ordered),
        *(_foreign_key(table, key) for table in ordered for key in table.foreign_keys),
        *(statement for table in ordered for statement in _comments(table)),
        *(_references(table) for table in ordered),
    ]


def _types(inside: psycopg.Connection, tables: Sequence[VisibleTable]) -> Mapping[str, sql.SQL]:
    """Each type as PostgreSQL itself writes it: the only text that is pasted into SQL here."""
    wanted = sorted({column.type for table in tables for column in table.columns})
    found: dict[str, str | None] = dict(inside.execute(_TYPES, (wanted,)).fetchall())
    types: dict[str, sql.SQL] = {}
    for name, written in found.items():
        if written is None:
            raise UnsupportedColumn(f"PostgreSQL has no type `{name}`")
        types[name] = sql.SQL(written)
    return types


def _schema(schema: str) -> Iterator[sql.Composed]:
    yield sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema))
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(sql.Identifier(schema))


def _table(table: VisibleTable, types: Mapping[str, sql.SQL]) -> sql.Composed:
    parts = [_column(column, types) for column in table.columns]
    if table.primary_key:
        parts.append(sql.SQL("PRIMARY KEY ({})").format(_listed(table.primary_key)))
    return sql.SQL("CREATE TABLE {} ({})").format(_name(table), sql.SQL(", ").join(parts))


def _column(column: VisibleColumn, types: Mapping[str, sql.SQL]) -> sql.Composed:
    needed = sql.SQL(" NOT NULL" if column.not_null else "")
    return sql.SQL("{} {}{}").format(sql.Identifier(column.name), types[column.type], needed)


def _foreign_key(table: VisibleTable, key: ForeignKey) -> sql.Composed:
    return sql.SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})").format(
        _name(table),
        _listed(key.columns),
        sql.Identifier(key.schema, key.table),
        _listed(key.references),
    )


def _comments(table: VisibleTable) -> Iterator[sql.Composed]:
    if table.comment:
        yield sql.SQL("COMMENT ON TABLE {} IS {}").format(_name(table), sql.Literal(table.comment))
    for column in table.columns:
        if column.comment:
            yield sql.SQL("COMMENT ON COLUMN {} IS {}").format(
                sql.Identifier(table.schema, table.name, column.name), sql.Literal(column.comment)
            )


def _references(table: VisibleTable) -> sql.Composed:
    return sql.SQL("GRANT REFERENCES ON {} TO PUBLIC").format(_name(table))


def _name(table: VisibleTable) -> sql.Identifier:
    return sql.Identifier(table.schema, table.name)


def _listed(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _check_names(tables: Sequence[VisibleTable]) -> None:
    seen: set[tuple[str, str]] = set()
    for table in tables:
        for name in (table.schema, table.name, *(column.name for column in table.columns)):
            if not 0 < len(name.encode()) <= _LONGEST_NAME or "\0" in name:
                raise UnsupportedColumn(f"`{name}` is not a name of 1 to {_LONGEST_NAME} bytes")
        if (table.schema, table.name) in seen:
            raise UnsupportedColumn(f"two tables have the name `{table.schema}.{table.name}`")
        seen.add((table.schema, table.name))
