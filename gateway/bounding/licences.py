"""Licences: bounding steps that a constraint of the source makes unnecessary; nothing else does.

A licence is given for the values of a key as they are *read*. It needs a validated, enforced constraint of the source
(`gateway.engines.catalog.proofs`), columns that are read as they are stored, and a comparison in a type in which two keys
stay two. What an analyst wrote gives none: not the values of a list, not DISTINCT, not GROUP BY, not LIMIT 1. A
join with such rows keeps one row for each key in the statement itself (`bound_joins`), and is bounded per unit.

The keys of unit paths are read as they are stored, and there the licence is no choice: a table whose rows have their unit
by a key of a parent is read only while a constraint makes that key unique (`require_unit_paths`). There is no other form.

INVARIANT: a step is skipped only where skipping it is the identity on every state that the source's constraints admit.
A clamp to a domain may make two keys one, and so may a comparison in a type that has fewer digits, such as that of a
decimal as a float. Floats are no keys at all: which of them are equal depends on the type they are read and printed in.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Table
from gateway.catalog.types import ColumnType, Family
from gateway.errors import BackendUnavailable, Code
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import Protected
from gateway.plan.joins import Join, Mark
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import Node, is_unit, walk_nodes
from gateway.plan.relations import Filter, Project, Scan, Window, below_filters
from gateway.plan.scalars import Call, Ref, Scalar

_MOST_DIGITS: Final = 38  # of DuckDB's decimals


class ProvenTable(Protocol):
    """What the source's constraints guarantee of one table: see `gateway.engines.catalog.proofs.TableProof`."""

    @property
    def within(self) -> Collection[str]: ...

    def meets_one(self, columns: Collection[str], /) -> bool: ...


class Licences:
    """The licences of one dataset, from what is proven of its tables by their names; of other tables nothing is."""

    def __init__(self, tables: Mapping[str, ProvenTable]) -> None:
        self._tables = tables

    def is_row_per_unit(self, table: Table) -> bool:
        """Whether no unit can have two rows in the table, whatever it holds."""
        key = table.unit_column
        return key is not None and self._is_unique(table, {key.name})

    def has_unit_path(self, table: Table) -> bool:
        """Whether every key of the table's unit path is of one row of the parent at most, whatever the tables hold."""
        steps = () if table.path is None else table.path.steps
        return all(
            (there := self._tables.get(one.parent)) is not None and there.meets_one({one.key.name})
            for one in steps
        )

    def unit_has_one_row(self, node: Node) -> bool:
        """Whether no unit can have two rows in the relation, whatever the tables hold."""
        match node:
            case Scan():
                return self.is_row_per_unit(node.table)
            case Filter() if node.keeps_first_rows:
                return True
            case Filter() | Project() | Window() | Mark():
                return self.unit_has_one_row(node.child)
            case PerUnit():
                # rows that are grouped by their unit alone are one for each unit by the grouping itself
                return all(is_unit(key) for _, key in node.keys) or self.unit_has_one_row(
                    node.child
                )
            case Join():
                return self._joined(node)
            case _:
                return False

    def _joined(self, node: Join) -> bool:
        sides = [
            self.unit_has_one_row(one) for one in node.below if isinstance(one.label, Protected)
        ]
        if len(sides) == len(node.below):
            return all(sides)
        return all(sides) and self.meets_one(node)

    def meets_one_of_unit(self, node: Join | Mark) -> bool:
        """Whether each row of one side meets at most one row of the other, both being rows of persons."""
        return any(
            equal_columns(node.condition, side, other) & self._single(side)
            for side, other in (node.below, node.below[::-1])
        )

    def _single(self, node: Node) -> frozenset[str]:
        """Columns of rows of persons that are read as stored, and in which no two rows have one value."""
        match node:
            case Scan():
                columns = zip(node.table.columns, node.fields, strict=True)
                return frozenset(
                    one.id
                    for column, one in columns
                    if not node.table.public and self._is_unique(node.table, {column.name})
                )
            case Filter() | Window() | Mark():
                return self._single(node.child)
            case Project():
                below = self._single(node.child)
                return frozenset(
                    made.id
                    for made, (_, one) in zip(node.fields, node.items, strict=True)
                    if isinstance(one, Ref) and one.field.id in below
                )
            case Join():
                return self._single_of_join(node)
            case _:
                return frozenset()

    def _single_of_join(self, node: Join) -> frozenset[str]:
        found = frozenset[str]()
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(side.label, Protected):
                continue
            if isinstance(other.label, Protected):
                meets = bool(equal_columns(node.condition, other, side) & self._single(other))
            else:
                meets = self.meets_one(node)
            found |= self._single(side) if meets else frozenset()
        return found

    def meets_one(self, node: Join) -> bool:
        """Whether a row of persons meets at most one row of a public table, by a key of that table."""
        for other, mine in ((node.left, node.right), (node.right, node.left)):
            scan = below_filters(other)
            if isinstance(scan, Scan) and scan.table.public:
                equal = equal_columns(node.condition, other, mine)
                pairs = zip(scan.table.columns, scan.fields, strict=True)
                return self._is_unique(
                    scan.table, {column.name for column, one in pairs if one.id in equal}
                )
        return False

    def _is_unique(self, table: Table, columns: Collection[str]) -> bool:
        proven = self._tables.get(table.name)
        if proven is None:
            return False
        return proven.meets_one(
            {
                column.name
                for column in table.columns
                if column.name in columns and _is_read_as_stored(table, column, proven)
            }
        )


def require_unit_paths(plan: Node, licences: Licences) -> Node:
    """The plan as it is, if all of its unit paths are licensed; else the source is not as the policy declares it."""
    for one in walk_nodes(plan):
        if isinstance(one, Scan) and not licences.has_unit_path(one.table):
            raise BackendUnavailable(Code.SOURCE_SCHEMA)
    return plan


def _is_read_as_stored(table: Table, column: Column, proven: ProvenTable) -> bool:
    """Whether reading keeps two values two: a set does, as what is outside becomes NULL, which equals nothing."""
    if column.type.family is Family.FLOAT:
        return False
    if table.is_key(column):
        return True
    if not table.public:
        return False  # texts are cut there, and decimals rounded
    return not isinstance(column.domain, Interval) or column.name in proven.within


def equal_columns(condition: Scalar | None, side: Node, other: Node) -> set[str]:
    """The columns of `side` that must be equal to a value that the row of `other` gives, and stay apart in that."""
    mine, theirs = {one.id for one in side.fields}, {one.id for one in other.fields}
    found = set()
    for part in () if condition is None else conjuncts(condition):
        if not isinstance(part, Call) or part.function != "=":
            continue
        for one, given in (part.parts, part.parts[::-1]):
            if not isinstance(one, Ref) or not isinstance(given, Ref):
                continue
            if (
                one.field.id in mine
                and given.field.id in theirs
                and _stay_apart(one.type, given.type)
            ):
                found.add(one.field.id)
    return found


def _stay_apart(key: ColumnType, given: ColumnType) -> bool:
    """Whether two keys are never equal to one given value, in whichever type they are compared with it."""
    if Family.FLOAT in {key.family, given.family}:
        return False
    if Family.EXACT in {key.family, given.family}:
        # DuckDB compares decimals as doubles where no decimal type is known that holds both
        return key == given and key.precision is not None and key.precision <= _MOST_DIGITS
    return True
