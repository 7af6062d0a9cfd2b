"""Which groups come back: all that there can be, where that is known; else those with enough units."""

from collections.abc import Mapping
from itertools import product
from math import prod

from gateway.catalog.values import Value
from gateway.plan.fields import Tie
from gateway.plan.grouping import Aggregate
from gateway.plan.joins import Join, Mark
from gateway.plan.labels import Protected
from gateway.plan.node import Node, nodes
from gateway.plan.relations import Constant, Filter, Project, Scan
from gateway.plan.scalars import Ref, Scalar, walk
from gateway.sensitivity.analysis import Enumerated
from gateway.sensitivity.bounds import Bounds
from gateway.sensitivity.listing import listed


def enumerated(plan: Aggregate, columns: Mapping[str, Bounds], most: int) -> Enumerated | None:
    """All groups there can be, sorted, NULL last; None when they are not known or more than `most`."""
    values: list[list[Value | None]] = []
    for _, key in plan.keys:
        found = listed(key, columns)
        if found is None or prod((len(found), *map(len, values))) > most:
            return None
        values.append(_in_order(found))
    return Enumerated(tuple(product(*values)))


def _in_order(found: frozenset[Value | None]) -> list[Value | None]:
    there = [one for one in found if one is not None]
    return [*sorted(there), *([None] if None in found else [])]


def groups_per_unit(plan: Aggregate, groups: Enumerated | None) -> int:
    """G: in how many groups a unit counts. Bounding enforces it: a wrong number costs accuracy alone."""
    label = plan.child.label
    if not plan.keys or not isinstance(label, Protected):
        return 1
    if _constant_per_unit(plan.child, [key for _, key in plan.keys]):
        return 1
    possible = label.groups if groups is None else min(label.groups, len(groups.keys))
    return max(1, possible)


def _constant_per_unit(child: Node, keys: list[Scalar]) -> bool:
    """Whether all rows of a unit are in one group: its keys are columns of its only row in a table.

    An outer join puts NULL beside them, and what is computed over several rows of a unit differs between
    them: with either of these nothing is said.
    """
    for node in nodes(child):
        if not isinstance(node, Scan | Constant | Filter | Project | Join | Mark):
            return False
        if isinstance(node, Join) and node.outer:
            return False
    single = {node.table.name for node in nodes(child) if isinstance(node, Scan) and _one_row(node)}
    refs = [one for key in keys for one in walk(key) if isinstance(one, Ref)]
    return all(
        one.field.tie is not Tie.NONE
        or (one.field.origins and {each.table for each in one.field.origins} <= single)
        for one in refs
    )


def _one_row(scan: Scan) -> bool:
    protection = scan.table.protection
    return protection is not None and protection.rows_per_unit == 1
