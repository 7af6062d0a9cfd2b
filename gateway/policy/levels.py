"""Levels of a column: how coarsely a key may be read, from the finest to the coarsest.

A level is a step of numbers (years in tens), a period of dates (months), the beginning of a text (three signs of a
postcode), or a column of a public table that groups the codes (chapters of diagnoses). `gateway.policy.generalization`
reads a plan's columns by their levels.

INVARIANT: of two levels of one column, the value at the coarser one follows from the value at the finer one, except of a
public table, whose columns the policy orders.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.tables import ColumnRef, Table
from gateway.units import format_decimal

PERIODS: Final = ("day", "month", "quarter", "year")
"""Each is made of whole ones of those before it."""


@dataclass(frozen=True)
class StepLevel:
    """Numbers at multiples of a step: each is read as the next multiple towards minus infinity."""

    step: Fraction

    @property
    def name(self) -> str:
        return format_decimal(self.step)

    def __str__(self) -> str:
        return f"in steps of {self.name}"


@dataclass(frozen=True)
class PeriodLevel:
    """Dates at the beginning of their month, quarter or year."""

    name: str

    def __str__(self) -> str:
        return f"by {self.name}"


@dataclass(frozen=True)
class PrefixLevel:
    """The first characters of a text."""

    length: int

    @property
    def name(self) -> str:
        return str(self.length)

    def __str__(self) -> str:
        return f"by the first {self.length} characters"


@dataclass(frozen=True)
class TableLevel:
    """The column of a public table, in the row whose `key` is the value; NULL where there is none."""

    table: Table
    key: str
    name: str

    def __str__(self) -> str:
        return f"by `{self.table.name}.{self.name}`"


Level: TypeAlias = StepLevel | PeriodLevel | PrefixLevel | TableLevel


@dataclass(frozen=True)
class ColumnLevel:
    """A level, and its place among those of its column: the finest is 0."""

    place: int
    level: Level


Levels: TypeAlias = tuple[Level, ...]
"""The levels of a column, finest first."""


@dataclass(frozen=True)
class ReadLevel:
    """How a statement reads a column: everywhere by `level`, in plain aggregates by `measures`, or as it is."""

    level: Level
    measures: Level | None


ReadLevels: TypeAlias = Mapping[ColumnRef, ReadLevel]


def unkeyed_level(column: ColumnRef, level: TableLevel) -> tuple[str, str]:
    """What is said of a level whose table may have a code twice, and what to do: a row would have several values."""
    table = level.table.name
    wanted = (
        f"the level `{level.name}` of `{column}` needs one row of `{table}` for each `{level.key}`"
    )
    why = "but no constraint that the source enforces makes it unique"
    remedy = f"add a UNIQUE constraint or a primary key on `{table}.{level.key}` in the source"
    return f"{wanted}, {why}", f"{remedy}; `gateway policy check` looks for it"


def level_notices(levels: ReadLevels) -> tuple[str, ...]:
    """What an analyst is told of columns that are read more coarsely than they are stored."""
    return tuple(
        f"`{column}` is read {read.level} in keys and conditions, as the policy permits it no finer"
        for column, read in sorted(levels.items())
    )
