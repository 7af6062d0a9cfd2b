"""Functions of text, and LIKE whose work is linear in the text.

Letters are folded from A to Z alone, so that no collation and no locale has a say.

DuckDB's `like_escape` tries every way to place several `%` and a `_`: its work is exponential, and nothing stops
it between two vectors. Here, on DuckDB, what is anchored is compared in its place, a floating literal is sought
with `contains`, several are sought one after the other, each in what is left of the text, and a short one with `_`
in it by RE2. PostgreSQL gives a pattern up when a piece is not found, so its LIKE takes the longest floating piece
times the text.

INVARIANT: no text is longer than its parts together, and these are bounded where they are read; how long an
expression can get is refused before it runs (`gateway.functions.result_sizes`).
INVARIANT: the result of LIKE is PostgreSQL's under the collation `C`, NULL for NULL; a pattern that is not
`is_bounded` never comes here: the binder refuses it. See docs/proofs/row_work.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy import ARRAY, Boolean, Integer, Text, and_, bindparam, cast, func, literal
from sqlalchemy.sql.expression import literal_column

from gateway.catalog.types import Family
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    TEXT,
    WHOLE,
    Render,
    Rendering,
    binary,
    compare,
    infix,
    integer,
    null_of,
    when,
)
from gateway.plan.like_pattern import Pattern, Piece, piece_text, piece_texts, read_pattern
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar

# an empty text among the pieces stands for any one character
_STEP: Final = (
    "lambda r, p: CASE WHEN p = '' THEN CASE WHEN r <> '' THEN substr(r, 2) END"
    " WHEN contains(r, p) THEN substr(r, strpos(r, p) + length(p)) END"
)
_SIGNS: Final = re.compile(r"([!-/:-@\[-`{-~])")


def is_like(dialect: Dialect, text: Sql, pattern: str) -> Sql:
    """Whether the text is like the pattern; NULL for NULL."""
    if dialect == "postgresql":
        return compare(text, "LIKE", binary(_bound(pattern)))
    return _duckdb(text, read_pattern(pattern))


def _duckdb(text: Sql, found: Pattern) -> Sql:
    if not found.is_bounded:
        raise BrokenPlan("a pattern without a bounded form")
    start = piece_text(found.start)
    if found.end is None:
        if start is not None:
            return compare(text, "=", _bound(start))
        length = compare(func.length(text, type_=WHOLE), "=", integer(len(found.start)))
        return and_(length, *_from_start(text, found.start)).self_group()
    simple = _simple(text, found)
    if simple is not None:
        return simple
    parts = [*_from_start(text, found.start), *_from_end(text, found.end)]
    if found.end or start is None or found.gap or any(one.gap for one in found.floating):
        # else the pieces themselves say that the text is long enough
        parts.insert(0, compare(func.length(text, type_=WHOLE), ">=", integer(found.least)))
    inside = _inside(text, found)
    if inside is not None:
        parts.append(inside)
    return and_(*parts).self_group()


def _simple(text: Sql, found: Pattern) -> Sql | None:
    """The usual patterns, which name the text once."""
    start, end = piece_text(found.start), piece_text(found.end or ())
    if start is None or end is None or found.gap or any(one.gap for one in found.floating):
        return None
    words_there = [one for one in (start, end) if one]
    if not found.floating:
        if not words_there:
            return compare(func.length(text, type_=WHOLE), ">=", integer(0))
        if len(words_there) == 1:
            named = func.starts_with if start else func.suffix
            return named(text, _bound(words_there[0]), type_=Boolean())
    if not words_there and len(found.floating) == 1:
        (one,) = found.floating
        if one.literal is not None:
            return func.contains(text, _bound(one.literal), type_=Boolean())
        return _matches(text, one.piece)
    return None


def _from_start(text: Sql, piece: Piece) -> Iterator[Sql]:
    for place, letters in piece_texts(piece):
        if place == 0:
            yield func.starts_with(text, _bound(letters), type_=Boolean())
        else:
            yield compare(_part(text, place + 1, len(letters)), "=", _bound(letters))


def _from_end(text: Sql, piece: Piece) -> Iterator[Sql]:
    for place, letters in piece_texts(piece):
        if place + len(letters) == len(piece):
            yield func.suffix(text, _bound(letters), type_=Boolean())
        else:
            yield compare(_part(text, place - len(piece), len(letters)), "=", _bound(letters))


def _inside(text: Sql, found: Pattern) -> Sql | None:
    """Whether the floating pieces are between start and end, where the text is long enough."""
    if not found.floating:
        return None
    if any(one.literal is None for one in found.floating):
        (one,) = found.floating
        return _matches(_middle(text, found, one.gap, found.gap), one.piece)
    if len(found.floating) == 1 and not found.gap and not found.floating[0].gap:
        middle = _middle(text, found, 0, 0)
        return func.contains(middle, _bound(found.floating[0].literal or ""), type_=Boolean())
    sought: list[str] = []
    for one in found.floating:
        sought += [*[""] * one.gap, one.literal or ""]
    sought += [""] * found.gap
    middle = _middle(text, found, 0, 0)
    pieces = cast(bindparam(None, sought, ARRAY(Text())), ARRAY(Text()))
    rest: Sql = func.list_reduce(pieces, literal_column(_STEP), middle, type_=TEXT)
    return when(text.is_not(None), rest.is_not(None))


def _middle(text: Sql, found: Pattern, before: int, after: int) -> Sql:
    """What is between start and end."""
    first = len(found.start) + before
    away = first + len(found.end or ()) + after
    if not away:
        return text
    if not len(found.end or ()) + after:
        return func.substr(text, _count(first + 1), type_=TEXT)
    many = infix(func.length(text, type_=WHOLE), "-", integer(away), WHOLE)
    return func.substr(text, _count(first + 1), many, type_=TEXT)


def _matches(text: Sql, piece: Piece) -> Sql:
    signs = "".join("." if one is None else _SIGNS.sub(r"\\\1", one) for one in piece)
    return func.regexp_matches(text, _bound(f"(?s){signs}"), type_=Boolean())


def _part(text: Sql, first: int, length: int) -> Sql:
    return func.substr(text, _count(first), _count(length), type_=TEXT)


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
