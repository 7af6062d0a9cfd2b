"""Catalog of a source as a value. Only catalogs are read, never a row of a table.

DuckDB: constraints are always enforced and cannot be added unvalidated. Texts are an exception: a CHECK compares
them by the default collation of the writing connection, so `in ('x')` may admit an X, and UNIQUE compares bytes
where the column's own collation considers more texts equal.

PostgreSQL: only constraints that are validated and always enforced count, and only those of plain tables. A table
with inheriting tables is read with their rows, which its constraints do not bind; nothing enforces what is
declared of a foreign table or a view; a partition is affected by operations on other tables. None of these proves
anything here. A unique index counts if it is a B-tree, valid, immediate, over plain columns and all rows,
considers equal what the column considers equal, and is sorted by the version of its collations that the server has
now; NULLs do not matter: no equality is true of them, and rows without a unit are dropped at every scan. A CHECK
counts if it is made of columns and of PostgreSQL's own objects: anybody may have defined any other operator,
whatever its name.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection

from gateway.catalog.types import UNSIGNED, WIDE, ColumnType, Kind, TypeUnknown, parse_type
from gateway.engines.catalog.user_types import PLAIN, duckdb_type, read_user_types

_DIGITS_OF_A_SECOND: Final = re.compile(r"^timestamp\([0-6]\)")


@dataclass(frozen=True)
class SourceColumn:
    """`type` is PostgreSQL's name of the type; if there is none, the database's own name.

    `exact_text` is true if the source calls two texts equal only if they are identical. `collation` is the name of the
    column's collation, where the source's catalog has it. `base` is what an enum or a domain is read as, and `labels`
    are those of an enum.
    """

    name: str
    type: str
    not_null: bool
    exact_text: bool = False
    collation: str = ""
    base: str = ""
    labels: tuple[str, ...] = ()

    @property
    def read_type(self) -> ColumnType:
        """The type that queries read: of a domain or an enum the one below it, of times that with all digits."""
        if self.own_number:
            return ColumnType(UNSIGNED.get(self.type, Kind.BIGINT))
        return parse_type(_DIGITS_OF_A_SECOND.sub("timestamp", self.base or self.type))

    @property
    def own_number(self) -> str:
        """The source's type of whole numbers, where PostgreSQL has none such."""
        return self.type if self.type in UNSIGNED or self.type in WIDE else ""

    @property
    def declared_type(self) -> str:
        """The type as a policy declares it."""
        return self.own_number or str(self.read_type)

    @property
    def has_known_type(self) -> bool:
        """Whether a policy can declare the column."""
        try:
            return bool(self.read_type)
        except TypeUnknown:
            return False


@dataclass(frozen=True)
class SourceForeignKey:
    """A foreign key of one column to one column of another table; `at` are that table's schema and name."""

    column: str
    table: str
    target: str
    at: tuple[str, str]


@dataclass(frozen=True)
class SourceTable:
    """`unique` are the sets of columns in which no two rows agree, by a constraint that always holds.

    `checks` are conditions that are false for no row, in the source's own words. `primary_key` is shown to clients and
    proves nothing. `is_view` is true of views, also of materialized ones.
    """

    schema: str
    name: str
    columns: tuple[SourceColumn, ...]
    unique: tuple[frozenset[str], ...] = ()
    foreign_keys: tuple[SourceForeignKey, ...] = ()
    checks: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    is_view: bool = False

    def column(self, name: str) -> SourceColumn | None:
        return next((one for one in self.columns if one.name == name), None)


_DUCKDB_COLUMNS = """
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
_DUCKDB_VIEWS = """
SELECT schema_name, view_name FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal
"""

_Name = tuple[str, str]


def read_duckdb(ask: Callable[[str], Iterable[Sequence[Any]]]) -> tuple[SourceTable, ...]:
    """The tables of the DuckDB file; `ask` runs one statement on it."""
    columns: dict[_Name, list[SourceColumn]] = defaultdict(list)
    views = {(schema, view) for schema, view in ask(_DUCKDB_VIEWS)}
    for schema, table, column, kind, full in ask(_DUCKDB_COLUMNS):
        not_null = full and (schema, table) not in views
        type_name, of = duckdb_type(kind)
        found = SourceColumn(column, type_name, not_null, base=of.base, labels=of.labels)
        columns[schema, table].append(found)
    collated = {(schema, table) for schema, table in ask(_COLLATED)}
    unique: dict[_Name, list[frozenset[str]]] = defaultdict(list)
    foreign: dict[_Name, list[SourceForeignKey]] = defaultdict(list)
    checks: dict[_Name, list[str]] = defaultdict(list)
    primary: dict[_Name, tuple[str, ...]] = {}
    for row in ask(_CONSTRAINTS):
        schema, table, kind, listed, to, referenced, condition = row
        names, targets = _names(listed), _names(referenced)
        name = schema, table
        if kind == "PRIMARY KEY":
            primary[name] = tuple(names)
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
            *name,
            tuple(found),
            tuple(unique[name]),
            tuple(foreign[name]),
            tuple(checks[name]),
            primary.get(name, ()),
            name in views,
        )
        for name, found in columns.items()
    )


def _names(listed: str | None) -> list[str]:
    found: list[str] = json.loads(listed or "[]")
    return found


_BOUND: Final = """
SELECT n.nspname, c.relname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
"""
_POSTGRESQL_COLUMNS: Final = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT EXISTS (
           SELECT FROM pg_constraint AS k
           WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum]
             AND NOT k.convalidated),
       coalesce((to_jsonb(o) ->> 'collisdeterministic')::boolean, true),
       coalesce(o.collnamespace::regnamespace || '.' || o.collname, '')
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
  AND has_schema_privilege(n.oid, 'USAGE')
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum
"""
_PRIMARY: Final = """
SELECT n.nspname, c.relname,
       ARRAY(SELECT a.attname::text
             FROM unnest(k.conkey) WITH ORDINALITY AS u(attnum, place)
             JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = u.attnum
             ORDER BY u.place)
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype = 'p'
"""
_VIEWS: Final = """
SELECT n.nspname, c.relname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm')
"""
# what a name leads to all the same: PostgreSQL looks a name up without asking who may read the table
_UNREADABLE: Final = """
SELECT n.nspname, c.relname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (current_schemas(false))
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'i', 'I', 'c')
  AND NOT (c.relkind IN ('r', 'p', 'v', 'm', 'f') AND has_any_column_privilege(c.oid, 'SELECT'))
"""
# `WITHOUT OVERLAPS` is called unique, too, and excludes by other operators than equality
_UNIQUE: Final = """
SELECT n.nspname, c.relname,
       ARRAY(SELECT a.attname::text FROM pg_attribute AS a
             WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
FROM pg_index AS i
JOIN pg_class AS x ON x.oid = i.indexrelid
JOIN pg_am AS m ON m.oid = x.relam
JOIN pg_class AS c ON c.oid = i.indrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE i.indisunique AND NOT i.indisexclusion AND m.amname = 'btree'
  AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL
  AND NOT EXISTS (
      SELECT FROM generate_series(0, i.indnkeyatts - 1) AS place
      JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[place]
      JOIN pg_opclass AS q ON q.oid = i.indclass[place]
      LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
      WHERE a.attcollation <> i.indcollation[place] OR NOT q.opcdefault
         OR NOT (o.oid IS NULL OR CASE WHEN o.collname = 'default' THEN (
                SELECT {default} FROM pg_database AS d WHERE d.datname = current_database())
            ELSE o.collversion IS NOT DISTINCT FROM pg_collation_actual_version(o.oid) END))
"""
# before PostgreSQL 15 nobody noted by which version of its collation a database was sorted
_DEFAULT_IS_CURRENT: Final = (
    "d.datcollversion IS NOT DISTINCT FROM pg_database_collation_actual_version(d.oid)"
)
_DEFAULT_HAS_NO_VERSION: Final = "d.datcollate IN ('C', 'POSIX')"
_NOTED_SINCE: Final = (15,)
_FOREIGN: Final = """
SELECT n.nspname, c.relname, a.attname, tn.nspname, t.relname, ta.attname
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS t ON t.oid = k.confrelid
JOIN pg_namespace AS tn ON tn.oid = t.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
JOIN pg_attribute AS ta ON ta.attrelid = t.oid AND ta.attnum = k.confkey[1]
WHERE k.contype = 'f' AND k.convalidated AND cardinality(k.conkey) = 1
ORDER BY n.nspname, c.relname, k.conname
"""
# `conenforced` is there since PostgreSQL 18; what PostgreSQL itself has is pinned, and no dependency
_CHECKS: Final = """
SELECT n.nspname, c.relname, pg_get_expr(k.conbin, k.conrelid)
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND k.convalidated AND NOT k.connoinherit
  AND coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
  AND NOT EXISTS (
      SELECT FROM pg_depend AS d
      WHERE d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
        AND (d.refclassid <> 'pg_class'::regclass OR d.refobjid <> k.conrelid))
ORDER BY n.nspname, c.relname, k.conname
"""


def read_postgresql(connection: Connection) -> tuple[SourceTable, ...]:
    bound = {(schema, table) for schema, table in connection.exec_driver_sql(_BOUND)}
    columns: dict[_Name, list[SourceColumn]] = defaultdict(list)
    user_types = read_user_types(connection)
    for schema, table, column, kind, full, exact, collation in connection.exec_driver_sql(
        _POSTGRESQL_COLUMNS
    ):
        not_null = full and (schema, table) in bound
        of = user_types.get((schema, table, column), PLAIN)
        found = SourceColumn(column, kind, not_null, exact, collation, of.base, of.labels)
        columns[schema, table].append(found)
    unique: dict[_Name, list[frozenset[str]]] = defaultdict(list)
    for schema, table, key in connection.exec_driver_sql(_unique(connection)):
        unique[schema, table].append(frozenset(key))
    foreign: dict[_Name, list[SourceForeignKey]] = defaultdict(list)
    for schema, table, column, to_schema, to_table, to in connection.exec_driver_sql(_FOREIGN):
        target = to_table if to_schema == schema else f"{to_schema}.{to_table}"
        foreign[schema, table].append(SourceForeignKey(column, target, to, (to_schema, to_table)))
    checks: dict[_Name, list[str]] = defaultdict(list)
    for schema, table, condition in connection.exec_driver_sql(_CHECKS):
        checks[schema, table].append(condition)
    views = {(schema, table) for schema, table in connection.exec_driver_sql(_VIEWS)}
    primary = {
        (schema, table): tuple(key) for schema, table, key in connection.exec_driver_sql(_PRIMARY)
    }
    return tuple(
        SourceTable(
            *name,
            tuple(found),
            tuple(unique[name]) if name in bound else (),
            tuple(foreign[name]),
            tuple(checks[name]) if name in bound else (),
            primary.get(name, ()),
            name in views,
        )
        for name, found in columns.items()
    )


def _unique(connection: Connection) -> str:
    noted = (connection.dialect.server_version_info or ()) >= _NOTED_SINCE
    return _UNIQUE.format(default=_DEFAULT_IS_CURRENT if noted else _DEFAULT_HAS_NO_VERSION)


@dataclass(frozen=True)
class SourceTables:
    """The tables of a source by `schema.table`, and the schemas in which a name without one is looked up.

    `unreadable` are other relations in these schemas. A name may lead to one of them, and then to no table. `folds`:
    the source takes names for equal that differ in upper and lower case; to a policy such a name leads nowhere.
    """

    search_path: tuple[str, ...]
    tables: tuple[SourceTable, ...] = field(default=())
    unreadable: frozenset[_Name] = frozenset()
    folds: bool = False

    def find(self, name: str) -> SourceTable | None:
        """The table of this name; without a schema, the one that the source finds along the search path."""
        schema, _, table = name.rpartition(".")
        for one in (schema,) if schema else self.search_path:
            if (one, table) in self._by_name:
                return self._by_name[one, table]
            if not schema and self._is_taken(one, table):
                return None
        return None

    def _is_taken(self, schema: str, name: str) -> bool:
        """Whether the source finds something else of this name here."""
        if (schema, name) in self.unreadable:
            return True
        return self.folds and any(
            one.schema == schema and one.name.lower() == name.lower() for one in self.tables
        )

    def name(self, table: SourceTable) -> str:
        """The name as a policy writes it: without a schema where the search path leads to the table."""
        return table.name if self.find(table.name) is table else f"{table.schema}.{table.name}"

    def names(self) -> Iterable[str]:
        """The names as a policy writes them."""
        return map(self.name, self.tables)

    @cached_property
    def _by_name(self) -> Mapping[_Name, SourceTable]:
        return MappingProxyType({(one.schema, one.name): one for one in self.tables})


_DUCKDB_PATH: Final = ("main",)


def duckdb_tables(
    ask: Callable[[str], Iterable[Sequence[Any]]], search_path: Sequence[str] = ()
) -> SourceTables:
    """The tables of a DuckDB file, whose names are looked up along the policy's search path."""
    return SourceTables(tuple(search_path) or _DUCKDB_PATH, read_duckdb(ask), folds=True)


def describe_source(connection: Connection, search_path: Sequence[str] = ()) -> SourceTables:
    """All tables and views that the login may read.

    The search path is the policy's. Without one it is the login's own, and of PostgreSQL the connection has it already.
    """
    if connection.dialect.name == "duckdb":
        return duckdb_tables(connection.exec_driver_sql, search_path)
    path = connection.exec_driver_sql("SELECT current_schemas(false)::text[]").scalar_one()
    hidden = connection.exec_driver_sql(_UNREADABLE)
    return SourceTables(
        tuple(path) or ("public",),
        read_postgresql(connection),
        frozenset((schema, name) for schema, name in hidden),
    )
