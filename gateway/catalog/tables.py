"""Datasets, tables and columns, the part that a subject may see, and the gateway's own tables.

The system tables of the gateway show every subject its own rows: `gateway.budget` and others. In a statement they
are like public tables of a source: read as they are, and constants from then on.

A row of a table without the unit's column has the unit of its parent: it follows a *unit path*, a chain of declared keys
that each lead to one row of another protected table. The last of these has the unit in a column. docs/proofs/unit_paths.md.

INVARIANT: a protected table has its unit key, or the first column of its unit path, among its columns, and every join
leads to a column of the same dataset; users of a `Dataset` need not check that again. Each table has one unit path.
INVARIANT: a visible part has no table or column that was not named, except the unit key of a named table and the columns
of unit paths: counting persons and joining on the person need only the table. A join is kept if both of its ends are.
INVARIANT: no table of a policy is in the schema of the system tables, so a name never means two things.
INVARIANT: keys and schemas of a `Table` are what the source's catalog says. They are shown, and a name in SQL is
resolved by them; nothing about privacy rests on them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.json_values import JsonSource
from gateway.catalog.types import ColumnType, Family, Kind, parse_type
from gateway.catalog.unused_types import UnusedColumn
from gateway.catalog.zones import UTC_NAME

DEFAULT_SCHEMA: Final = "public"
"""The schema that shows a table whose name has none, in a dataset without a search path."""
LONGEST_TEXT: Final = 1_000
"""How many characters of a text are read where a policy says nothing."""
VALUES_PER_UNIT: Final = 10


class ColumnClass(StrEnum):
    """How strongly a column identifies a person."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column by name."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True)
class Membership:
    """Whether a value is an element of an array column."""

    array: str
    value: str


@dataclass(frozen=True)
class Column:
    """A column. `nullable` is true unless the source has a constraint against NULL.

    `is_path_key`: the unit path of another table leads to it.

    `hides_nulls`: an answer has no group for its NULL. `stored_type`: the source's whole numbers are of another type.

    INVARIANT: an `is_array` column, whose elements have the type `type`, is in no plan and in no visible part: row rules read
    it by columns that are a `membership`, which are true or false.
    INVARIANT: a column that is read from a document, its `json`, is no key, and no constraint is about it.
    """

    name: str
    type: ColumnType
    domain: Domain = field(default_factory=Anything)
    column_class: ColumnClass | None = None
    nullable: bool = True
    immutable: bool = False
    joins: ColumnRef | None = None
    max_length: int | None = None
    is_path_key: bool = field(default=False, repr=False)
    is_array: bool = field(default=False, repr=False)
    hides_nulls: bool = field(default=False, repr=False)
    membership: Membership | None = field(default=None, repr=False)
    json: JsonSource | None = None
    stored_type: str = ""

    @property
    def stored_name(self) -> str:
        """The column of the source that it is read from."""
        own = self.name if self.membership is None else self.membership.array
        return own if self.json is None else self.json.document

    @property
    def is_stored(self) -> bool:
        """Whether a value of the source's column is a value of this one."""
        return self.json is None and not self.is_array

    @property
    def longest(self) -> int | None:
        """The largest number of characters that is read of a text; None if it is no text."""
        if self.type.family is not Family.TEXT:
            return None
        declared = LONGEST_TEXT if self.max_length is None else self.max_length
        return declared if self.type.length is None else min(declared, self.type.length)


@dataclass(frozen=True)
class PathStep:
    """A declared key of a unit path: a column of the table before it equals `key` of one row of `parent`."""

    column: Column
    parent: str
    key: Column

    @property
    def target(self) -> ColumnRef:
        return ColumnRef(self.parent, self.key.name)


@dataclass(frozen=True)
class UnitPath:
    """The declared keys from a table to the one whose column `unit` is the unit of the row."""

    steps: tuple[PathStep, ...]
    unit: Column

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("a unit path without a key")

    @property
    def edge(self) -> PathStep:
        """The first key, whose column is one of the table itself."""
        return self.steps[0]

    def __str__(self) -> str:
        keys = " = ".join(f"{one.column.name} -> {one.target}" for one in self.steps)
        return f"{keys} = {self.steps[-1].parent}.{self.unit.name}"


@dataclass(frozen=True)
class Protection:
    """The unit of the rows, and of each unit the rows and values in a group, and the groups, that count.

    `unit_key` is a column of the table; with a `path` it is the column at its end, as `table.column`.
    """

    unit_key: str
    rows_per_unit: int
    groups_per_unit: int
    path: UnitPath | None = field(default=None, repr=False)
    values_per_unit: int = field(default=VALUES_PER_UNIT, repr=False)  # digests of slots say it


@dataclass(frozen=True)
class KeyReference:
    """Columns of a table that refer to columns of another table of the dataset."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table; `name` is as the policy writes it, `schema.table` where it has a schema.

    A public table may have no columns yet: they are read from the source's own catalog. `found_in` is the schema in
    which the source has a table whose name has none; `primary_key` and `foreign_keys` are the source's. No plan has `unused` columns.
    """

    name: str
    columns: tuple[Column, ...]
    protection: Protection | None = None
    found_in: str = field(default="", repr=False)
    primary_key: tuple[str, ...] = field(default=(), repr=False)
    foreign_keys: tuple[KeyReference, ...] = field(default=(), repr=False)
    unused: tuple[UnusedColumn, ...] = ()

    def __post_init__(self) -> None:
        if len(self._by_name) != len(self.columns):
            raise ValueError(f"two columns of `{self.name}` have one name")
        if self.protection is not None and self._first_key not in self._by_name:
            raise ValueError(f"the unit key of `{self.name}` is not among its columns")

    @property
    def public(self) -> bool:
        return self.protection is None

    @property
    def bare_name(self) -> str:
        """The name without a schema."""
        return self.name.rpartition(".")[2]

    @property
    def schema(self) -> str:
        """The schema in which an analyst finds the table."""
        return self.name.rpartition(".")[0] or self.found_in or DEFAULT_SCHEMA

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return MappingProxyType({column.name: column for column in self.columns})

    @property
    def path(self) -> UnitPath | None:
        """The way to the unit of a row; None if the table has the unit in a column, or is public."""
        return None if self.protection is None else self.protection.path

    @property
    def unit_column(self) -> Column | None:
        """The table's own column with the unit of a row; None if it has none."""
        if self.protection is None or self.protection.path is not None:
            return None
        return self._by_name[self.protection.unit_key]

    @property
    def has_one_row(self) -> bool:
        """Whether a unit is declared to have one row, with the unit in a column of its own."""
        if self.protection is None or self.protection.path is not None:
            return False
        return self.protection.rows_per_unit == 1

    @property
    def stored_tables(self) -> tuple[str, ...]:
        """The tables of the source that a scan reads: this one, and those on its unit path."""
        parents = () if self.path is None else tuple(one.parent for one in self.path.steps)
        return (self.name, *parents)

    @property
    def _first_key(self) -> str | None:
        """The own column by which a row has its unit."""
        if self.protection is None:
            return None
        path = self.protection.path
        return self.protection.unit_key if path is None else path.edge.column.name

    def is_key(self, column: Column) -> bool:
        """Whether it is the unit's column or one of a unit path: it is read as it is stored."""
        return column.is_path_key or column.name == self._first_key

    def is_kept(self, column: Column) -> bool:
        """Whether a scan needs the column whatever is read: the row has its unit by it, or is dropped for its length."""
        is_long = column.is_path_key and column.longest is not None
        return is_long or column.name == self._first_key

    def column(self, name: str) -> Column | None:
        return self._by_name.get(name)


@dataclass(frozen=True)
class Dataset:
    """The tables of one policy file, and the time zone in which a session begins."""

    name: str
    unit: str
    tables: tuple[Table, ...]
    search_path: tuple[str, ...] = ()
    time_zone: str = UTC_NAME

    def __post_init__(self) -> None:
        if len(self._by_name) != len(self.tables):
            raise ValueError("two tables have one name")
        for table in self.tables:
            for column in table.columns:
                if column.joins is not None and not joins_somewhere(column.joins, self._by_name):
                    raise ValueError(f"`{table.name}.{column.name}` joins what is not there")

    @cached_property
    def _by_name(self) -> Mapping[str, Table]:
        return MappingProxyType({table.name: table for table in self.tables})

    def table(self, name: str) -> Table | None:
        return self._by_name.get(name)

    @property
    def searched(self) -> tuple[str, ...]:
        """The schemas of the search path in which the dataset has tables; a session begins with them."""
        schemas = {table.schema for table in self.tables}
        return tuple(one for one in self.search_path if one in schemas) or (DEFAULT_SCHEMA,)

    def resolve(self, name: str, schema: str | None, path: Sequence[str]) -> Table | None:
        """The table that PostgreSQL finds by this name: in its schema, or in the first schema of the path."""
        for one in path if schema is None else (schema,):
            found = self._by_place.get((one, name))
            if found is not None:
                return found
        return None

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str], Table]:
        return MappingProxyType({(one.schema, one.bare_name): one for one in self.tables})

    def find(self, reference: ColumnRef) -> Column | None:
        table = self.table(reference.table)
        return None if table is None else table.column(reference.column)


def membership_column(array: Column, value: str) -> Column:
    """The column that says whether an array column has the value."""
    return Column(
        f"{array.name} has {value}",
        ColumnType(Kind.BOOLEAN),
        Values((False, True)),
        column_class=array.column_class,
        nullable=False,
        membership=Membership(array.name, value),
    )


def joins_somewhere(target: ColumnRef, tables: Mapping[str, Table]) -> bool:
    """Whether the column is there, or may be: the columns of a public table can come from the source."""
    table = tables.get(target.table)
    if table is None:
        return False
    return table.column(target.column) is not None or (table.public and not table.columns)


def visible_part(dataset: Dataset, columns: Mapping[str, Collection[str]]) -> Dataset:
    """The part of `dataset` with these columns of these tables, and nothing that reveals the rest."""
    kept = tuple(
        _narrowed(table, columns[table.name]) for table in dataset.tables if table.name in columns
    )
    there = {ColumnRef(table.name, column.name) for table in kept for column in table.columns}
    return replace(dataset, tables=tuple(_without_lost_joins(table, there) for table in kept))


def _narrowed(table: Table, wanted: Collection[str]) -> Table:
    kept = tuple(one for one in table.columns if table.is_key(one) or one.name in wanted)
    names = {one.name for one in kept}
    shown = table.primary_key if names.issuperset(table.primary_key) else ()
    unused = tuple(one for one in table.unused if one.name in wanted)
    return replace(table, columns=kept, primary_key=shown, unused=unused)


def _without_lost_joins(table: Table, there: set[ColumnRef]) -> Table:
    def cut(column: Column) -> Column:
        return column if column.joins in there else replace(column, joins=None)

    keys = tuple(
        key
        for key in table.foreign_keys
        if {ColumnRef(table.name, one) for one in key.columns} <= there
        and {ColumnRef(key.table, one) for one in key.references} <= there
    )
    columns = tuple(cut(column) for column in table.columns)
    return replace(table, columns=columns, foreign_keys=keys)


SCHEMA: Final = "gateway"

_COLUMNS: Final = {
    "budget": {
        "account": "text",
        "dataset": "text",
        "epsilon_limit": "numeric",
        "epsilon_spent": "numeric",
        "epsilon_remaining": "numeric",
        "delta_limit": "numeric",
        "window_every": "text",
        "window_epsilon_limit": "numeric",
        "window_epsilon_remaining": "numeric",
        "window_reopens_at": "timestamp with time zone",
    },
    "datasets": dict.fromkeys(
        ("dataset", "table_name", "column_name", "data_type", "domain", "use"), "text"
    ),
    "queries": {
        "query_id": "text",
        "at": "timestamp with time zone",
        "sql": "text",
        "outcome": "text",
        "reason": "text",
        "charged_epsilon": "numeric",
        "clipped": "text",
    },
}

OWN_TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {
        name: Table(
            f"{SCHEMA}.{name}",
            tuple(Column(column, parse_type(of)) for column, of in columns.items()),
        )
        for name, columns in _COLUMNS.items()
    }
)


def is_system_table(table: Table) -> bool:
    return OWN_TABLES.get(table.name.removeprefix(f"{SCHEMA}.")) is table
