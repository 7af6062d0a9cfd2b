"""Schema check of a dataset against its source: do tables, columns and types fit?"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from gateway.catalog.tables import Column, Dataset, Table
from gateway.catalog.types import ColumnType, Family, Kind, TypeUnknown, parse_type
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.catalog.tables import SourceColumn, SourceTable

_WIDTH = {Kind.SMALLINT: 1, Kind.INTEGER: 2, Kind.BIGINT: 3, Kind.REAL: 1, Kind.DOUBLE: 2}


@dataclass(frozen=True)
class SchemaMismatch:
    """Something the policy says that the source does not have; without a column, about the table."""

    table: str
    column: str | None
    message: str
    hint: str = ""


def find_mismatches(dataset: Dataset, source: SourceTables) -> Iterator[SchemaMismatch]:
    """Everything that does not fit."""
    for table in dataset.tables:
        there = source.find(table.name)
        if there is None:
            close = get_close_matches(table.name, list(source.names()), n=1)
            hint = f"did you mean `{close[0]}`?" if close else "check that the login may read it"
            yield SchemaMismatch(table.name, None, f"the source has no table `{table.name}`", hint)
            continue
        for column in table.columns:
            yield from _column(table, column, there)


def _column(table: Table, column: Column, there: SourceTable) -> Iterator[SchemaMismatch]:
    found = there.column(column.name)
    if found is None:
        close = get_close_matches(column.name, [one.name for one in there.columns], n=1)
        hint = f"did you mean `{close[0]}`?" if close else "check that the login may read it"
        message = f"the source has no column `{table.name}.{column.name}`"
        yield SchemaMismatch(table.name, column.name, message, hint)
    elif not is_compatible(column.type, found):
        message = (
            f"`{table.name}.{column.name}` is `{found.type}` in the source, not `{column.type}`"
        )
        yield SchemaMismatch(table.name, column.name, message)


def is_compatible(declared: ColumnType, found: SourceColumn) -> bool:
    """Whether every value of the source's type is one of the declared type."""
    try:
        there = parse_type(found.type)
    except TypeUnknown:
        return False
    if declared.family is not there.family:
        return False
    if declared.family in {Family.WHOLE, Family.FLOAT}:
        return _WIDTH[there.kind] <= _WIDTH[declared.kind]
    if declared.family is Family.EXACT:
        return declared.precision is None or declared == there
    if declared.family is Family.TEXT:
        return declared.length is None or declared == there
    return declared == there
