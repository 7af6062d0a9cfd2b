"""The keys of a source as a graph: which column of a table refers to which key of another table.

Foreign keys are declared, by the source or by whoever calls. Where a column has none, a column of the same name and type
as the key of another table is taken for one, and marked as inferred. A key is one column that is unique by an enforced
constraint.

INVARIANT: an edge leads to a column of another table that is unique, or to the key of a table of persons that has no
unique key at all. So a path of several edges leads from a row to at most one row of each table on it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.admin.proposal.vocabulary import ends_as_key, is_person, noun, singular, words_of
from gateway.catalog.types import WIDE, Family
from gateway.engines.catalog.describe import SourceTable, SourceTables
from gateway.errors import Code, OperatorError
from gateway.policy.field_types import COLUMN_NAME

TableId: TypeAlias = tuple[str, str]
_NAME: Final = re.compile(COLUMN_NAME)
_PREFIX: Final = re.compile(r"[A-Za-z]{1,2}_(?=[A-Za-z]{4,})")
_GENERAL: Final = frozenset({"id", "key", "uuid", "guid", "code", "pk"})
_KEYS: Final = frozenset({Family.WHOLE, Family.TEXT, Family.UUID})


@dataclass(frozen=True)
class Edge:
    """A column that refers to the key `target` of the table `parent`; `declared` by a foreign key, or inferred."""

    child: TableId
    column: str
    parent: TableId
    target: str
    declared: bool


@dataclass(frozen=True)
class KeyGraph:
    """The tables of a source that a policy can name, and the edges among them."""

    tables: Mapping[TableId, SourceTable]
    edges: Mapping[TableId, tuple[Edge, ...]]

    @cached_property
    def parents(self) -> Mapping[TableId, frozenset[TableId]]:
        """All tables that the edges of each table lead to, in chains of any length."""
        return MappingProxyType({one: frozenset(self._reached(one)) for one in self.tables})

    def reach(self, table: TableId) -> int:
        """How many other tables lead to this one."""
        return sum(table in parents for parents in self.parents.values())

    def paths(self, start: TableId, unit: TableId, key: str) -> list[tuple[Edge, ...]]:
        """The shortest paths from a table to the unit's key, the likeliest first; none if there is no path.

        A path ends at the column that refers to the unit's key, or at the unit's table if that is reached by another
        of its keys.
        """
        found: list[tuple[Edge, ...]] = []
        waiting: list[tuple[Edge, ...]] = [()]
        while waiting and not found:
            longer: list[tuple[Edge, ...]] = []
            for path in waiting:
                for edge in self.edges.get(path[-1].parent if path else start, ()):
                    if edge.parent == start or any(edge.parent == one.parent for one in path):
                        continue
                    (found if edge.parent == unit else longer).append((*path, edge))
            found = [path for path in found if len(path) == 1 or all(map(self._fits, path))]
            waiting = longer
        return sorted(found, key=lambda path: self._doubt(path, key))

    def single_keys(self, table: TableId) -> tuple[str, ...]:
        """The columns that are unique by themselves and can be keys, the likeliest first."""
        return single_keys(self.tables[table])

    def soft_key(self, table: TableId, unit: TableId, key: str) -> str | None:
        """A column that may refer to the unit: it has the type of the unit's key, the name of some key, and no edge."""
        there, wanted = self.tables[table], self.tables[unit].column(key)
        known = {edge.column for edge in self.edges.get(table, ())}
        may_be = (
            one.name
            for one in there.columns
            if wanted is not None
            and _may_refer(there, one.name)
            and one.read_type == wanted.read_type
            and ends_as_key(one.name)
            and one.name not in known
            and frozenset({one.name}) not in there.unique
        )
        return next(may_be, None)

    def _fits(self, edge: Edge) -> bool:
        """Whether both columns of a key have one type, as the keys of longer paths must have."""
        child = self.tables[edge.child].column(edge.column)
        parent = self.tables[edge.parent].column(edge.target)
        return child is not None and parent is not None and child.type == parent.type

    def _doubt(self, path: tuple[Edge, ...], key: str) -> tuple[bool, int, int]:
        inferred = sum(not edge.declared for edge in path)
        gaps = sum(not _is_full(self.tables[edge.child], edge.column) for edge in path)
        return path[-1].target != key, inferred, gaps

    def _reached(self, start: TableId) -> Iterator[TableId]:
        seen, waiting = {start}, [start]
        while waiting:
            for edge in self.edges.get(waiting.pop(), ()):
                if edge.parent not in seen:
                    seen.add(edge.parent)
                    waiting.append(edge.parent)
                    yield edge.parent


def key_graph(source: SourceTables, named: Sequence[str] = ()) -> KeyGraph:
    """The graph of the tables that have at least one column that a policy can declare.

    `named` are keys that the source does not declare, as `table.column=table.key`.
    """
    tables = {
        (table.schema, table.name): table
        for table in source.tables
        if _NAME.fullmatch(table.name)
        and _NAME.fullmatch(table.schema)
        and any(is_known(table, column.name) for column in table.columns)
    }
    edges: dict[TableId, list[Edge]] = defaultdict(list)
    by_name = _keys_by_name(tables)
    said = {
        (one.child, one.column): one for one in (_named(source, tables, text) for text in named)
    }
    for place, table in tables.items():
        declared: dict[str, list[Edge]] = {one.column: [] for one in table.foreign_keys}
        for one in table.foreign_keys:
            parent = tables.get(one.at)
            if one.at == place or parent is None or not _may_refer(table, one.column):
                continue
            if one.target in single_keys(parent):
                edge = Edge(place, one.column, one.at, one.target, declared=True)
                declared[one.column].append(edge)
        for (
            column
        ) in table.columns:  # in their order, which tells more than that of the constraints
            if (place, column.name) in said:
                edges[place].append(said[place, column.name])
            elif column.name in declared:
                edges[place] += declared[column.name]
            elif _may_refer(table, column.name):
                edges[place] += _inferred(tables, by_name, place, column.name)
    return KeyGraph(
        MappingProxyType(tables),
        MappingProxyType({place: tuple(found) for place, found in edges.items()}),
    )


def _named(source: SourceTables, tables: Mapping[TableId, SourceTable], written: str) -> Edge:
    """The edge that somebody names; it needs what a declared one has."""
    ends = []
    for text in written.split("=", 1):
        name, _, column = text.strip().rpartition(".")
        table = source.find(name) if name else None
        if (
            table is None
            or (table.schema, table.name) not in tables
            or not _may_refer(table, column)
        ):
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"--key: the source has no column `{text.strip()}` that can be a key",
                "write --key child.column=parent.key, such as --key devices.owner=users.id",
            )
        ends.append((table, column))
    if len(ends) == 1 or ends[0][0] == ends[1][0]:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"--key: `{written}` does not lead from one table to another",
            "write --key child.column=parent.key, such as --key devices.owner=users.id",
        )
    (child, column), (parent, target) = ends
    mine, other = child.column(column), parent.column(target)
    if target not in single_keys(parent):
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"--key: `{parent.name}.{target}` is not unique by a constraint of the source",
            "add a UNIQUE constraint, or name the primary key",
        )
    if mine is None or other is None or mine.read_type != other.read_type:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"--key: the columns of `{written}` have different types",
            "the keys of a unit path must have one type",
        )
    place = child.schema, child.name
    return Edge(place, column, (parent.schema, parent.name), target, declared=True)


def single_keys(table: SourceTable) -> tuple[str, ...]:
    """The columns of a table that are unique by themselves and can be keys, the likeliest first.

    In a table of persons without any unique key, as a view has none, the name of the column decides.
    """
    alone = {next(iter(key)) for key in table.unique if len(key) == 1}
    if not table.unique and is_person(table.name):
        alone = {one.name for one in table.columns if _is_named_key(table.name, one.name)}
    found = [
        column.name
        for column in table.columns
        if column.name in alone and _is_key_type(table, column.name)
    ]
    return tuple(sorted(found, key=lambda name: not ends_as_key(name)))


def _is_named_key(table: str, column: str) -> bool:
    """Whether a column is called as the key of the table: `id` or `customer_id` of `customers`."""
    return column.lower() in _GENERAL or "".join(words_of(column)) in {
        f"{noun(table)}{end}" for end in _GENERAL
    }


def is_known(table: SourceTable, name: str) -> bool:
    """Whether a policy can declare the column: its name and its type are known."""
    column = table.column(name)
    return column is not None and column.has_known_type and bool(_NAME.fullmatch(name))


def _may_refer(table: SourceTable, name: str) -> bool:
    """Whether the column can be declared as a key: keys are read as they are stored, so they are no enums or domains."""
    column = table.column(name)
    plain = column is not None and not column.base and column.type not in WIDE
    return plain and is_known(table, name)


def _is_key_type(table: SourceTable, name: str) -> bool:
    column = table.column(name)
    return column is not None and _may_refer(table, name) and column.read_type.family in _KEYS


def _is_full(table: SourceTable, name: str) -> bool:
    column = table.column(name)
    return column is not None and column.not_null


def _keys_by_name(tables: Mapping[TableId, SourceTable]) -> Mapping[str, list[tuple[TableId, str]]]:
    """The names by which other tables would refer to a key: `customer_id` for `customers.id`."""
    found: dict[str, list[tuple[TableId, str]]] = defaultdict(list)
    for place, table in tables.items():
        for key in single_keys(table)[:1]:
            last = "".join(words_of(key))
            if key.lower() in _GENERAL:
                about = "".join(singular(word) for word in words_of(table.name))
                for name in {f"{about}{last}", f"{noun(table.name)}{last}"}:
                    found[name].append((place, key))
            elif ends_as_key(key):
                found["".join(words_of(_PREFIX.sub("", key, count=1)))].append((place, key))
    return found


def _inferred(
    tables: Mapping[TableId, SourceTable],
    by_name: Mapping[str, list[tuple[TableId, str]]],
    place: TableId,
    column: str,
) -> Iterator[Edge]:
    plain = "".join(words_of(_PREFIX.sub("", column, count=1)))
    there = [one for one in by_name.get(plain, ()) if one[0] != place]
    own = (place, column) in by_name.get(plain, ())
    if len(there) != 1 or (own and noun(tables[place].name) in plain):
        return
    [(parent, target)] = there
    if own and noun(tables[parent].name) not in plain:
        return
    child, key = tables[place].column(column), tables[parent].column(target)
    if child is None or key is None:
        return
    if child.read_type.family is key.read_type.family:
        yield Edge(place, column, parent, target, declared=False)
