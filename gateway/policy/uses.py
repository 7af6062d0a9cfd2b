"""What a statement does with tables and columns, as the binder finds it and the policy decides it."""

from dataclasses import dataclass
from typing import Protocol

from gateway.catalog.tables import ColumnRef
from gateway.policy.rules import Operation


@dataclass(frozen=True, order=True)
class TableUse:
    """Rows of the table take part: counting rows or units, and joining on the unit, need no more."""

    table: str


@dataclass(frozen=True, order=True)
class ColumnUse:
    """A column is used in one way; it may be used in several."""

    column: ColumnRef
    operation: Operation

    @property
    def table(self) -> str:
        return self.column.table


Use = TableUse | ColumnUse


class FoundUse(Protocol):
    """A use as whoever read the statement says it, with the operation's word."""

    @property
    def column(self) -> ColumnRef: ...
    @property
    def operation(self) -> str: ...
