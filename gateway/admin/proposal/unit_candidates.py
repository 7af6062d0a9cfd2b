"""The privacy unit of a source: whose rows its tables are.

The unit is the entity about which records are kept: a person, mostly. Its table has a key of one column, and most
other tables lead to it along foreign keys. So do lookup tables, which every row refers to; names and columns tell
them apart. What remains unclear is a question for the owner of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.admin.proposal.key_graph import KeyGraph, TableId, is_known
from gateway.admin.proposal.vocabulary import (
    is_about_somebody,
    is_actor,
    is_lookup_name,
    is_person,
    is_personal,
    names_lookup,
    unit_name,
)
from gateway.catalog.types import Family
from gateway.engines.catalog.describe import SourceTable, SourceTables
from gateway.errors import Code, OperatorError

_MOST_SHOWN: Final = 5
_WIDEST_LOOKUP: Final = 4
_PERSONAL: Final = 2  # so many attributes of a person make a table one of persons


@dataclass(frozen=True)
class UnitCandidate:
    """A table that may be the unit's, with its key.

    `rank` is 3 for persons, 2 for what has attributes of persons, 1 for other actors, 0 for what only its keys suggest.
    """

    table: TableId
    key: str
    reached_by: int
    rank: int

    @property
    def name(self) -> str:
        """The name of the unit."""
        return unit_name(self.table[1])

    @property
    def evidence(self) -> tuple[int, int]:
        """What candidates are ordered by."""
        return self.rank, self.reached_by


def find_candidates(graph: KeyGraph) -> list[UnitCandidate]:
    """The candidates, the likeliest first; lookup tables are none."""
    found = []
    for place, table in graph.tables.items():
        keys = _keys(graph, place)
        reached = graph.reach(place)
        if not keys or is_lookup(table):
            continue
        rank = _rank(table)
        if rank > 1 or reached:
            found.append(UnitCandidate(place, keys[0], reached, rank))
    return sorted(found, key=lambda one: (*(-part for part in one.evidence), one.table))


def clear_winner(candidates: Sequence[UnitCandidate]) -> UnitCandidate | None:
    """The first candidate if there is more evidence for it than for every other one."""
    if not candidates:
        return None
    first, *others = candidates
    return first if all(first.evidence > one.evidence for one in others) else None


def is_lookup(table: SourceTable) -> bool:
    """Whether a table seems to be a list of codes, places or things: by its name, or by its few columns."""
    if _rank(table):
        return False
    if is_lookup_name(table.name):
        return True
    families = {one.read_type.family for one in table.columns if one.has_known_type}
    times = families & {Family.DATE, Family.TIMESTAMP}
    return len(table.columns) <= _WIDEST_LOOKUP and not table.foreign_keys and not times


def columns_about_somebody(table: SourceTable) -> list[str]:
    """The columns of a table whose names are those of persons' attributes."""
    return [
        one.name
        for one in table.columns
        if one.has_known_type and is_about_somebody(one.name, one.read_type)
    ]


def may_be_public(graph: KeyGraph, place: TableId) -> bool:
    """Whether a table seems to be a list of codes, places or things: other tables refer to it, and it has no times.

    What nobody refers to, such as bookings, or what happened at some time is rather about somebody.
    """
    table = graph.tables[place]
    if _rank(table) or columns_about_somebody(table) or not graph.reach(place):
        return False
    if is_lookup_name(table.name):
        return True
    families = {one.read_type.family for one in table.columns if one.has_known_type}
    return not families & {Family.DATE, Family.TIMESTAMP}


def named_unit(graph: KeyGraph, source: SourceTables, written: str) -> UnitCandidate:
    """The unit that the owner names as `table.column`, with a schema before it or without."""
    name, _, column = written.rpartition(".")
    found = source.find(name) if name else None
    if found is None or not is_known(found, column):
        what = f"the source has no column `{written}`" if name else f"`{written}` names no table"
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"--unit: {what}", "write --unit customers.customer_id"
        )
    place = found.schema, found.name
    return UnitCandidate(place, column, graph.reach(place), _rank(found))


def unit_doubts(graph: KeyGraph, unit: UnitCandidate) -> list[str]:
    """Why a unit looks wrong."""
    table = graph.tables[unit.table]
    doubts = []
    if any(edge.column == unit.key for edge in graph.edges.get(unit.table, ())):
        doubts.append("the column refers to another table, so it is a code and no person's key")
    elif names_lookup(unit.key):
        doubts.append("its name is that of a code")
    if is_lookup(table):
        doubts.append("the table looks like a list of codes or things")
    if frozenset({unit.key}) not in table.unique:
        doubts.append("no constraint makes the column unique")
    return doubts


def refuse_unclear(graph: KeyGraph, candidates: Sequence[UnitCandidate]) -> OperatorError:
    """The refusal where nobody can be asked and the catalog does not tell."""
    shown = ", ".join(f"{one.table[1]}.{one.key} ({told(one)})" for one in candidates[:_MOST_SHOWN])
    if not shown:
        tables = ", ".join(name for _, name in list(graph.tables)[:_MOST_SHOWN])
        shown = f"no table has a key that others refer to; the tables are {tables}"
    return OperatorError(
        Code.ARGUMENT_INVALID,
        "the catalog does not tell whose privacy is protected",
        f"name the column with --unit TABLE.COLUMN: {shown}",
    )


def told(candidate: UnitCandidate) -> str:
    """How many tables lead to a candidate, in words."""
    many = candidate.reached_by
    return f"{many} other table{'' if many == 1 else 's'} lead{'s' if many == 1 else ''} to it"


def _keys(graph: KeyGraph, place: TableId) -> list[str]:
    """The keys of a table that do not refer to another table, the most referred to first."""
    targets = [
        edge.target for edges in graph.edges.values() for edge in edges if edge.parent == place
    ]
    referring = {edge.column for edge in graph.edges.get(place, ())}
    keys = [key for key in graph.single_keys(place) if key not in referring]
    return sorted(keys, key=lambda key: -targets.count(key))


def _rank(table: SourceTable) -> int:
    if is_person(table.name):
        return 3
    personal = sum(is_personal(column.name) for column in table.columns)
    if personal >= _PERSONAL and not is_actor(table.name):
        return 2
    return 1 if is_actor(table.name) else 0
