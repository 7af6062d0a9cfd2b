"""The functions and operators of text, a row for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

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
    Signature,
    no_range,
)
from gateway.functions.range_arithmetic import Bounds, bounds
from gateway.plan.scalars import Call, Literal, Scalar

_MOST_JOINED: Final = 16
_LONGEST_TEXT: Final = 2**30


def _place(_: Call, __: Operands) -> Bounds:
    """A length, or a place in a text."""
    return bounds(0, _LONGEST_TEXT, 1)


def _of_ascii(fold: Callable[[str], str]) -> Evaluate:
    """Letters beyond ASCII are folded as the source's collation says."""

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
    range=_place,
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
    cost=costs.per_character(6),
    size=result_sizes.text_up_to(1),
    copies=copies.once,
)
RIGHT: Final = replace(LEFT, name="right")
SUBSTR: Final = replace(
    LEFT,
    name="substr",
    signature=Signature((TEXTS, WHOLE), TO_TEXT, 2, 3, frozenset({1, 2})),
    size=result_sizes.text_up_to(2),
)
BTRIM: Final = Function(
    name="btrim",
    signature=Signature((TEXTS,), TO_TEXT, 1, 2, frozenset({1})),
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    cost=costs.trim,
    size=result_sizes.first_text,
    copies=copies.once,
)
LTRIM: Final = replace(BTRIM, name="ltrim")
RTRIM: Final = replace(BTRIM, name="rtrim")
REPLACE: Final = replace(
    BTRIM,
    name="replace",
    signature=Signature((TEXTS,), TO_TEXT, 3, 3, frozenset({1, 2}), check=_check_growth),
    cost=costs.replacement,
)
SPLIT_PART: Final = replace(
    REPLACE,
    name="split_part",
    signature=Signature((TEXTS, TEXTS, WHOLE), TO_TEXT, 3, 3, frozenset({1, 2})),
)
POSITION: Final = Function(
    name="position",
    signature=Signature((TEXTS,), TO_INTEGER, 2, 2),
    nulls=Nulls.STRICT,
    computes=False,
    range=_place,
    cost=costs.search(needle=0, text=1),
    size=result_sizes.type_size,
    copies=copies.once,
)
STRPOS: Final = replace(POSITION, name="strpos", cost=costs.search(needle=1, text=0))
STARTS_WITH: Final = replace(
    POSITION,
    name="starts_with",
    signature=Signature((TEXTS,), TO_BOOLEAN, 2, 2),
    range=no_range,
    cost=costs.per_character(2),
)
JOINED: Final = Function(
    name="||",
    signature=None,
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    cost=costs.per_character(2),
    size=result_sizes.total_length,
    copies=copies.once,
)
CONCAT: Final = replace(
    JOINED,
    name="concat",
    signature=Signature((TEXTS,), TO_TEXT, 1, _MOST_JOINED),
    nulls=Nulls.OWN,  # it passes NULL over
)
LIKE: Final = Function(
    name="like",
    signature=None,
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
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
