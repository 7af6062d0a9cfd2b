"""How large the values of an expression are at most: characters of texts, digits of decimal numbers.

Takes an expression and the sizes of its parts. A column is as long as its policy lets it be read, a constant as it is
written; what is put together is as long as its parts together, and no longer than `LONGEST_MADE`.

INVARIANT: no value that an engine computes for the expression is larger, whatever stands in the row: functions that
could make a text longer than its arguments do not bind (`replace` by something longer, `repeat`, `lpad`).
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from gateway.bounding.cost_classes import RESULT_DIGITS, Size
from gateway.catalog.tables import LONGEST_TEXT
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, UnsupportedSql
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar
from gateway.plan.sql_text import decimal
from gateway.plan.sql_text import text as text_of

LONGEST_MADE: Final = 10_000
"""Characters of a text that an expression makes."""
_UNKNOWN_BEHIND: Final = 40
_WHOLE_DIGITS: Final = 19
_SUMMED: Final = frozenset({"||", "concat"})
_COUNTED: Final = {"left": 1, "right": 1, "substr": 2}
_LENGTHS: Final = {Family.BOOLEAN: 5, Family.DATE: 10, Family.TIMESTAMP: 40, Family.UUID: 36}


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
        whole, _, behind = decimal(abs(Fraction(value))).partition(".")
        return Size(len(whole) + len(behind) + 2, len(whole), len(behind))
    return size_of_type(literal.type)


def size_of_type(of: ColumnType) -> Size:
    """The size of values of which no more is known than their type."""
    match of.family:
        case Family.TEXT:
            return Size(LONGEST_TEXT if of.length is None else min(of.length, LONGEST_TEXT))
        case Family.WHOLE:
            return Size(_WHOLE_DIGITS + 1, _WHOLE_DIGITS)
        case Family.EXACT if of.precision is not None:
            scale = of.scale or 0
            return Size(of.precision + 2, of.precision - scale, scale)
        case Family.EXACT | Family.FLOAT:
            return Size(RESULT_DIGITS, _WHOLE_DIGITS, _UNKNOWN_BEHIND)
        case _:
            return Size(_LENGTHS[of.family])


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
            return largest(sizes[1::2] + sizes[-1:])
        case Call():
            return _of_call(scalar, sizes)
        case _:
            return size_of_type(scalar.type)


def _cast(cast: Cast, size: Size) -> Size:
    if cast.type.family is not Family.TEXT:
        return size_of_type(cast.type)
    shown = size.characters if cast.what.type.family is Family.TEXT else size.digits + 12
    longest = max(shown, _LENGTHS.get(cast.what.type.family, 0))
    return Size(longest if cast.type.length is None else min(longest, cast.type.length))


def _of_call(call: Call, sizes: list[Size]) -> Size:
    name, kind = call.function, call.type.family
    if name in {"coalesce", "greatest", "least"}:
        return largest(sizes)
    if name == "nullif":
        return sizes[0]
    if kind is Family.TEXT:
        if name in _SUMMED:
            return Size(sum(one.characters for one in sizes))
        return Size(min(sizes[0].characters, _counted(call)))
    if kind is not Family.EXACT:
        return size_of_type(call.type)
    return _exact(call, sizes)


def _counted(call: Call) -> int:
    """How many characters a call takes of its text at most, where a constant says it."""
    place = _COUNTED.get(call.function)
    most = call.parts[place] if place is not None and place < len(call.parts) else None
    known = isinstance(most, Literal) and isinstance(most.value, int)
    return max(int(most.value), 0) if known else LONGEST_MADE  # type: ignore[union-attr, arg-type]


def _exact(call: Call, sizes: list[Size]) -> Size:
    """Digits of a decimal as PostgreSQL keeps them; no more than 1,000 behind the point of quotients and roots."""
    before = max(one.before for one in sizes) + 1
    behind = max(one.behind for one in sizes)
    match call.function:
        case "*":
            before, behind = sum(one.before for one in sizes), sum(one.behind for one in sizes)
        case "/":
            before = sizes[0].before + sizes[1].behind + 1
            behind = min(1_000, max(behind, 28 + sizes[0].behind + sizes[1].before))
        case "+" | "-" | "negate" | "abs" | "%" | "mod" | "floor" | "ceil" | "ceiling" | "sign":
            pass
        case "round" | "trunc":
            places = call.parts[1] if len(call.parts) > 1 else None
            cut = places.value if isinstance(places, Literal) else 0
            behind = min(behind, max(int(cut), 0)) if isinstance(cut, int) else behind
        case "sqrt" | "ln" | "log" | "exp" | "power" | "^":
            before = RESULT_DIGITS
            behind = min(1_000, max(behind, 28 + sizes[0].behind + sizes[0].before))
        case _:
            return size_of_type(call.type)
    return Size(before + behind + 2, before, behind)


def largest(sizes: Iterable[Size]) -> Size:
    given = list(sizes)
    return Size(
        max(one.characters for one in given),
        max(one.before for one in given),
        max(one.behind for one in given),
    )
