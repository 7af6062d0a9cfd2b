"""Functions of text. Letters are folded from A to Z alone, so that no collation and no locale has a say.

INVARIANT: no text is longer than its parts together, and these are bounded where they are read; how long an expression
can get is refused before it runs (`gateway.bounding.value_sizes`).
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from sqlalchemy import Integer, Text, cast, func, literal

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.like import is_like
from gateway.engines.sql.pieces import TEXT, WHOLE, Rendering, binary, null_of
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TRIMS: Final = frozenset({"btrim", "ltrim", "rtrim"})
_JOINED: Final = frozenset({"||", "concat"})
_PATTERNS: Final = frozenset({"like", "ilike", "not like", "not ilike"})


def call_of(rendering: Rendering, call: Call) -> Sql | None:
    name, parts = call.function, call.parts
    if name in _JOINED:
        return _joined(rendering, name, parts)
    texts = [_text(rendering, one) for one in parts if one.type.family is Family.TEXT]
    if name in _PATTERNS:
        return _like(rendering, name, texts[0], _word(parts[1]))
    return _OTHERS[name](rendering, texts, parts)


def folded(rendering: Rendering, text: Sql, *, upper: bool = False) -> Sql:
    if rendering.dialect == "postgresql":
        named = func.upper if upper else func.lower
        made: Sql = named(text, type_=TEXT)
        return made
    both = (_UPPER.lower(), _UPPER) if upper else (_UPPER, _UPPER.lower())
    return func.translate(text, *(literal(one, Text()) for one in both), type_=TEXT)


def _text(rendering: Rendering, scalar: Scalar) -> Sql:
    return binary(cast(rendering.sql(scalar), TEXT))


def _word(scalar: Scalar) -> str:
    if isinstance(scalar, Literal) and isinstance(scalar.value, str):
        return scalar.value
    raise BrokenPlan("a computed text where a constant is expected")


def _number(scalar: Scalar) -> int:
    if isinstance(scalar, Literal) and isinstance(scalar.value, int):
        return scalar.value
    raise BrokenPlan("a computed number where a constant is expected")


def _bound(text: str) -> Sql:
    return cast(literal(text, Text()), TEXT)


def _count(number: int) -> Sql:
    return cast(literal(number), Integer())


def _like(rendering: Rendering, name: str, text: Sql, pattern: str) -> Sql:
    if "ilike" in name:
        text = folded(rendering, text)
        pattern = "".join(one.lower() if one in _UPPER else one for one in pattern)
    found = is_like(rendering.dialect, text, pattern)
    return ~found.self_group() if name.startswith("not") else found


def _joined(rendering: Rendering, name: str, parts: tuple[Scalar, ...]) -> Sql:
    given = [_text(rendering, one) for one in parts]
    if name == "concat":
        return func.concat(*given, type_=TEXT)
    return func.concat(*given, type_=TEXT) if len(given) == 1 else _chained(given)


def _chained(given: list[Sql]) -> Sql:
    made = given[0]
    for one in given[1:]:
        made = made.self_group().concat(one.self_group())
    return made


def _cut(_: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
    """From place `start` on; places before the first take up length and have no sign."""
    start = _number(parts[1])
    first = _count(max(start, 1))
    if len(parts) == 2:  # noqa: PLR2004 - to the end
        return func.substr(texts[0], first, type_=TEXT)
    length = _number(parts[2]) - (1 - start if start < 1 else 0)
    return func.substr(texts[0], first, _count(max(length, 0)), type_=TEXT)


def _trimmed(named: str, duckdb: str) -> "_Rendered":
    def trimmed(rendering: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
        signs = _bound(_word(parts[1]) if len(parts) > 1 else " ")
        of = getattr(func, duckdb if rendering.dialect == "duckdb" else named)
        made: Sql = of(texts[0], signs, type_=TEXT)
        return made

    return trimmed


def _split(_: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
    by, place = _word(parts[1]), _number(parts[2])
    if place == 0:
        return null_of(TEXT)
    if not by:
        return texts[0] if place == 1 else func.left(texts[0], _count(0), type_=TEXT)
    return func.split_part(texts[0], _bound(by), _count(place), type_=TEXT)


def _place(inside: Sql, what: Sql) -> Sql:
    return func.strpos(inside, what, type_=WHOLE)


_Rendered = Callable[[Rendering, list[Sql], tuple[Scalar, ...]], Sql]
_OTHERS: Final[MappingProxyType[str, _Rendered]] = MappingProxyType(
    {
        "lower": lambda rendering, texts, _: folded(rendering, texts[0]),
        "upper": lambda rendering, texts, _: folded(rendering, texts[0], upper=True),
        "length": lambda _, texts, __: func.length(texts[0], type_=WHOLE),
        "char_length": lambda _, texts, __: func.length(texts[0], type_=WHOLE),
        "left": lambda _, texts, parts: func.left(texts[0], _count(_number(parts[1])), type_=TEXT),
        "right": lambda _, texts, parts: func.right(
            texts[0], _count(_number(parts[1])), type_=TEXT
        ),
        "substr": _cut,
        "btrim": _trimmed("btrim", "trim"),
        "ltrim": _trimmed("ltrim", "ltrim"),
        "rtrim": _trimmed("rtrim", "rtrim"),
        "replace": lambda _, texts, parts: func.replace(
            texts[0], _bound(_word(parts[1])), _bound(_word(parts[2])), type_=TEXT
        ),
        "position": lambda _, texts, __: _place(texts[1], texts[0]),
        "strpos": lambda _, texts, __: _place(texts[0], texts[1]),
        "split_part": _split,
        "starts_with": lambda _, texts, __: func.starts_with(texts[0], texts[1]),
    }
)
FUNCTIONS: Final = _JOINED | _PATTERNS | frozenset(_OTHERS)
