"""How wide a set of cells is along its axis, as the auditor counts it.

NULL weighs nothing beside other cells: nobody can choose who has none, and a column that may hold NULL often holds
none, so a residual is not made wide by it. A set of NULL alone is one cell.
"""

from typing import Final

from gateway.overlap.axes import Axis, Kind
from gateway.overlap.cells import Cells, Names, Steps, size

COARSE: Final = 24  # hours of a day, months of two years: who has one of so many is not alone
BOUNDLESS: Final = float(2**40)  # stands for a width that nobody knows


def width(cells: Cells | None, axis: Axis) -> int | None:
    """How many declared values there are; None where nobody knows. `cells` of None are all of the axis."""
    if cells is None:
        return axis.size
    if only_null(cells):
        return 1
    return size(without_null(cells), axis)


def is_fine(axis: Axis) -> bool:
    """Whether one cell of the axis may be one person: it has many, or names that nobody has listed."""
    if not axis.readable:
        return False
    if axis.kind is Kind.STEPS:
        return axis.size is None or axis.size > COARSE
    return axis.size is None and axis.quasi


def only_null(cells: Cells) -> bool:
    """Whether NULL is all there is."""
    if isinstance(cells, Steps):
        return cells.null and not cells.ranges
    return cells.null and not cells.rest and not cells.values


def without_null(cells: Cells) -> Cells:
    if not cells.null:
        return cells
    return Steps(cells.ranges) if isinstance(cells, Steps) else Names(cells.values, rest=cells.rest)


def weightless(part: Cells, whole: Cells | None) -> bool:
    """Whether a part of the whole is NULL alone, where the whole is more than that."""
    return only_null(part) and (whole is None or not only_null(whole))
