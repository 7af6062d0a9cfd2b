"""What the catalog of a source says of a dataset: whether its schema fits, and proofs from constraints.

A proof is a fact about a table of the dataset, and makes bounding steps unnecessary.

The schema check compares tables, columns and types. `source_columns` completes a dataset by the same catalog.

INVARIANT: a fact is proven only if a constraint of the source guarantees it in every state. It is proven of the
values as they are stored: a step that moves values, such as a clamp to a domain that they are not proven to be
within, may make two keys one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from gateway.catalog.tables import Column, ColumnRef, Dataset, PathStep, Table
from gateway.catalog.types import LONGEST_TEXT, WIDE, ColumnType, Family, Kind
from gateway.catalog.unused_types import UnusedColumn, bare_type
from gateway.engines.catalog.check_constraints import (
    constraint_limits,
    is_within,
    parse_comparisons,
)
from gateway.engines.catalog.describe import SourceColumn, SourceTable, SourceTables
from gateway.engines.catalog.type_hints import TEXT_ARRAYS, type_hint

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
            yield from _open_join(dataset, column, table, source)
        for unused in table.unused:
            yield from _unused(table, unused, there)
        if table.path is not None:
            yield from _path_key(table, table.path.edge, source)


def _path_key(table: Table, step: PathStep, source: SourceTables) -> Iterator[SchemaMismatch]:
    """The first key of a unit path; the others are those of the parents.

    INVARIANT: without a mismatch no row of the table refers to two rows of the parent, in any state of the source.
    """
    child, parent = source.find(table.name), source.find(step.parent)
    mine = None if child is None else child.column(step.column.name)
    other = None if parent is None else parent.column(step.key.name)
    if parent is None or mine is None or other is None:
        return  # which is a mismatch of these columns themselves
    name, edge = step.column.name, f"`{table.name}.{step.column.name}`"
    if (mine.type, mine.collation) != (other.type, other.collation):
        told = f"{edge} is {_typed(mine)} in the source, but `{step.target}` is {_typed(other)}"
        hint = "the keys of a unit path must have one type and one collation"
        yield SchemaMismatch(table.name, name, told, hint)
    if frozenset({step.key.name}) in parent.unique:
        return
    longer = sorted(sorted(key) for key in parent.unique if step.key.name in key)
    message = (
        f"the unit path of `{table.name}` needs one row of `{step.parent}` for each `{step.target}`"
    )
    if longer:
        listed = ", ".join(f"`{one}`" for one in longer[0])
        message += (
            f", but only ({listed}) together are unique; keys of several columns are not supported"
        )
    else:
        message += ", but no constraint that the source enforces makes it unique"
    hint = f"add a UNIQUE constraint or a primary key on `{step.target}`; a view cannot be a parent"
    yield SchemaMismatch(table.name, name, message, hint)


def _typed(column: SourceColumn) -> str:
    return f"`{column.type}`" + (f" of collation `{column.collation}`" if column.collation else "")


def list_other_paths(dataset: Dataset, source: SourceTables) -> Iterator[SchemaMismatch]:
    """Keys of protected tables that lead to a unit and are not on the unit path: of those persons nobody is protected there.

    They are the source's foreign keys and the declared `joins`, straight or over tables that the policy does not name.
    """
    names = {
        (there.schema, there.name): table.name
        for table in dataset.tables
        if (there := source.find(table.name)) is not None
    }
    protected = {table.name for table in dataset.tables if not table.public}
    for table in dataset.tables:
        there = source.find(table.name)
        if table.public or there is None:
            continue
        declared = {
            one.name: one.joins.table
            for one in table.columns
            if one.joins is not None and one.joins.table in protected
        }
        found = declared | {
            one.column: reached
            for one in there.foreign_keys
            if (reached := _protected_behind(one.at, source, names, protected)) is not None
        }
        path, own = table.path, table.unit_column
        on_path = path.edge.column.name if path is not None else own.name if own else None
        for column in sorted(found.keys() - {on_path}):
            message = (
                f"`{table.name}.{column}` leads to `{found[column]}` and is not the unit path: rows protect the person at"
                " the end of the unit path and nobody else named in them"
            )
            shown = column if table.column(column) is not None else None
            yield SchemaMismatch(table.name, shown, message)


def _protected_behind(
    at: tuple[str, str],
    source: SourceTables,
    names: Mapping[tuple[str, str], str],
    protected: Collection[str],
) -> str | None:
    """The protected table that a foreign key leads to, also over others that the policy does not name; None if none."""
    tables = {(one.schema, one.name): one for one in source.tables}
    seen, left = {at}, [at]
    while left:
        here = left.pop(0)
        if here in names:
            if names[here] in protected:
                return names[here]
            continue  # a public table has nobody in it
        onward = [one.at for one in tables[here].foreign_keys] if here in tables else []
        left += [one for one in onward if one not in seen]
        seen |= set(onward)
    return None


def _unused(table: Table, column: UnusedColumn, there: SourceTable) -> Iterator[SchemaMismatch]:
    """A column that no query reads has its own type; of a document it is known how it is read."""
    found = there.column(column.name)
    if found is None:
        message = f"the source has no column `{table.name}.{column.name}`"
        yield SchemaMismatch(table.name, column.name, message, "check that the login may read it")
    elif bare_type(found.type) != bare_type(column.type):
        message = (
            f"`{table.name}.{column.name}` is `{found.type}` in the source, not `{column.type}`"
        )
        yield SchemaMismatch(table.name, column.name, message, type_hint(found, is_key=False))


def _column(table: Table, column: Column, there: SourceTable) -> Iterator[SchemaMismatch]:
    found = there.column(column.name)
    if column.json is not None:
        if found is not None:
            message = f"`{table.name}.{column.name}` is read from `{column.json.document}`, and the source has a column of this name"
            yield SchemaMismatch(
                table.name, column.name, message, "give the column in the policy another name"
            )
    elif found is None:
        close = get_close_matches(column.name, [one.name for one in there.columns], n=1)
        hint = f"did you mean `{close[0]}`?" if close else "check that the login may read it"
        message = f"the source has no column `{table.name}.{column.name}`"
        yield SchemaMismatch(table.name, column.name, message, hint)
    elif not fits_source(column, found, is_key=table.is_key(column)):
        declared = f"{column.stored_type or column.type}{'[]' if column.is_array else ''}"
        message = f"`{table.name}.{column.name}` is `{found.type}` in the source, not `{declared}`"
        hint = type_hint(found, is_key=table.is_key(column))
        yield SchemaMismatch(table.name, column.name, message, hint)


def fits_source(column: Column, found: SourceColumn, *, is_key: bool) -> bool:
    """Whether the source's column is as the policy declares it. Keys are read as they are stored, so they are no enums."""
    if column.is_array:
        return found.type in TEXT_ARRAYS
    if column.stored_type != found.own_number or (is_key and found.type in WIDE):
        return False
    return is_compatible(column.type, found) and not (is_key and found.base)


def _open_join(
    dataset: Dataset, column: Column, table: Table, source: SourceTables
) -> Iterator[SchemaMismatch]:
    """A join to a public table whose columns come from the source."""
    target = None if column.joins is None else dataset.table(column.joins.table)
    if column.joins is None or target is None or not target.public or target.columns:
        return
    there = source.find(target.name)
    if there is not None and there.column(column.joins.column) is None:
        close = get_close_matches(column.joins.column, [one.name for one in there.columns], n=1)
        hint = f"did you mean `{close[0]}`?" if close else "check that the login may read it"
        message = f"the source has no column `{column.joins}`, which `{column.name}` joins"
        yield SchemaMismatch(table.name, column.name, message, hint)


def is_compatible(declared: ColumnType, found: SourceColumn) -> bool:
    """Whether every value of the source's type is one of the declared type."""
    if not found.has_known_type:
        return False
    there = found.read_type
    if declared.family is not there.family:
        return False
    if declared.family in {Family.WHOLE, Family.FLOAT}:
        return _WIDTH[there.kind] <= _WIDTH[declared.kind]
    if declared.family is Family.EXACT:
        return declared.precision is None or declared == there
    if declared.family is Family.TEXT:
        return declared.length is None or declared == there or _is_shorter(there, declared)
    return declared == there


def _is_shorter(there: ColumnType, declared: ColumnType) -> bool:
    both = there.kind is declared.kind is Kind.VARCHAR
    return both and (there.length or LONGEST_TEXT) <= (declared.length or 0)


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
            yield from _of_protected(table, found[table.name])


def _of_public(table: Table, found: TableProof) -> Iterator[Proof]:
    for key in sorted(tuple(sorted(key)) for key in found.unique):
        names = ", ".join(f"`{name}`" for name in key)
        message = f"a row of a person meets at most one row of `{table.name}` on {names}"
        yield Proof(table.name, ProofSubject.JOIN, key, message)


def _of_protected(table: Table, found: TableProof) -> Iterator[Proof]:
    key = table.unit_column
    if key is not None and found.meets_one({key.name}):
        message = f"`{key.name}` is unique: no person has more than one row"
        yield Proof(table.name, ProofSubject.ROWS, (key.name,), message)
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
        and column.is_stored
        and fits_source(column, found, is_key=table.is_key(column))
    }


def _within(
    table: Table | None, there: SourceTable, fitting: Mapping[str, SourceColumn]
) -> frozenset[str]:
    said = [one for text in there.checks for one in parse_comparisons(text)]
    within = set()
    for column in () if table is None or not said else table.columns:
        # what a CHECK says of an enum or a domain is said by other operators than those of texts
        if (found := fitting.get(column.name)) is not None and not found.base:
            of = found.read_type
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
