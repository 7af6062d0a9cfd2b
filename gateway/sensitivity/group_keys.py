"""Which groups come back: all that there can be, where that is known; else those with enough units."""

from collections.abc import Mapping
from itertools import chain, product
from math import prod
from typing import Final

from gateway.catalog.values import Value
from gateway.functions.range_arithmetic import NOTHING, Bounds
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected, Tie
from gateway.plan.joins import Join, Mark
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Constant, Filter, Project, Scan
from gateway.plan.scalars import Literal, Ref, Scalar, column_ids, walk_scalar
from gateway.ranges.enumerate import list_values
from gateway.sensitivity.analysis import EnumeratedGroups

_MOST_REMEMBERED: Final = 32_000_000
_NODE: Final = 500  # about so many bytes for a part of an expression, and for a group
_Listing = tuple[tuple[Scalar, ...], frozenset[tuple[str, Bounds, bool]], int]


def _bytes(listing: _Listing, found: EnumeratedGroups | None) -> int:
    """About how much memory an enumeration takes; a text may be as long as an analyst likes."""
    parts = [one for key in listing[0] for one in walk_scalar(key)]
    literals = [one.value for one in parts if isinstance(one, Literal)]
    groups = () if found is None else found.keys
    texts = sum(
        len(one) for one in (*literals, *chain.from_iterable(groups)) if isinstance(one, str)
    )
    return _NODE * (1 + len(parts) + len(groups)) + 4 * texts


# enumerations follow from policies and questions alone, and the same questions come again and again
_REMEMBERED: Final[LruCache[_Listing, EnumeratedGroups | None]] = LruCache(_MOST_REMEMBERED, _bytes)


def enumerate_groups(
    plan: Aggregate, columns: Mapping[str, Bounds], most: int
) -> EnumeratedGroups | None:
    """All groups there can be, sorted, NULL last; None when they are not known or more than `most`."""
    keys = tuple(key for _, key in plan.keys)
    read = column_ids(*keys)
    known = frozenset(
        # an expression that is always NULL is told by identity, not by its bounds
        (name, found, found is NOTHING)
        for name in read
        if (found := columns.get(name)) is not None
    )
    return _REMEMBERED.get((keys, known, most), lambda: _enumerated(keys, columns, most))


def _enumerated(
    keys: tuple[Scalar, ...], columns: Mapping[str, Bounds], most: int
) -> EnumeratedGroups | None:
    values: list[list[Value | None]] = []
    for key in keys:
        found = list_values(key, columns)
        if found is None or prod((len(found), *map(len, values))) > most:
            return None
        values.append(_in_order(found))
    return EnumeratedGroups(tuple(product(*values)))


def _in_order(found: frozenset[Value | None]) -> list[Value | None]:
    there = [one for one in found if one is not None]
    return [*sorted(there), *([None] if None in found else [])]


def groups_per_unit(plan: Aggregate, groups: EnumeratedGroups | None) -> int:
    """G: in how many groups a unit counts. Bounding enforces it: a wrong number costs accuracy alone."""
    label = plan.child.label
    if not plan.keys or not isinstance(label, Protected):
        return 1
    if constant_per_unit(plan):
        return 1
    possible = label.groups if groups is None else min(label.groups, len(groups.keys))
    return max(1, possible)


def constant_per_unit(plan: Aggregate) -> bool:
    """Whether all rows of a unit are in one group: its keys are columns of its only row in a table.

    An outer join puts NULL beside them, and what is computed over several rows of a unit differs between
    them: with either of these nothing is said.
    """
    child = plan.child
    for node in walk_nodes(child):
        if not isinstance(node, Scan | Constant | Filter | Project | Join | Mark):
            return False
        if isinstance(node, Join) and node.outer:
            return False
    single = {
        node.table.name for node in walk_nodes(child) if isinstance(node, Scan) and _one_row(node)
    }
    refs = [one for _, key in plan.keys for one in walk_scalar(key) if isinstance(one, Ref)]
    return all(
        one.field.tie is not Tie.NONE
        or (one.field.origins and {each.table for each in one.field.origins} <= single)
        for one in refs
    )


def _one_row(scan: Scan) -> bool:
    protection = scan.table.protection
    return protection is not None and protection.rows_per_unit == 1
