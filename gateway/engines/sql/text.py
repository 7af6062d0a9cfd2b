"""Functions of text. Letters are folded from A to Z alone, so that no collation and no locale has a say.

INVARIANT: no text is longer than its parts together, and these are bounded where they are read; how long an expression
can get is refused before it runs (`gateway.functions.result_sizes`).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy import Integer, Text, cast, func, literal

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.like import is_like
from gateway.engines.sql.pieces import TEXT, WHOLE, Render, Rendering, binary, null_of
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def fold_case(rendering: Rendering, text: Sql, *, upper: bool = False) -> Sql:
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


def like(*, negated: bool = False, folding: bool = False) -> Render:
    def render(rendering: Rendering, call: Call) -> Sql:
        text, pattern = _text(rendering, call.parts[0]), _word(call.parts[1])
        if folding:
            text = fold_case(rendering, text)
            pattern = "".join(one.lower() if one in _UPPER else one for one in pattern)
        found = is_like(rendering.dialect, text, pattern)
        return ~found.self_group() if negated else found

    return render


def _concatenated(rendering: Rendering, call: Call) -> Sql:
    return func.concat(*(_text(rendering, one) for one in call.parts), type_=TEXT)


def _joined(rendering: Rendering, call: Call) -> Sql:
    if len(call.parts) == 1:
        return _concatenated(rendering, call)
    return _chained([_text(rendering, one) for one in call.parts])


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


_Rendered: TypeAlias = Callable[[Rendering, list[Sql], tuple[Scalar, ...]], Sql]


def _of_texts(render: _Rendered) -> Render:
    """Of the operands that are texts, in the order of their bytes, beside all as they are."""
    return lambda rendering, call: render(
        rendering,
        [_text(rendering, one) for one in call.parts if one.type.family is Family.TEXT],
        call.parts,
    )


def _folded(*, upper: bool) -> _Rendered:
    return lambda rendering, texts, _: fold_case(rendering, texts[0], upper=upper)


def _length(_: Rendering, texts: list[Sql], __: tuple[Scalar, ...]) -> Sql:
    return func.length(texts[0], type_=WHOLE)


def _left(_: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
    return func.left(texts[0], _count(_number(parts[1])), type_=TEXT)


def _right(_: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
    return func.right(texts[0], _count(_number(parts[1])), type_=TEXT)


def _replaced(_: Rendering, texts: list[Sql], parts: tuple[Scalar, ...]) -> Sql:
    old, new = (_bound(_word(one)) for one in parts[1:])
    return func.replace(texts[0], old, new, type_=TEXT)


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        "lower": _of_texts(_folded(upper=False)),
        "upper": _of_texts(_folded(upper=True)),
        "length": _of_texts(_length),
        "char_length": _of_texts(_length),
        "left": _of_texts(_left),
        "right": _of_texts(_right),
        "substr": _of_texts(_cut),
        "btrim": _of_texts(_trimmed("btrim", "trim")),
        "ltrim": _of_texts(_trimmed("ltrim", "ltrim")),
        "rtrim": _of_texts(_trimmed("rtrim", "rtrim")),
        "replace": _of_texts(_replaced),
        "position": _of_texts(lambda _, texts, __: _place(texts[1], texts[0])),
        "strpos": _of_texts(lambda _, texts, __: _place(texts[0], texts[1])),
        "split_part": _of_texts(_split),
        "starts_with": _of_texts(lambda _, texts, __: func.starts_with(texts[0], texts[1])),
        "||": _joined,
        "concat": _concatenated,
        "like": like(),
        "not like": like(negated=True),
        "ilike": like(folding=True),
        "not ilike": like(negated=True, folding=True),
    }
)
