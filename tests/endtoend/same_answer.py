"""When an answer is what plain PostgreSQL gives.

Columns have the same names and types. Rows are compared in their order where the statement ends in ORDER BY,
else as multisets. Within a row NULL is NULL and text is text; booleans, dates and whole numbers are texts too.
Numbers with decimals are compared as numbers, `numeric` to 12 significant digits (what is released has 15 of
them; two sums of cents below a billion differ by more, so these are compared exactly), floating ones to 9.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import sqlglot
from endtoend.plain_postgresql import Result
from same_rows import Row, row_differences
from sqlglot import exp

from gateway.columnar.texts import TextRows
from gateway.requests.request import Answer

_DIGITS: Final = {"numeric": 12, "double precision": 9, "real": 5}


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
    return row_differences(answer.rows, plain.rows, many, ordered=ordered)


def is_ordered(text: str) -> bool:
    """Whether the outermost query says in which order its rows come."""
    tree = sqlglot.parse_one(text, dialect="postgres")
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


def _digits(of: str, most: int | None) -> int | None:
    """To how many digits a type is compared; None when it is compared as text."""
    known = _DIGITS.get(of.partition("(")[0])
    return known if known is None or most is None else min(known, most)


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

    return replace(answer, rows=TextRows.of([row for row in answer.rows if not empty(row)]))


def _key(cell: str | None, of: str) -> str:
    """A key as it is compared: 1920 and 1920.0 are one number."""
    if cell is None or of.partition("(")[0] not in _DIGITS:
        return repr(cell)
    return str(Fraction(cell))
