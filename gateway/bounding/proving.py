"""What has to be known of the source's constraints before a step may be left out, and whether it is.

INVARIANT: only keys whose values are read as they are stored count. A clamp to a domain may make two
keys one, and so may a comparison in a type that has fewer digits, such as that of a decimal as a float.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Table
from gateway.catalog.types import ColumnType, Family
from gateway.plan.grouping import PerUnit
from gateway.plan.joins import Join, Mark
from gateway.plan.labels import Protected
from gateway.plan.narrowing import conjuncts
from gateway.plan.node import Node, is_unit
from gateway.plan.relations import Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Ref, Scalar

_MOST_DIGITS: Final = 38  # of DuckDB's decimals


class ProvenTable(Protocol):
    """What is proven of one table: see `gateway.engines.proving.Proven`."""

    @property
    def within(self) -> Collection[str]: ...

    def meets_one(self, columns: Collection[str], /) -> bool: ...


class Proofs:
    """What is proven of the tables of one dataset, by their names; of the others nothing is."""

    def __init__(self, tables: Mapping[str, ProvenTable]) -> None:
        self._tables = tables

    def unit_has_one_row(self, node: Node) -> bool:
        """Whether no unit can have two rows in the relation, whatever the tables hold."""
        match node:
            case Scan(table=table) if table.protection is not None:
                return self._unique(table, {table.protection.unit_key})
            case Filter() | Project() | Window() | Mark():
                return self.unit_has_one_row(node.child)
            case PerUnit():
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

    def meets_one(self, node: Join) -> bool:
        """Whether a row of persons meets at most one row of the side that is public or released."""
        for other, mine in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other.label, Protected):
                continue
            equal = _equal_columns(node.condition, other, mine)
            if any(key <= equal for key in other.unique):
                return True
            scan = _lowest(other)
            return isinstance(scan, Scan) and self._unique(
                scan.table,
                {
                    column.name
                    for column, one in zip(scan.table.columns, scan.fields, strict=True)
                    if one.id in equal
                },
            )
        return False

    def _unique(self, table: Table, columns: Collection[str]) -> bool:
        proven = self._tables.get(table.name)
        if proven is None:
            return False
        as_stored = {
            name
            for name in columns
            if (column := table.column(name)) is not None
            and (not isinstance(column.domain, Interval) or name in proven.within)
        }
        return proven.meets_one(as_stored)


def _equal_columns(condition: Scalar | None, side: Node, other: Node) -> set[str]:
    """The columns of `side` that must be equal to a value that the row of `other` gives."""
    mine, theirs = {one.id for one in side.fields}, {one.id for one in other.fields}
    found = set()
    for part in () if condition is None else conjuncts(condition):
        if not isinstance(part, Call) or part.function != "=":
            continue
        for one, given in (part.parts, part.parts[::-1]):
            if not isinstance(one, Ref) or not isinstance(given, Ref):
                continue
            if one.field.id in mine and given.field.id in theirs and _apart(one.type, given.type):
                found.add(one.field.id)
    return found


def _apart(key: ColumnType, given: ColumnType) -> bool:
    """Whether two keys are never equal to one given value, in whichever type they are compared with it."""
    if key.family is Family.FLOAT:
        return True
    if Family.EXACT in {key.family, given.family}:
        # DuckDB compares decimals as doubles where no decimal type is known that holds both
        return key == given and key.precision is not None and key.precision <= _MOST_DIGITS
    return given.family is not Family.FLOAT


def _lowest(node: Node) -> Node:
    return _lowest(node.child) if isinstance(node, Filter) else node
