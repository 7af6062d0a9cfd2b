"""Values of `$1`, `$2`, …: texts, read as the types that PostgreSQL infers for them.

INVARIANT: a value is data from here on: a typed literal of the plan and of the finishing, never a piece of text.
"""

from collections.abc import Sequence

from gateway.binding import constants
from gateway.catalog.types import Family, TypeUnknown, parse_type
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.scalars import Literal
from gateway.plan.types import TEXT

_TRUTH = {"t": "true", "f": "false"}


def literals(texts: Sequence[str | None], types: Sequence[str]) -> tuple[Literal, ...]:
    """The values, one for each parameter of the statement; `types` are named as `format_type` does."""
    if len(texts) != len(types):
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"the statement has {len(types)} parameters, and {len(texts)} values came with it",
        )
    return tuple(
        _literal(place + 1, text, of)
        for place, (text, of) in enumerate(zip(texts, types, strict=True))
    )


def _literal(number: int, text: str | None, of: str) -> Literal:
    try:
        kind = parse_type(of)
    except TypeUnknown:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"parameter ${number} of the type {of[:63]}",
            "cast it in the statement, as in $1::numeric",
        ) from None
    if kind.family is Family.TEXT:
        kind = TEXT
    if text is None:
        return Literal(None, kind)
    if kind.family is Family.BOOLEAN:
        text = _TRUTH.get(text.strip().lower(), text)
    return constants.typed(text, kind)
