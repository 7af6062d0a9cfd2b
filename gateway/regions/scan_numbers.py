"""Numbers that tell several scans of one table apart in the names of their columns.

INVARIANT: rows that can meet have scans with different numbers, and a query has the same numbers with and without an EXISTS
that says nothing. So scans below EXISTS are numbered after all that are joined around it, wherever these stand, and each
EXISTS begins from the same number.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.plan.joins import Mark, UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan


class ScanNumbers:
    """Counts how often each table, or union, was read so far on the way through a plan."""

    def __init__(self, plan: Node | None = None) -> None:
        self._counts: dict[str, int] = {}
        self._joined: Counter[str] = Counter() if plan is None else joined_scans(plan)

    def numbered(self, name: str) -> str:
        """The name, with a number from the second time on: two rows of a person may meet there."""
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    @contextmanager
    def below_exists(self, inner: Node) -> Iterator[None]:
        """While the rows are followed down that an EXISTS asks for."""
        before, joined = dict(self._counts), self._joined
        self._counts |= joined
        self._joined = joined + joined_scans(inner)
        yield
        self._joined = joined
        scanned = {one.table.name for one in walk_nodes(inner) if isinstance(one, Scan)}
        self._counts |= {name: before.get(name, 0) for name in scanned}

    def sides(self, union: UnionAll) -> Iterator[Node]:
        """Each side, while it is followed down. Rows of the sides never meet, so both are counted from the same number."""
        before, joined, most = dict(self._counts), self._joined, dict(self._counts)
        for side in (union.left, union.right):
            self._counts = dict(before)
            self._joined = joined - joined_scans(union) + joined_scans(side)
            yield side
            most |= {name: max(most.get(name, 0), many) for name, many in self._counts.items()}
        self._counts, self._joined = most, joined


def joined_scans(node: Node) -> Counter[str]:
    """How many scans of each table have rows that are joined; those of a union's sides are not joined with each other."""
    match node:
        case Scan():
            return Counter({node.table.name: 1})
        case UnionAll():
            return joined_scans(node.left) | joined_scans(node.right)
        case Mark():
            return joined_scans(node.child)
        case _:
            found: Counter[str] = Counter()
            for one in node.below:
                found += joined_scans(one)
            return found
