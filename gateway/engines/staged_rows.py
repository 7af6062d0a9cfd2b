"""Rows that are public or released before a plan runs, as a plan's constants read them."""

from dataclasses import dataclass

from gateway.catalog.tables import LONGEST_TEXT
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


def null_if_too_long(value: Value | None) -> Value | None:
    """The value as expressions over rows read it: NULL where it is a text longer than any that is read.

    Not a part of it: keys are never changed, and a licence may rest on these values.
    """
    return None if isinstance(value, str) and len(value) > LONGEST_TEXT else value
