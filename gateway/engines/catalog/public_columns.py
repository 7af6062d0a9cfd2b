"""Columns of public tables that a policy leaves to the source: filled in from the source's own catalog.

INVARIANT: columns of a protected table, and columns that are declared, keep their types and domains.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import Column, Dataset, Table
from gateway.catalog.types import ColumnType, Family, TypeUnknown, parse_type
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.catalog.proofs import TableProof
from gateway.engines.catalog.tables import SourceTable

Nameable: TypeAlias = Callable[[str], bool]


def without_columns(dataset: Dataset) -> tuple[Table, ...]:
    """The public tables of which no column is known."""
    return tuple(table for table in dataset.tables if table.public and not table.columns)


def with_public_columns(dataset: Dataset, source: SourceTables, nameable: Nameable) -> Dataset:
    """The dataset with what the source knows of its public tables; names are those a policy could declare."""
    missing = {table.name for table in without_columns(dataset)}
    if not missing:
        return dataset
    tables = tuple(
        _filled(table, source, nameable) if table.name in missing else table
        for table in dataset.tables
    )
    return replace(dataset, tables=tables)


def apply_not_null(dataset: Dataset, proofs: Mapping[str, TableProof]) -> Dataset:
    """The dataset with the columns that the source keeps from being NULL.

    It decides which groups are listed and what the twin shows, and nothing about privacy: a NULL that came
    all the same would have no group to be in.
    """

    def told(table: Table) -> Table:
        kept = proofs[table.name].not_null if table.name in proofs else frozenset[str]()
        columns = (
            replace(one, nullable=False) if one.name in kept else one for one in table.columns
        )
        return replace(table, columns=tuple(columns))

    return replace(dataset, tables=tuple(told(table) for table in dataset.tables))


def _filled(table: Table, source: SourceTables, nameable: Nameable) -> Table:
    there = source.find(table.name)
    return table if there is None else replace(table, columns=tuple(_columns(there, nameable)))


def _columns(there: SourceTable, nameable: Nameable) -> Iterator[Column]:
    alike = Counter(one.name.lower() for one in there.columns)
    for one in there.columns:
        # sources differ in whether case counts, so a policy could declare neither of two such names
        if not nameable(one.name) or alike[one.name.lower()] > 1:
            continue
        try:
            of = parse_type(one.type)
        except TypeUnknown:
            continue
        yield Column(one.name, of, _domain(of), nullable=not one.not_null)


def _domain(of: ColumnType) -> Domain:
    """A boolean has its domain from its type, here as where it is declared."""
    return Values((False, True)) if of.family is Family.BOOLEAN else Anything()
