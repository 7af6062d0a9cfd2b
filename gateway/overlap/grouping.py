"""How a release is cut into groups: its keys, their values, and the cells that these are."""

from bisect import bisect_left

from gateway.catalog.values import Value
from gateway.overlap.axes import Axis
from gateway.overlap.bases import Bases
from gateway.overlap.cells import Cells
from gateway.overlap.normal import refs_of
from gateway.overlap.valued import cells_of
from gateway.plan.scalars import Scalar
from gateway.sensitivity.analysis import Enumerated

Values = tuple[Value | None, ...]


def cut_by(
    scalar: Scalar, values: Values | None, bases: Bases
) -> tuple[Axis | None, tuple[Cells, ...] | None]:
    """The axis that a key cuts and the cells of its values. The expression is normal, over bases."""
    names = refs_of(scalar)
    if len(names) != 1:
        return None, None
    base = bases[next(iter(names))]
    if values is None or base.axis is None:
        return base.axis, None
    cells = cells_of(scalar, base, values)
    return (None, None) if cells is None else (base.axis, cells)


def values_at(listed: Enumerated, place: int) -> Values:
    """The values of one key. Listed groups are all combinations, the last key going through its values fastest."""
    keys = listed.keys
    before = step = len(keys)
    for at in range(place + 1):
        first = keys[0][at]
        # among the groups that begin like the first one those with its value of this key come first
        there = bisect_left(range(step), 1, key=lambda one: keys[one][at] != first)
        before, step = step, there
    return tuple(keys[one][place] for one in range(0, before, step))
