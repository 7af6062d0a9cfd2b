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
from typing import Final, TypeAlias

import psycopg
from psycopg import sql

from gateway.catalog.tables import DEFAULT_SCHEMA, OWN_TABLES, Dataset, KeyReference, Table
from gateway.catalog.types import Family


@dataclass(frozen=True, order=True)
class VisibleColumn:
    """A column; `type` is written as by PostgreSQL's `format_type`."""

    name: str
    type: str
    not_null: bool = False
    comment: str = ""


@dataclass(frozen=True, order=True)
class ForeignKey:
    """Columns that refer to unique columns of another table."""

    columns: tuple[str, ...]
    schema: str
    table: str
    references: tuple[str, ...]


NOT_SEARCHED: Final = -1


@dataclass(frozen=True, order=True)
class VisibleTable:
    """An empty table of the twin; `searched` is the place of its schema in the search path of sessions."""

    name: str
    columns: tuple[VisibleColumn, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str = ""
    schema: str = DEFAULT_SCHEMA
    unique: tuple[tuple[str, ...], ...] = ()
    searched: int = NOT_SEARCHED


VisibleTables: TypeAlias = frozenset[VisibleTable]


def visible_tables(projection: Dataset) -> VisibleTables:
    """The twin's tables for a subject's part of a dataset, and the gateway's own tables.

    Keys are the source's, as far as their columns are visible. A unit key is unique if a unit has one row. A join
    to unique columns is a foreign key too.
    """
    tables = {table.name: table for table in (*projection.tables, *OWN_TABLES.values())}
    path = projection.searched if projection.search_path else ()
    return frozenset(_visible(table, tables, path) for table in tables.values())


def search_path(tables: VisibleTables) -> tuple[str, ...]:
    """The search path with which sessions on these tables begin."""
    places = {one.searched: one.schema for one in tables if one.searched != NOT_SEARCHED}
    return tuple(schema for _, schema in sorted(places.items())) or (DEFAULT_SCHEMA,)


def _visible(table: Table, tables: Mapping[str, Table], path: Sequence[str]) -> VisibleTable:
    primary_key, *unique = _keys(table) or ((),)
    columns = tuple(
        VisibleColumn(column.name, str(column.type), not_null=not column.nullable)
        for column in table.columns
    )
    # behind the others, so that a statement that numbers columns means the same on both sides
    columns += tuple(VisibleColumn(one.name, one.shown_type) for one in table.unused)
    return VisibleTable(
        table.bare_name,
        columns,
        primary_key,
        tuple(_foreign_keys(table, tables)),
        schema=table.schema,
        unique=tuple(unique),
        searched=path.index(table.schema) if table.schema in path else NOT_SEARCHED,
    )


def _keys(table: Table) -> list[tuple[str, ...]]:
    """The primary key, and other unique columns behind it."""
    found = [table.primary_key] if table.primary_key else []
    key = table.unit_column
    if key is not None and table.has_one_row:
        found.append((key.name,))
    return list(dict.fromkeys(found))


def _families(table: Table, columns: Sequence[str]) -> list[Family]:
    """PostgreSQL takes no foreign key between types that it does not compare."""
    return [one.type.family for name in columns if (one := table.column(name)) is not None]


def _foreign_keys(table: Table, tables: Mapping[str, Table]) -> Iterator[ForeignKey]:
    joins = [
        KeyReference((one.name,), one.joins.table, (one.joins.column,))
        for one in table.columns
        if one.joins is not None
    ]
    for key in dict.fromkeys((*table.foreign_keys, *joins)):
        target = tables.get(key.table)
        if target is None or key.references not in _keys(target):
            continue
        if _families(table, key.columns) == _families(target, key.references):
            yield ForeignKey(key.columns, target.schema, target.bare_name, key.references)


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
    parts += [sql.SQL("UNIQUE ({})").format(_listed(one)) for one in table.unique]
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
