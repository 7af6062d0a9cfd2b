"""Base columns: the columns of tables to which all names in a query's expressions are traced back, with their
axes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from threading import Lock
from typing import Final

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import Column, ColumnClass, ColumnRef, Table
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.plan.fields import Field
from gateway.regions.axis import RegionAxis
from gateway.regions.grid import axis_of


@dataclass(frozen=True, slots=True)
class Base:
    """A column of a table, or a computed value with an axis of its own.

    `field` is what expressions refer to: its id is the normal text. `uses` are the source columns behind it.
    Without an axis, conditions over it are opaque.
    """

    field: Field
    axis: RegionAxis | None
    uses: frozenset[ColumnRef]
    quasi: bool


Bases = Mapping[str, Base]


_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?(#[0-9]+)?")
_WORD: Final = re.compile(r"[a-z_][a-z0-9_]*")
_MOST_BASE_COLUMNS: Final = 256
_QUASI: Final = frozenset({ColumnClass.QUASI, ColumnClass.IDENTIFIER})


def has_one_row(table: Table) -> bool:
    """True if a person has one row in the table, by the declared rows of a unit in a column of its own."""
    return table.has_one_row


def bases_of(table: Table, name: str) -> tuple[Base, ...]:
    """The columns in their order. `name` distinguishes several scans of one table."""
    return _BASE_COLUMNS.get(table, name)


class _BaseColumns:
    """The bases of tables that were read last. The tables of a policy stay the same objects for all queries."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._there: dict[tuple[int, str], tuple[Table, tuple[Base, ...]]] = {}

    def get(self, table: Table, name: str) -> tuple[Base, ...]:
        key = (id(table), name)
        known = self._there.get(key)
        # the entry holds the table, so no other object can have its address
        if known is not None and known[0] is table:
            return known[1]
        made = tuple(_base(table, name, one) for one in table.columns)
        with self._lock:
            if len(self._there) >= _MOST_BASE_COLUMNS:
                self._there.clear()
            self._there[key] = (table, made)
        return made


_BASE_COLUMNS: Final = _BaseColumns()


def _base(table: Table, name: str, column: Column) -> Base:
    shown = f"{_quoted(name, _PLAIN)}.{_quoted(column.name, _WORD)}"
    protection = table.protection
    is_unit = column is table.unit_column
    blanks = protection is not None and column.type.family is Family.FLOAT
    # a scan has only rows with a unit, which the first key of a unit path leads to
    is_edge = table.path is not None and table.path.edge.column.name == column.name
    nullable = not is_unit and not is_edge and (column.nullable or blanks)
    # the domains of public tables are not enforced
    domain = Anything() if protection is None or is_unit else _fitting(column.domain, column.type)
    reference = ColumnRef(table.name, column.name)
    quasi = is_unit or column.column_class in _QUASI
    axis = axis_of(shown, column.type, domain, nullable=nullable, quasi=quasi, column=reference)
    kept = Field(shown, column.type, domain, nullable)
    return Base(kept, axis, frozenset({reference}), quasi)


def _quoted(name: str, plain: re.Pattern[str]) -> str:
    return name if plain.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _fitting(domain: Domain, kind: ColumnType) -> Domain:
    """The domain in values of the type: among timestamps a date stands for its midnight."""
    if not isinstance(domain, Values) or kind.family is not Family.TIMESTAMP:
        return domain
    return replace(domain, values=tuple(_stamp(one) for one in domain.values))


def _stamp(value: Value) -> Value:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    return value
