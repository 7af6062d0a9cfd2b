"""When an answer is what plain PostgreSQL gives.

Columns have the same names and types. Rows are compared in their order where the statement ends in ORDER BY,
else as multisets. Within a row NULL is NULL and text is text; booleans, dates and whole numbers are texts too.
Numbers with decimals are compared as numbers, `numeric` to 12 significant digits (what is released has 15 of
them; two sums of cents below a billion differ by more, so these are compared exactly), floating ones to 9.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import sqlglot
from endtoend.plain_postgresql import Result
from sqlglot import exp

from gateway.requests.request import Answer

Row = tuple[str | None, ...]
_DIGITS: Final = {"numeric": 12, "double precision": 9, "real": 5}
_NEAR: Final = 6


def differences(
    plain: Result, answer: Answer, *, ordered: bool, digits: int | None = None
) -> list[str]:
    """What is not the same; nothing when all is. `digits` is for numbers that were rounded on the way."""
    columns = tuple((one.name, one.type) for one in answer.columns)
    if columns != plain.columns:
        return [f"columns {columns} and not {plain.columns}"]
    if len(answer.rows) != len(plain.rows):
        return [f"{_few(answer.rows)} and not {_few(plain.rows)}"]
    many = [_digits(of, digits) for _, of in columns]
    pairs = zip(
        _lined_up(answer.rows, many, ordered=ordered),
        _lined_up(plain.rows, many, ordered=ordered),
        strict=True,
    )
    return [f"{ours} and not {theirs}" for ours, theirs in pairs if not _same(ours, theirs, many)]


def is_ordered(text: str) -> bool:
    """Whether the outermost query says in which order its rows come."""
    tree = sqlglot.parse_one(text, dialect="postgres")
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


def _digits(of: str, most: int | None) -> int | None:
    """To how many digits a type is compared; None when it is compared as text."""
    known = _DIGITS.get(of.partition("(")[0])
    return known if known is None or most is None else min(known, most)


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


def _few(rows: Sequence[Row]) -> str:
    return f"{len(rows)} rows {list(rows[:12])}"


def without_empty_groups(answer: Answer, plain: Result) -> Answer:
    """The answer without the groups that the policy lists and the data lacks.

    A row is one when every noisy cell of it is 0 and plain PostgreSQL has no row with its other cells.
    """
    noisy = [one.noisy for one in answer.columns]

    def keys(row: Row) -> list[str]:
        cells = zip(row, answer.columns, strict=True)
        return [_key(cell, one.type) for cell, one in cells if not one.noisy]

    there = [keys(row) for row in plain.rows]

    def empty(row: Row) -> bool:
        values = [cell for cell, touched in zip(row, noisy, strict=True) if touched]
        return all(cell == "0" for cell in values) and keys(row) not in there

    return replace(answer, rows=tuple(row for row in answer.rows if not empty(row)))


def _key(cell: str | None, of: str) -> str:
    """A key as it is compared: 1920 and 1920.0 are one number."""
    if cell is None or of.partition("(")[0] not in _DIGITS:
        return repr(cell)
    return str(Fraction(cell))
