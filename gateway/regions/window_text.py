"""One text for windows that have the same value in every row, as far as that is sure.

INVARIANT: windows with equal texts over equal rows have equal values. An order that ends at a key of the rows has no ties, so
what follows the key does not matter, and LEAD in the reverse order is LAG.
"""

from dataclasses import replace
from typing import Final

from gateway.digest import digest
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import INTEGER
from gateway.plan.scalars import Change, Literal, Ref, Scalar
from gateway.plan.sql_text import scalar_sql
from gateway.regions.relation import Relation, over_bases

_UNORDERED: Final = frozenset({"count", "sum", "avg", "min", "max"})
_NEIGHBOURS: Final = frozenset({"lag", "lead"})
_KEPT: Final = frozenset({"min", "max"})
_HERE: Final = "current row"


def window_text(call: WindowCall, resolved: Change, below: Relation, every: frozenset[str]) -> str:
    """The window function over bases. `every` are the bases of all columns of its rows, which break ties in its order."""
    call = over_bases(call, resolved)
    order, total = _order(call, below)
    parts = tuple(sorted(set(call.partition), key=scalar_sql))
    made = _of_neighbour(replace(call, order=order, partition=parts))
    if made.function == "lead" and total:
        turned = tuple((one, not down) for one, down in made.order)
        made = replace(made, function="lag", order=turned)
    ordered = made.order or made.frame or made.function not in _UNORDERED
    if not ordered or total:
        return str(made)
    return f"{made} in the order of #{digest(' '.join(sorted(every)))[:16]}"


def is_own_value(call: WindowCall) -> bool:
    """Whether it returns its argument in the same row."""
    if call.function in _NEIGHBOURS:
        return _offset(call) == 0
    return call.function in _KEPT and call.frame == (_HERE, _HERE)


def _order(call: WindowCall, below: Relation) -> tuple[tuple[tuple[Scalar, bool], ...], bool]:
    """The keys of the order that can matter, and whether no two rows are equal in them."""
    keys = frozenset[str]()
    if len(below.atoms) == 1 and not below.links:
        keys = frozenset(one.base for one in below.atoms[0].keys)
    kept = dict[Scalar, bool]()
    for one, down in call.order:
        if one in call.partition or isinstance(one, Literal):
            continue  # it is equal in all rows of the window
        kept.setdefault(one, down)
        if isinstance(one, Ref) and one.field.id in keys:
            return tuple(kept.items()), True
    return tuple(kept.items()), False


def _of_neighbour(call: WindowCall) -> WindowCall:
    """LAG and LEAD with their offset; the least and the greatest of a frame of one row are one of these."""
    if call.function in _NEIGHBOURS:
        offset = Literal(_offset(call), INTEGER)
        return replace(call, arguments=(call.arguments[0], offset))
    if call.function not in _KEPT or call.frame is None or call.frame[0] != call.frame[1]:
        return call
    away, _, side = call.frame[0].partition(" ")
    if not away.isdecimal():
        return call
    function = "lag" if side == "preceding" else "lead"
    offset = Literal(int(away), INTEGER)
    return replace(call, function=function, arguments=(call.arguments[0], offset), frame=None)


def _offset(call: WindowCall) -> int:
    """By how many rows LAG and LEAD are away; binding accepts no other offsets."""
    given = call.arguments[1:]
    return int(str(given[0].value)) if given and isinstance(given[0], Literal) else 1
