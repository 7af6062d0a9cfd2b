"""Datasets, tables and columns, the part that a subject may see, and the gateway's own tables.

The system tables of the gateway show every subject its own rows: `gateway.budget` and others. In a statement they
are like public tables of a source: read as they are, and constants from then on.

INVARIANT: a protected table has its unit key among its columns, and every join leads to a column of the same
dataset; users of a `Dataset` need not check that again.
INVARIANT: a visible part has no table or column that was not named, except the unit key of a named table: counting
persons needs only the table. A join is kept if both of its ends are.
INVARIANT: no table of a policy is in the schema of the system tables, so a name never means two things.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

from gateway.catalog.domains import Anything, Domain
from gateway.catalog.types import ColumnType, Family, parse_type
from gateway.catalog.zones import UTC_NAME

LONGEST_TEXT: Final = 1_000
"""How many characters of a text are read where a policy says nothing."""


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
class Column:
    """A column. `nullable` is true unless the source has a constraint against NULL."""

    name: str
    type: ColumnType
    domain: Domain = field(default_factory=Anything)
    column_class: ColumnClass | None = None
    nullable: bool = True
    immutable: bool = False
    joins: ColumnRef | None = None
    max_length: int | None = None

    @property
    def longest(self) -> int | None:
        """The largest number of characters that is read of a text; None if it is no text."""
        if self.type.family is not Family.TEXT:
            return None
        declared = LONGEST_TEXT if self.max_length is None else self.max_length
        return declared if self.type.length is None else min(declared, self.type.length)


@dataclass(frozen=True)
class Protection:
    """The unit of the rows, the rows per unit and group that count, and the groups per unit that count."""

    unit_key: str
    rows_per_unit: int
    groups_per_unit: int


@dataclass(frozen=True)
class Table:
    """A table; `name` is as the policy writes it, `schema.table` where it has a schema.

    A public table may have no columns yet: they are read from the source's own catalog.
    """

    name: str
    columns: tuple[Column, ...]
    protection: Protection | None = None

    def __post_init__(self) -> None:
        if len(self._by_name) != len(self.columns):
            raise ValueError(f"two columns of `{self.name}` have one name")
        if self.protection is not None and self.protection.unit_key not in self._by_name:
            raise ValueError(f"the unit key of `{self.name}` is not among its columns")

    @property
    def public(self) -> bool:
        return self.protection is None

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return MappingProxyType({column.name: column for column in self.columns})

    @property
    def unit_column(self) -> Column | None:
        return None if self.protection is None else self._by_name[self.protection.unit_key]

    def column(self, name: str) -> Column | None:
        return self._by_name.get(name)


@dataclass(frozen=True)
class Dataset:
    """The tables of one policy file, and the time zone in which a session begins."""

    name: str
    unit: str
    tables: tuple[Table, ...]
    time_zone: str = UTC_NAME

    def __post_init__(self) -> None:
        if len(self._by_name) != len(self.tables):
            raise ValueError("two tables have one name")
        for table in self.tables:
            for column in table.columns:
                if column.joins is not None and self.find(column.joins) is None:
                    raise ValueError(f"`{table.name}.{column.name}` joins what is not there")

    @cached_property
    def _by_name(self) -> Mapping[str, Table]:
        return MappingProxyType({table.name: table for table in self.tables})

    def table(self, name: str) -> Table | None:
        return self._by_name.get(name)

    def find(self, reference: ColumnRef) -> Column | None:
        table = self.table(reference.table)
        return None if table is None else table.column(reference.column)


def visible_part(dataset: Dataset, columns: Mapping[str, Collection[str]]) -> Dataset:
    """The part of `dataset` with these columns of these tables, and nothing that reveals the rest."""
    kept = tuple(
        _narrowed(table, columns[table.name]) for table in dataset.tables if table.name in columns
    )
    there = {ColumnRef(table.name, column.name) for table in kept for column in table.columns}
    return replace(dataset, tables=tuple(_without_lost_joins(table, there) for table in kept))


def _narrowed(table: Table, wanted: Collection[str]) -> Table:
    key = None if table.protection is None else table.protection.unit_key
    kept = tuple(one for one in table.columns if one.name == key or one.name in wanted)
    return replace(table, columns=kept)


def _without_lost_joins(table: Table, there: set[ColumnRef]) -> Table:
    def cut(column: Column) -> Column:
        return column if column.joins in there else replace(column, joins=None)

    return replace(table, columns=tuple(cut(column) for column in table.columns))


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
    "datasets": {
        "dataset": "text",
        "table_name": "text",
        "column_name": "text",
        "data_type": "text",
        "domain": "text",
        "use": "text",
    },
    "queries": {
        "query_id": "text",
        "at": "timestamp with time zone",
        "sql": "text",
        "outcome": "text",
        "reason": "text",
        "charged_epsilon": "numeric",
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
