"""Proofs from the constraints of a source: facts about a dataset's tables, and the bounding steps that they
make unnecessary.

INVARIANT: a fact is proven only if a constraint of the source guarantees it in every state. It is proven of the
values as they are stored: a step that moves values, such as a clamp to a domain that they are not proven to be
within, may make two keys one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from gateway.catalog.tables import ColumnRef, Dataset, Table
from gateway.catalog.types import parse_type
from gateway.engines.catalog.check_constraints import (
    constraint_limits,
    is_within,
    parse_comparisons,
)
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.catalog.schema_check import is_compatible
from gateway.engines.catalog.tables import SourceColumn, SourceTable


@dataclass(frozen=True)
class ReferenceProof:
    """A foreign key to a column that is unique: equality of the two meets one row at most."""

    column: str
    to: ColumnRef


@dataclass(frozen=True)
class TableProof:
    """Of one table: the columns of each key, those that are never null, those that are in their domain or null."""

    unique: frozenset[frozenset[str]] = frozenset()
    not_null: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    leads: frozenset[ReferenceProof] = frozenset()

    def meets_one(self, columns: Collection[str]) -> bool:
        """Whether at most one row has given values in these columns."""
        return any(key <= frozenset(columns) for key in self.unique)


class ProofSubject(StrEnum):
    """What kind of step a proof makes unnecessary."""

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
    """What is proven of each table, by its name; of a column only when the source has it as declared."""
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
    """What need not be done, and why."""
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
        if (found := there.column(column.name)) is not None and is_compatible(column.type, found)
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
