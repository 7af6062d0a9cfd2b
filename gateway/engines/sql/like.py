"""LIKE as SQL whose work is linear in the text, on DuckDB; PostgreSQL's own LIKE is.

DuckDB's `like_escape` tries every way to place several `%` and a `_`: its work is exponential, and nothing stops it
between two vectors. Here what is anchored is compared in its place, a floating literal is sought with `contains`,
several are sought one after the other, each in what is left of the text, and a short one with `_` in it by RE2.
PostgreSQL gives a pattern up when a piece is not found, so its LIKE takes the longest floating piece times the text.

INVARIANT: the result is PostgreSQL's under the collation `C`, NULL for NULL; a pattern that is not `is_bounded` never
comes here: the binder refuses it.
See docs/proofs/row_work.md.
"""

import re
from collections.abc import Iterator
from typing import Final

from sqlalchemy import ARRAY, Boolean, Integer, Text, and_, bindparam, cast, func, literal
from sqlalchemy.sql.expression import literal_column

from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.engines.sql.pieces import TEXT, WHOLE, binary, compare, infix, integer, when
from gateway.plan.like_pattern import Pattern, Piece, piece_text, piece_texts, read_pattern
from gateway.plan.node import BrokenPlan

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


def _bound(text: str) -> Sql:
    return cast(literal(text, Text()), TEXT)


def _count(number: int) -> Sql:
    return cast(literal(number), Integer())
