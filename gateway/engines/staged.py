"""Rows that are public or released before a plan runs, as a plan's constants read them."""

from dataclasses import dataclass

from gateway.catalog.types import ColumnType
from gateway.catalog.values import Value


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows with one value for each of `columns`, in their order; None is NULL."""

    columns: tuple[tuple[str, ColumnType], ...]
    rows: tuple[tuple[Value | None, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a staged row is shorter or longer than its columns")
