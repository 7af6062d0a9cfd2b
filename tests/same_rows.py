"""In what two results differ, row by row: texts as texts, numbers to the digits that are promised.

Rows are compared in their order where it is told, else as multisets. NULL is NULL. `digits` says for each column to
how many significant digits its numbers are compared; None compares texts.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

Row = tuple[str | None, ...]
_NEAR: Final = 6  # digits by which numbers are put into an order: fewer than any that is compared


def row_differences(
    ours: Sequence[Row], theirs: Sequence[Row], digits: Sequence[int | None], *, ordered: bool
) -> list[str]:
    """Each row that is not the same, beside that of the other side; both have as many rows."""
    pairs = zip(
        _lined_up(ours, digits, ordered=ordered),
        _lined_up(theirs, digits, ordered=ordered),
        strict=True,
    )
    return [f"{one} and not {other}" for one, other in pairs if not _same(one, other, digits)]


def _lined_up(rows: Sequence[Row], digits: Sequence[int | None], *, ordered: bool) -> Sequence[Row]:
    if ordered:
        return rows
    return sorted(rows, key=lambda row: [_near(*cell) for cell in zip(row, digits, strict=True)])


def _near(cell: str | None, digits: int | None) -> tuple[int, float, str]:
    """Numbers that are the same by `_same_number` come to lie at the same place."""
    if cell is None:
        return (0, 0.0, "")
    if digits is None:
        return (1, 0.0, cell)
    return (1, float(f"{float(cell):.{_NEAR}g}") + 0.0, "")


def _same(ours: Row, theirs: Row, digits: Sequence[int | None]) -> bool:
    return all(
        one == other
        if many is None or one is None or other is None
        else _same_number(one, other, many)
        for one, other, many in zip(ours, theirs, digits, strict=True)
    )


def _same_number(one: str, other: str, digits: int) -> bool:
    if not (math.isfinite(float(one)) and math.isfinite(float(other))):
        return one == other
    left, right = Fraction(one), Fraction(other)
    return abs(left - right) * int(10**digits) <= max(abs(left), abs(right))
