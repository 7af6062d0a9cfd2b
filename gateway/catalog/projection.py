"""What a subject may see of a dataset: fewer tables, fewer columns, and nothing that hints at the rest.

INVARIANT: a projection has no table or column that was not named, except the unit key of a table that
was: counting persons needs only the table. A join is kept when both of its ends are.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from gateway.catalog.tables import Column, ColumnRef, Dataset, Table


def visible(dataset: Dataset, columns: Mapping[str, Collection[str]]) -> Dataset:
    """The part of `dataset` with these columns of these tables."""
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
