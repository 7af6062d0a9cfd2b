"""What the catalog of a source says of a dataset: its schema, its public columns, and proofs from constraints.

A proof is a fact about a table of the dataset, and makes bounding steps unnecessary.

The schema check compares tables, columns and types. Columns of public tables that a policy leaves to the source
are filled in from the source's own catalog.

INVARIANT: a fact is proven only if a constraint of the source guarantees it in every state. It is proven of the
values as they are stored: a step that moves values, such as a clamp to a domain that they are not proven to be
within, may make two keys one.
INVARIANT: columns of a protected table, and columns that are declared, keep their types and domains.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import Column, ColumnRef, Dataset, Table
from gateway.catalog.types import ColumnType, Family, Kind, TypeUnknown, parse_type
from gateway.engines.catalog.check_constraints import (
    constraint_limits,
    is_within,
    parse_comparisons,
)
from gateway.engines.catalog.describe import SourceColumn, SourceTable, SourceTables

_TEXT_ARRAYS: Final = frozenset({"text[]", "character varying[]", "varchar[]"})
"""As PostgreSQL and DuckDB call them."""
_WIDTH = {Kind.SMALLINT: 1, Kind.INTEGER: 2, Kind.BIGINT: 3, Kind.REAL: 1, Kind.DOUBLE: 2}


@dataclass(frozen=True)
class SchemaMismatch:
    """A declaration of the policy that the source does not match; without a column, one of the table."""

    table: str
    column: str | None
    message: str
    hint: str = ""


def find_mismatches(dataset: Dataset, source: SourceTables) -> Iterator[SchemaMismatch]:
    """All declarations that the source does not match."""
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
    elif not fits_source(column, found):
        declared = f"{column.type}{'[]' if column.is_array else ''}"
        message = f"`{table.name}.{column.name}` is `{found.type}` in the source, not `{declared}`"
        yield SchemaMismatch(table.name, column.name, message)


def fits_source(column: Column, found: SourceColumn) -> bool:
    """Whether the source's column is as the policy declares it."""
    if column.is_array:
        return found.type in _TEXT_ARRAYS
    return is_compatible(column.type, found)


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


@dataclass(frozen=True)
class ReferenceProof:
    """A foreign key to a column that is unique: equality of the two meets one row at most."""

    column: str
    to: ColumnRef


@dataclass(frozen=True)
class TableProof:
    """The proofs of one table: the columns of each key, columns that are never NULL, and columns within their domain or NULL."""

    unique: frozenset[frozenset[str]] = frozenset()
    not_null: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    leads: frozenset[ReferenceProof] = frozenset()

    def meets_one(self, columns: Collection[str]) -> bool:
        """Whether at most one row has given values in these columns."""
        return any(key <= frozenset(columns) for key in self.unique)


class ProofSubject(StrEnum):
    """The kind of step that a proof makes unnecessary."""

    ROWS = "rows"
    NULLS = "nulls"
    DOMAIN = "domain"
    JOIN = "join"


@dataclass(frozen=True)
class Proof:
    """A step that a constraint makes unnecessary, as long as the constraint stands."""

    table: str
    about: ProofSubject
    columns: tuple[str, ...]
    message: str


def prove_tables(dataset: Dataset, source: SourceTables) -> Mapping[str, TableProof]:
    """The proofs of each table by its name; a column has proofs only if the source declares it as the policy does."""
    found = {
        table.name: (there, _fitting(table, there))
        for table in dataset.tables
        if (there := source.find(table.name)) is not None
    }
    keys = {
        name: frozenset(key for key in there.unique if key and key <= fitting.keys())
        for name, (there, fitting) in found.items()
    }
    names = {(there.schema, there.name): name for name, (there, _) in found.items()}
    return MappingProxyType(
        {
            name: TableProof(
                keys[name],
                frozenset(one.name for one in fitting.values() if one.not_null),
                _within(dataset.table(name), there, fitting),
                _leads(there, fitting, names, keys),
            )
            for name, (there, fitting) in found.items()
        }
    )


def list_proofs(dataset: Dataset, source: SourceTables) -> Iterator[Proof]:
    """The steps that proofs make unnecessary, with the reasons."""
    found = prove_tables(dataset, source)
    for table in dataset.tables:
        if table.name not in found:
            continue
        if table.protection is None:
            yield from _of_public(table, found[table.name])
        else:
            yield from _of_protected(table, table.protection.unit_key, found[table.name])


def _of_public(table: Table, found: TableProof) -> Iterator[Proof]:
    for key in sorted(tuple(sorted(key)) for key in found.unique):
        names = ", ".join(f"`{name}`" for name in key)
        message = f"a row of a person meets at most one row of `{table.name}` on {names}"
        yield Proof(table.name, ProofSubject.JOIN, key, message)


def _of_protected(table: Table, unit_key: str, found: TableProof) -> Iterator[Proof]:
    if found.meets_one({unit_key}):
        message = f"`{unit_key}` is unique: no person has more than one row"
        yield Proof(table.name, ProofSubject.ROWS, (unit_key,), message)
    for column in (column.name for column in table.columns):
        if column in found.not_null:
            yield Proof(table.name, ProofSubject.NULLS, (column,), f"`{column}` is never null")
        if column in found.within:
            null = "" if column in found.not_null else ", or null"
            message = f"`{column}` is always within its domain{null}"
            yield Proof(table.name, ProofSubject.DOMAIN, (column,), message)
    for lead in sorted(found.leads, key=lambda lead: (lead.column, lead.to)):
        message = f"`{lead.column}` leads to at most one row of `{lead.to.table}`, by `{lead.to}`"
        yield Proof(table.name, ProofSubject.JOIN, (lead.column,), message)


def _fitting(table: Table, there: SourceTable) -> Mapping[str, SourceColumn]:
    return {
        column.name: found
        for column in table.columns
        if (found := there.column(column.name)) is not None
        and not column.is_array
        and is_compatible(column.type, found)
    }


def _within(
    table: Table | None, there: SourceTable, fitting: Mapping[str, SourceColumn]
) -> frozenset[str]:
    said = [one for text in there.checks for one in parse_comparisons(text)]
    within = set()
    for column in () if table is None or not said else table.columns:
        if (found := fitting.get(column.name)) is not None:
            of = parse_type(found.type)
            about = [one for one in said if one.column == column.name]
            if is_within(
                constraint_limits(about, of, exact_text=found.exact_text), column.domain, of
            ):
                within.add(column.name)
    return frozenset(within)


def _leads(
    there: SourceTable,
    fitting: Mapping[str, SourceColumn],
    names: Mapping[tuple[str, str], str],
    keys: Mapping[str, frozenset[frozenset[str]]],
) -> frozenset[ReferenceProof]:
    return frozenset(
        ReferenceProof(one.column, ColumnRef(to, one.target))
        for one in there.foreign_keys
        if one.column in fitting
        and (to := names.get(one.at)) is not None
        and frozenset({one.target}) in keys[to]
    )


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
    return replace(dataset, tables=tables)


def apply_not_null(dataset: Dataset, proofs: Mapping[str, TableProof]) -> Dataset:
    """The dataset with the source's NOT NULL columns.

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
    """The domain; a boolean without one has that of its type."""
    return Values((False, True)) if of.family is Family.BOOLEAN else Anything()
