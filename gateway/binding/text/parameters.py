"""Values of `$1`, `$2`, …: texts, read as the types that PostgreSQL infers for them.

INVARIANT: a value is data from here on: a typed literal of the plan and of the finishing, never a piece of text.

What a statement is given for its parameters: constants, and lists of them as arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gateway.binding import constants
from gateway.catalog.types import ColumnType, Family, TypeUnknown, parse_type
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.scalars import Literal
from gateway.plan.types import TEXT


@dataclass(frozen=True)
class ArrayParameter:
    """An array as PostgreSQL writes it; it means what the same text does where it stands in a statement."""

    text: str
    type: ColumnType


Given: TypeAlias = Literal | ArrayParameter


_ARRAY = "[]"
# how an array of moments is written depends on settings
_LISTED = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT, Family.TEXT, Family.UUID})
_TRUTH = {"t": "true", "f": "false"}


def parameter_literals(texts: Sequence[str | None], types: Sequence[str]) -> tuple[Given, ...]:
    """The values, one for each parameter of the statement; `types` are named as `format_type` does."""
    if len(texts) != len(types):
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"the statement has {len(types)} parameters, but {len(texts)} values were given",
        )
    return tuple(
        _literal(place + 1, text, of)
        for place, (text, of) in enumerate(zip(texts, types, strict=True))
    )


def _literal(number: int, text: str | None, of: str) -> Given:
    listed = of.endswith(_ARRAY)
    kind = _type(of.removesuffix(_ARRAY))
    if kind is None or (listed and (text is None or kind.family not in _LISTED)):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"parameter ${number} has the unsupported type {of[:63]}",
            "cast it in the statement, as in $1::numeric",
        )
    if kind.family is Family.TEXT:
        kind = TEXT
    if text is None:
        return Literal(None, kind)
    if listed:
        return ArrayParameter(text, kind)
    if kind.family is Family.BOOLEAN:
        text = _TRUTH.get(text.strip().lower(), text)
    return constants.literal(text, kind)


def _type(name: str) -> ColumnType | None:
    try:
        return parse_type(name)
    except TypeUnknown:
        return None
