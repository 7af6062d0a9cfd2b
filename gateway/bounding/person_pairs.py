"""Where rows of a person meet rows of the same person: which relations hold pairs, and how many of one person.

INVARIANT: a relation for which nothing is said here has no more rows of a person than the tables below it.
"""

from gateway.bounding.bound_joins import is_key_lookup
from gateway.plan.fields import Protected
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import conjuncts


def may_be_pairs(node: Node) -> bool:
    """Whether its rows may be pairs of rows of one person."""
    return pairs_of(node) > 0


def pairs_of(node: Node) -> int:
    """How often `MOST_PAIRS` rows one person may have at most; 0: the rows are no pairs."""
    below = [pairs_of(one) for one in node.below]
    if isinstance(node, UnionAll):
        return sum(below)
    return max([*below, int(isinstance(node, Join) and _can_square(node))])


def is_tried_by_pairs(node: Node) -> bool:
    """Whether its own expressions may be computed for every pair."""
    if may_be_pairs(node):
        return True
    if not isinstance(node, Mark) or node.condition is None or not _can_square(node):
        return False
    return not all(is_key_lookup(one, node) for one in conjuncts(node.condition))


def _can_square(node: Join | Mark) -> bool:
    rows = [one.label.rows for one in node.below if isinstance(one.label, Protected)]
    return len(rows) > 1 and all(one != 1 for one in rows)
