"""The functions and operators of text, a row for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.catalog.types import Kind
from gateway.errors import Code, UnsupportedSql
from gateway.functions import copy_counts as copies
from gateway.functions import costs, result_sizes
from gateway.functions.exact_values import Evaluate, Known, NotComputed
from gateway.functions.function import (
    TEXTS,
    TO_BOOLEAN,
    TO_INTEGER,
    TO_TEXT,
    WHOLE,
    Function,
    Nullable,
    Nulls,
    Operands,
    RangeOf,
    Signature,
    no_range,
)
from gateway.functions.range_arithmetic import Bounds, bounds
from gateway.plan.like_pattern import matches_like
from gateway.plan.scalars import Call, Literal, Scalar

_MOST_JOINED: Final = 16
LONGEST_LENGTH: Final = 2**30
"""The length of a text of which nothing is known."""
LENGTHS: Final = frozenset({"length", "char_length", "position", "strpos"})
_MOST_COMPARED: Final = 10_000


def _length(_: Call, operands: Operands) -> Bounds:
    found = operands.length(0)
    return bounds(0, LONGEST_LENGTH, 1) if found.range is None else found


def _place(text: int) -> RangeOf:
    """A place in the text that is the operand of this number; 0 where it is not found."""

    def find(_: Call, operands: Operands) -> Bounds:
        found = operands.length(text).range
        return bounds(0, LONGEST_LENGTH if found is None else found.high + 1, 1)

    return find


def _of_texts(value: Callable[[Sequence[Any]], Known]) -> Evaluate:
    """Of texts and constants that are there; the blanks at the end of a `char(n)` are read in several ways."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        if any(one.type.kind is Kind.CHAR for one in call.parts):
            raise NotComputed
        return value(values)

    return evaluate


def _cut(values: Sequence[Known]) -> Known:
    """`substr`: places begin at 1, and a length counts from the place that is asked for."""
    text, start, *length = values
    if not isinstance(text, str) or not isinstance(start, int):
        raise NotComputed
    if not length:
        return text[max(start - 1, 0) :]
    if not isinstance(length[0], int):
        raise NotComputed
    return text[max(start - 1, 0) : max(start - 1 + length[0], 0)]


def _trimmed(trim: Callable[[str, str], str]) -> Evaluate:
    """Without characters at its ends: blanks if none are named. Beyond ASCII sources do not agree on what is blank."""

    def value(values: Sequence[Known]) -> Known:
        text, *signs = values
        if not isinstance(text, str) or not text.isascii():
            raise NotComputed
        named = signs[0] if signs else " "
        if not isinstance(named, str):
            raise NotComputed
        return trim(text, named)

    return _of_texts(value)


def _replaced(values: Sequence[Known]) -> Known:
    """`replace`: an empty text is found nowhere."""
    text, old, new = values
    if not isinstance(text, str) or not isinstance(old, str) or not isinstance(new, str):
        raise NotComputed
    return text.replace(old, new) if old else text


def _piece(values: Sequence[Known]) -> Known:
    """`split_part`: sources do not agree on an empty separator, nor on pieces from the end."""
    text, separator, place = values
    if not isinstance(text, str) or not isinstance(separator, str) or not separator:
        raise NotComputed
    if not isinstance(place, int) or place < 1:
        raise NotComputed
    pieces = text.split(separator)
    return pieces[place - 1] if place <= len(pieces) else ""


def _is_like(call: Call, values: Sequence[Known]) -> Known:
    text, pattern = values
    if call.parts[0].type.kind is Kind.CHAR:
        raise NotComputed
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NotComputed
    folded = call.function.endswith("ilike")
    if folded and not (text.isascii() and pattern.isascii()):
        raise NotComputed
    if folded:
        text, pattern = text.lower(), pattern.lower()
    if len(text) * len(pattern) > _MOST_COMPARED:
        raise NotComputed
    return matches_like(text, pattern) is not call.function.startswith("not ")


def _of_ascii(fold: Callable[[str], str]) -> Evaluate:
    """Sources fold the letters A to Z alone; texts with others are left to them."""

    def evaluate(_: Call, values: Sequence[Known]) -> Known:
        if not isinstance(values[0], str) or not values[0].isascii():
            raise NotComputed
        return fold(values[0])

    return evaluate


def _check_growth(name: str, arguments: Sequence[Scalar]) -> None:
    """A text that grows at every step could be made to fill the source's memory."""
    old, new = arguments[1], arguments[2]
    known = isinstance(old, Literal) and isinstance(new, Literal)
    if not known or len(str(new.value)) > len(str(old.value)):  # type: ignore[union-attr]
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, f"`{name}` must not make a text longer")


LOWER: Final = Function(
    name="lower",
    signature=Signature((TEXTS,), TO_TEXT, nullable=Nullable.WITH_FIRST),
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_of_ascii(str.lower),
    cost=costs.per_character(8),
    size=result_sizes.first_text,
    copies=copies.once,
)
UPPER: Final = replace(LOWER, name="upper", evaluate=_of_ascii(str.upper))
LENGTH: Final = Function(
    name="length",
    signature=Signature((TEXTS,), TO_INTEGER, nullable=Nullable.WITH_FIRST),
    nulls=Nulls.STRICT,
    computes=False,
    range=_length,
    evaluate=_of_texts(lambda values: len(values[0])),
    cost=costs.per_character(3),
    size=result_sizes.type_size,
    copies=copies.once,
)
CHAR_LENGTH: Final = replace(LENGTH, name="char_length", signature=Signature((TEXTS,), TO_INTEGER))
LEFT: Final = Function(
    name="left",
    signature=Signature(
        (TEXTS, WHOLE), TO_TEXT, 2, 2, frozenset({1}), nullable=Nullable.WITH_FIRST
    ),
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_of_texts(lambda values: values[0][: int(values[1])]),
    cost=costs.per_character(6),
    size=result_sizes.text_up_to(1),
    copies=copies.once,
)
RIGHT: Final = replace(
    LEFT,
    name="right",
    evaluate=_of_texts(lambda values: values[0][max(len(values[0]) - int(values[1]), 0) :]),
)
SUBSTR: Final = replace(
    LEFT,
    name="substr",
    signature=Signature((TEXTS, WHOLE), TO_TEXT, 2, 3, frozenset({1, 2})),
    size=result_sizes.text_up_to(2),
    evaluate=_of_texts(_cut),
)
BTRIM: Final = Function(
    name="btrim",
    signature=Signature((TEXTS,), TO_TEXT, 1, 2, frozenset({1})),
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_trimmed(str.strip),
    cost=costs.trim,
    size=result_sizes.first_text,
    copies=copies.once,
)
LTRIM: Final = replace(BTRIM, name="ltrim", evaluate=_trimmed(str.lstrip))
RTRIM: Final = replace(BTRIM, name="rtrim", evaluate=_trimmed(str.rstrip))
REPLACE: Final = replace(
    BTRIM,
    name="replace",
    signature=Signature((TEXTS,), TO_TEXT, 3, 3, frozenset({1, 2}), check=_check_growth),
    evaluate=_of_texts(_replaced),
    cost=costs.replacement,
)
SPLIT_PART: Final = replace(
    REPLACE,
    name="split_part",
    signature=Signature((TEXTS, TEXTS, WHOLE), TO_TEXT, 3, 3, frozenset({1, 2})),
    evaluate=_of_texts(_piece),
)
POSITION: Final = Function(
    name="position",
    signature=Signature((TEXTS,), TO_INTEGER, 2, 2),
    nulls=Nulls.STRICT,
    computes=False,
    range=_place(1),
    evaluate=_of_texts(lambda values: values[1].find(values[0]) + 1),
    cost=costs.search(needle=0, text=1),
    size=result_sizes.type_size,
    copies=copies.once,
)
STRPOS: Final = replace(
    POSITION,
    name="strpos",
    range=_place(0),
    evaluate=_of_texts(lambda values: values[0].find(values[1]) + 1),
    cost=costs.search(needle=1, text=0),
)
STARTS_WITH: Final = replace(
    POSITION,
    name="starts_with",
    signature=Signature((TEXTS,), TO_BOOLEAN, 2, 2),
    range=no_range,
    evaluate=_of_texts(lambda values: values[0].startswith(values[1])),
    cost=costs.per_character(2),
)
JOINED: Final = Function(
    name="||",
    signature=None,
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_of_texts("".join),
    cost=costs.per_character(2),
    size=result_sizes.total_length,
    copies=copies.once,
)
CONCAT: Final = replace(
    JOINED,
    name="concat",
    signature=Signature((TEXTS,), TO_TEXT, 1, _MOST_JOINED),
    nulls=Nulls.OWN,  # it passes NULL over
    evaluate=_of_texts(lambda values: "".join(one or "" for one in values)),
)
LIKE: Final = Function(
    name="like",
    signature=None,
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_is_like,
    cost=costs.pattern(folded=False),
    size=result_sizes.type_size,
    copies=copies.pattern,
)
NOT_LIKE: Final = replace(LIKE, name="not like")
ILIKE: Final = replace(LIKE, name="ilike", cost=costs.pattern(folded=True))
NOT_ILIKE: Final = replace(ILIKE, name="not ilike")

TEXT: Final = (
    *(LOWER, UPPER, LENGTH, CHAR_LENGTH, LEFT, RIGHT, SUBSTR, BTRIM, LTRIM, RTRIM, REPLACE),
    *(SPLIT_PART, POSITION, STRPOS, STARTS_WITH, JOINED, CONCAT, LIKE, NOT_LIKE, ILIKE, NOT_ILIKE),
)
