"""Warnings of `policy check`: what a policy permits and what will disappoint, or protect the wrong thing.

A policy may be valid and still be useless, or about the wrong unit. A review compares it with the catalog of its
source, and with the statistics of the source where whoever checks has its login.

INVARIANT: no value of a row is read, and a warning changes nothing.
"""

from collections.abc import Iterator
from typing import Final

from gateway.admin.preview import PreviewedCount, preview_policy
from gateway.admin.proposal.column_lines import listed_domain
from gateway.admin.proposal.key_graph import key_graph
from gateway.admin.proposal.unit_candidates import columns_about_somebody, is_lookup
from gateway.admin.proposal.vocabulary import is_lookup_name, names_lookup
from gateway.catalog.domains import Anything
from gateway.catalog.tables import Column, ColumnClass, Table
from gateway.catalog.types import Family
from gateway.catalog.unused_types import JSON_TYPES, bare_type, cast_of
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.catalog.proofs import prove_tables
from gateway.engines.catalog.statistics import Statistics
from gateway.policy.levels import TableLevel, unkeyed_level
from gateway.policy.policy import Policy
from gateway.policy.validate import Complaints, FieldPath, PolicyError

_BOUNDED: Final = frozenset(
    {Family.WHOLE, Family.EXACT, Family.FLOAT, Family.DATE, Family.TIMESTAMP}
)
# a key with fewer values, or with more rows for each, is no person's
_FEWEST_UNITS: Final = 50
_MOST_ROWS_OF_A_UNIT: Final = 5_000
_MOST_NAMED: Final = 3
_USELESS: Final = 0.5  # of the rows of a table
_FEW_QUESTIONS: Final = 10


def review_policy(
    policy: Policy, source: SourceTables | None, statistics: Statistics, places: Complaints
) -> Iterator[PolicyError]:
    """The warnings about a policy; without a source, those that need none."""
    for table in policy.dataset.tables:
        yield from _unused_columns(table, places)
        if table.public:
            yield from _public_warnings(table, source, places)
            continue
        if source is not None:
            yield from _unit_warnings(table, source, statistics, places)
        for column in table.columns:
            if needs_domain(column):
                yield _about_domain(table, column, _labels(table, column, source), places)
    yield from _worth_warnings(policy, source, statistics, places)


def unkeyed_levels(
    policy: Policy, source: SourceTables, places: Complaints
) -> Iterator[PolicyError]:
    """Levels that rules name and that no query can read, because their table may have a code twice."""
    proven = prove_tables(policy.dataset, source)
    named = {
        (column, one.level.table.name): one.level
        for rule in policy.rules
        for levels in rule.levels.values()
        for column, one in levels.items()
        if isinstance(one.level, TableLevel)
    }
    for (column, table), level in sorted(named.items(), key=lambda one: one[0]):
        there = proven.get(table)
        if there is not None and not there.meets_one({level.key}):
            path: FieldPath = ("tables", column.table, "columns", column.column, "levels")
            yield PolicyError(places.place(path), *unkeyed_level(column, level))


def _unused_columns(table: Table, places: Complaints) -> Iterator[PolicyError]:
    """The columns that are declared and that no query reads, nor another column from them."""
    read = {one.json.document for one in table.columns if one.json is not None}
    for one in table.unused:
        if one.name in read:
            continue
        message = f"no query reads `{table.name}.{one.name}`, because its type is `{one.type}`"
        cast = cast_of(one.type, one.name)
        hint = f"a view of the table can have `{cast}` instead" if cast else ""
        if bare_type(one.type) in JSON_TYPES:
            hint = f'declare a column with `from: "{cast}"` for each key that queries may read'
        place = places.place(("tables", table.name, "columns", one.name), at_key=True)
        yield PolicyError(place, message, hint)


def needs_domain(column: Column) -> bool:
    """Whether a column is one that questions are about, and the policy says nothing of its values."""
    return isinstance(column.domain, Anything) and column.column_class is not ColumnClass.IDENTIFIER


def has_bounds(column: Column) -> bool:
    """Whether the domain of a column is a range, which `policy bounds` can find."""
    return column.type.family in _BOUNDED


def _labels(table: Table, column: Column, source: SourceTables | None) -> tuple[str, ...]:
    """The labels of the column's enum type in the source."""
    there = None if source is None else source.find(table.name)
    found = None if there is None else there.column(column.name)
    return () if found is None else found.labels


def _about_domain(
    table: Table, column: Column, labels: tuple[str, ...], places: Complaints
) -> PolicyError:
    name = f"`{table.name}.{column.name}`"
    if has_bounds(column) and column.joins is None:
        message = (
            f"{name} has no domain: it cannot be summed or averaged, and rare values are hidden"
        )
        hint = (
            "add `domain: {between: [low, high]}`; `gateway policy bounds` finds them for a price"
        )
    else:
        message = f"{name} has no domain: its rare values are hidden"
        hint = "add `domain: {in: [one, another]}` if they can be listed"
        if labels:
            hint = f"its enum type lists them: add `domain: {listed_domain(labels)}`"
    place = places.place(("tables", table.name, "columns", column.name), at_key=True)
    return PolicyError(place, message, hint)


def _public_warnings(
    table: Table, source: SourceTables | None, places: Complaints
) -> Iterator[PolicyError]:
    there = None if source is None else source.find(table.name)
    told = [] if there is None else columns_about_somebody(there)
    if told:
        names = ", ".join(f"`{name}`" for name in told[:_MOST_NAMED])
        message = f"`{table.name}` is public, but seems to be about persons: {names}"
        hint = "everybody with a permission for the dataset may read all of a public table"
        yield PolicyError(places.place(("tables", table.name), at_key=True), message, hint)


def _unit_warnings(
    table: Table, source: SourceTables, statistics: Statistics, places: Complaints
) -> Iterator[PolicyError]:
    there, key = source.find(table.name), table.unit_column
    if there is None or key is None:
        return
    path: FieldPath = ("tables", table.name, "unit_key")
    name = f"the unit key `{table.name}.{key.name}`"
    hint = "the unit is the person whose data it is: name the column with their key"
    if names_lookup(key.name):
        yield PolicyError(places.place(path), f"{name} has the name of a code", hint)
    if frozenset({key.name}) in there.unique and is_lookup_name(table.name):
        message = f"{name} is the key of a table that looks like a list of codes or things"
        yield PolicyError(places.place(path), message, hint)
    graph = key_graph(source)
    for edge in graph.edges.get((there.schema, there.name), ()):
        if edge.column == key.name and is_lookup(graph.tables[edge.parent]):
            message = f"{name} refers to `{edge.parent[1]}`, which looks like a list of codes"
            yield PolicyError(places.place(path), message, hint)
    rows = statistics.rows.get((there.schema, there.name), 0)
    many = statistics.distinct.get((there.schema, there.name, key.name))
    if many and (many < _FEWEST_UNITS < rows or rows > many * _MOST_ROWS_OF_A_UNIT):
        message = f"{name} has about {many:,} values in {rows:,} rows: too few for persons"
        yield PolicyError(places.place(path), message, hint)


_AFTER: Final = "look at the margin of the first answer, which has a clip of its own; if that is wide, too, raise `per_query.default`"


def _worth_warnings(
    policy: Policy, source: SourceTables | None, statistics: Statistics, places: Complaints
) -> Iterator[PolicyError]:
    rows = estimated_rows(policy, source, statistics)
    found = preview_policy(policy, rows, is_whole=True)
    path: FieldPath = ("privacy", "per_query", "default")
    hint = "raise `per_query.default`, or set a smaller `clip.default`; `gateway policy preview` shows all margins"
    for count in found.counts:
        if _is_useless(count):
            early = " without a histogram of norms" if count.before_histogram else ""
            message = (
                f"at the default price a count of `{count.table}` is within {count.margin:,.0f}"
                f" of about {count.rows:,} rows{early}"
            )
            yield PolicyError(places.place(path), message, _AFTER if early else hint)
    if found.by_analyst < _FEW_QUESTIONS:
        message = f"an analyst may ask {found.by_analyst} questions at the default price, for ever"
        yield PolicyError(
            places.place(path), message, "raise the budgets, or lower `per_query.default`"
        )


def estimated_rows(
    policy: Policy, source: SourceTables | None, statistics: Statistics
) -> dict[str, int]:
    """The estimated rows of the policy's tables, by their names in it."""
    if source is None:
        return {}
    found = {
        table.name: statistics.rows.get((there.schema, there.name))
        for table in policy.dataset.tables
        if (there := source.find(table.name)) is not None
    }
    return {name: rows for name, rows in found.items() if rows is not None}


def _is_useless(count: PreviewedCount) -> bool:
    return bool(count.margin and count.rows and count.margin > count.rows * _USELESS)
