"""How large the values of an expression are at most: characters of texts, digits of decimal numbers.

Takes an expression and the sizes of its parts. A column is as long as its policy lets it be read, a constant as it is
written; what is put together is as long as its parts together, and no longer than `LONGEST_MADE`.

INVARIANT: no value that an engine computes for the expression is larger, whatever stands in the row: functions that
could make a text longer than its arguments do not bind (`replace` by something longer, `repeat`, `lpad`).
"""

from fractions import Fraction

from gateway.catalog.tables import LONGEST_TEXT
from gateway.catalog.types import Family
from gateway.errors import Code, UnsupportedSql
from gateway.functions.result_sizes import LENGTHS, LONGEST_MADE, Size, largest_size, size_of_type
from gateway.functions.table import function_of
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar
from gateway.plan.sql_text import decimal_sql
from gateway.plan.sql_text import scalar_sql as text_of


def size_of_literal(literal: Literal) -> Size:
    value = literal.value
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise UnsupportedSql(
                Code.WORK_OF_A_ROW,
                f"a constant has {len(value)} characters, more than {LONGEST_TEXT}",
            )
        return Size(len(value))
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        whole, _, behind = decimal_sql(abs(Fraction(value))).partition(".")
        return Size(len(whole) + len(behind) + 2, len(whole), len(behind))
    return size_of_type(literal.type)


def size_of(scalar: Scalar, sizes: list[Size]) -> Size:
    found = _made(scalar, sizes)
    if scalar.type.family is Family.TEXT and found.characters > LONGEST_MADE:
        raise UnsupportedSql(
            Code.WORK_OF_A_ROW,
            f"`{text_of(scalar)[:80]}` can have {found.characters} characters, more than {LONGEST_MADE}",
            "shorten its parts with LEFT, or declare a shorter `max_length`",
        )
    return found


def _made(scalar: Scalar, sizes: list[Size]) -> Size:
    match scalar:
        case Cast():
            return _cast(scalar, sizes[0])
        case Case():
            return largest_size(sizes[1::2] + sizes[-1:])
        case Call():
            return function_of(scalar).size(scalar, sizes)
        case _:
            return size_of_type(scalar.type)


def _cast(cast: Cast, size: Size) -> Size:
    if cast.type.family is not Family.TEXT:
        return size_of_type(cast.type)
    shown = size.characters if cast.what.type.family is Family.TEXT else size.digits + 12
    longest = max(shown, LENGTHS.get(cast.what.type.family, 0))
    return Size(longest if cast.type.length is None else min(longest, cast.type.length))
