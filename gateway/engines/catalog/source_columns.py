"""Datasets completed by the catalog of their source: columns of public tables, NOT NULL, schemas and keys.

Columns of public tables that a policy leaves to the source are filled in from the source's own catalog.

INVARIANT: columns of a protected table, and columns that are declared, keep their types and domains.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import Column, Dataset, KeyReference, Table, joins_somewhere
from gateway.catalog.types import ColumnType, Family
from gateway.engines.catalog.describe import SourceTable, SourceTables
from gateway.engines.catalog.proofs import TableProof

Nameable: TypeAlias = Callable[[str], bool]


def without_columns(dataset: Dataset) -> tuple[Table, ...]:
    """The public tables without known columns."""
    return tuple(table for table in dataset.tables if table.public and not table.columns)


def with_public_columns(dataset: Dataset, source: SourceTables, nameable: Nameable) -> Dataset:
    """The dataset with the columns of its public tables as the source declares them, as far as a policy could name them."""
    missing = {table.name for table in without_columns(dataset)}
    if not missing:
        return dataset
    tables = tuple(
        _filled(table, source, nameable) if table.name in missing else table
        for table in dataset.tables
    )
    known = {table.name: table for table in tables}
    return replace(dataset, tables=tuple(_without_lost_joins(table, known) for table in tables))


def _without_lost_joins(table: Table, known: Mapping[str, Table]) -> Table:
    """The table without joins to columns that its source does not have."""
    columns = (
        one if one.joins is None or joins_somewhere(one.joins, known) else replace(one, joins=None)
        for one in table.columns
    )
    return replace(table, columns=tuple(columns))


def apply_not_null(dataset: Dataset, proofs: Mapping[str, TableProof]) -> Dataset:
    """The dataset with the source's NOT NULL columns.

    It decides which groups are listed and what the twin shows, and nothing about privacy: a NULL that came
    all the same would have no group to be in.
    """

    def with_not_null(table: Table) -> Table:
        kept = proofs[table.name].not_null if table.name in proofs else frozenset[str]()
        columns = (
            replace(one, nullable=False) if one.name in kept else one for one in table.columns
        )
        return replace(table, columns=tuple(columns))

    return replace(dataset, tables=tuple(with_not_null(table) for table in dataset.tables))


def with_places(dataset: Dataset, source: SourceTables) -> Dataset:
    """The dataset with the schemas in which the source has its tables, and the source's keys.

    They decide what the twin shows and what a name in SQL leads to. The schema of a name without one is shown only if
    the policy has a search path.
    """
    found = {table.name: source.find(table.name) for table in dataset.tables}
    names = {(there.schema, there.name): name for name, there in found.items() if there is not None}

    def placed(table: Table) -> Table:
        there = found[table.name]
        if there is None:
            return table
        known = {column.name for column in table.columns}
        foreign = (
            KeyReference((one.column,), names[one.at], (one.target,))
            for one in there.foreign_keys
            if one.column in known and one.at in names
        )
        return replace(
            table,
            found_in=there.schema if dataset.search_path else "",
            primary_key=there.primary_key if known.issuperset(there.primary_key) else (),
            foreign_keys=tuple(dict.fromkeys(foreign)),
        )

    tables = {table.name: placed(table) for table in dataset.tables}
    return replace(dataset, tables=tuple(tables.values()))


def _filled(table: Table, source: SourceTables, nameable: Nameable) -> Table:
    there = source.find(table.name)
    return table if there is None else replace(table, columns=tuple(_columns(there, nameable)))


def _columns(there: SourceTable, nameable: Nameable) -> Iterator[Column]:
    alike = Counter(one.name.lower() for one in there.columns)
    for one in there.columns:
        # sources differ in whether case counts, so a policy could declare neither of two such names
        if not nameable(one.name) or alike[one.name.lower()] > 1:
            continue
        if not one.has_known_type:
            continue
        of = one.read_type
        yield Column(
            one.name, of, _domain(of), nullable=not one.not_null, stored_type=one.own_number
        )


def _domain(of: ColumnType) -> Domain:
    """The domain; a boolean without one has that of its type."""
    return Values((False, True)) if of.family is Family.BOOLEAN else Anything()
