"""Links between rows of persons along the keys of unit paths: which of them an EXISTS may be read by.

A row of a child leads to exactly one row of its parent (`docs/proofs/unit_paths.md`). So a condition on the parent is a condition
on the child's row, in a join and in EXISTS. In the other direction, and between two children of one parent, EXISTS
asks whether there are rows beside this one; the link only says which, as the comparison of the units does.

INVARIANT: a link is read only if both of its columns hold the same key of unit paths, at the scans where the paths begin. Other
equalities are opaque: rows and their partners can be chosen so that nearly all rows have one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from gateway.catalog.tables import ColumnRef
from gateway.plan.fields import PathKey
from gateway.plan.joins import Join, Mark
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan
from gateway.plan.scalars import Scalar, column_ids
from gateway.regions.base_columns import Base, has_one_row
from gateway.regions.relation import Atom, PathEnd, Relation


class LinkKind(Enum):
    """How a row finds its partners: by conditions that are read, or in a way that makes the existence of one opaque."""

    KEYS = "the unit, and keys of unit paths"
    OTHER = "other equalities, or keys among rows of one table"


@dataclass
class PathLinks:
    """The keys of unit paths that the base columns of a plan hold, by the ids of the bases."""

    keys: dict[str, frozenset[PathKey]] = field(default_factory=dict)

    def add_scan(self, node: Scan, name: str, bases: Sequence[Base]) -> Atom:
        """Remember the keys of a scan, and return it as a relation that is joined."""
        table = node.table
        fields = tuple(base.field for base in bases)
        ends = [(base.field.id, one.keys) for base, one in zip(bases, node.fields, strict=True)]
        self.keys |= {base: keys for base, keys in ends if keys}
        there = [(PathEnd(base, each.target), each.own) for base, keys in ends for each in keys]
        edge = next((one for one, own in there if not own), None)
        own = frozenset(one for one, own in there if own)
        unit = table.unit_column if table.path is None else table.path.unit
        reaches = frozenset[str]()
        if unit is not None and unit.joins is not None:
            reaches = frozenset({str(unit.joins)})
        if unit is None or not has_one_row(table):
            return Atom(name, None, reaches, edge, own, fields)
        single = str(ColumnRef(table.name, unit.name))
        return Atom(name, single, reaches | {single}, edge, own)

    def kind(
        self,
        node: Join | Mark,
        links: Collection[Scalar],
        others: Collection[Scalar],
        inner: Relation,
    ) -> LinkKind:
        """How the rows of the first side of a node find their partners, which `inner` has. `others` are the conditions
        on both sides that are no links.

        A row of the same table is opaque: nearly every row can be its own partner. A condition that is always true would
        divide the rows in two, and hide a difference of one person beside rows that are not there.
        """
        theirs = ids_of(inner)
        if not all(self._leads_to_child(one, theirs) for one in links):
            return LinkKind.OTHER
        outer, partners = node.below
        own = not frozenset(_tables_of_several(partners)).isdisjoint(_tables_of_rows(outer))
        return LinkKind.OTHER if own and (links or others) else LinkKind.KEYS

    def _leads_to_child(self, link: Scalar, inner: frozenset[str]) -> bool:
        """Whether the partner's column is the first key of its unit path, and the other column holds the same key."""
        ids = column_ids(link)
        near, far = ids - inner, ids & inner
        if len(near) != 1 or len(far) != 1:
            return False
        targets = {one.target for each in near for one in self.keys.get(each, ())}
        return any(
            not one.own and one.target in targets for each in far for one in self.keys.get(each, ())
        )


def ids_of(relation: Relation) -> frozenset[str]:
    """The bases that the columns of a relation are made of."""
    return frozenset(one for each in relation.columns.values() for one in column_ids(each))


def _tables_of_rows(node: Node) -> Iterator[str]:
    """The tables of several rows for each unit that the rows are from; EXISTS reads others, and adds none to them."""
    if isinstance(node, Scan):
        yield from _tables_of_several(node)
        return
    for one in (node.child,) if isinstance(node, Mark) else node.below:
        yield from _tables_of_rows(one)


def _tables_of_several(node: Node) -> Iterator[str]:
    for one in walk_nodes(node):
        if isinstance(one, Scan) and not one.table.public and not has_one_row(one.table):
            yield one.table.name
