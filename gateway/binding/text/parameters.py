"""PREPARE and EXECUTE, and the values of parameters: texts, read as the types that PostgreSQL infers for them.

A statement is given constants for its parameters, and lists of them as arrays.

INVARIANT: a value is data from here on: a typed literal of the plan and of the finishing, never a piece of text.
INVARIANT: the head of PREPARE and EXECUTE is known word by word up to the query, which is read like any other;
what does not have this form is none of these statements, and is refused with all the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.binding import constants
from gateway.binding.text.lexer import Lexeme, LexemeKind, lexemes
from gateway.catalog.types import ColumnType, Family, TypeUnknown, parse_type
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import TEXT
from gateway.plan.scalars import Literal


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


def parameter_literals(
    texts: Sequence[str | None], types: Sequence[str], zone: str
) -> tuple[Given, ...]:
    """The values, one for each parameter of the statement; `types` are named as `format_type` does."""
    if len(texts) != len(types):
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"the statement has {len(types)} parameters, but {len(texts)} values were given",
        )
    return tuple(
        _literal(place + 1, text, of, zone)
        for place, (text, of) in enumerate(zip(texts, types, strict=True))
    )


def _literal(number: int, text: str | None, of: str, zone: str) -> Given:
    listed = of.endswith(_ARRAY)
    kind = _type(of.removesuffix(_ARRAY))
    if kind is None or (listed and (text is None or kind.family not in _LISTED)):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"parameter ${number} has the unsupported type {of[:63]}",
            "cast it in the statement, as in $1::numeric",
        )
    plain = TEXT if kind.family is Family.TEXT else kind
    if text is None:
        return Literal(None, plain)
    if listed:
        return ArrayParameter(text, plain)
    if kind.family is Family.BOOLEAN:
        text = _TRUTH.get(text.strip().lower(), text)
    return constants.literal(text, kind, zone)


def _type(name: str) -> ColumnType | None:
    try:
        return parse_type(name)
    except TypeUnknown:
        return None


NAMES: Final = frozenset({LexemeKind.WORD, LexemeKind.QUOTED})
QUERIES: Final = frozenset({"select", "with", "values", "table", "("})
_OPENING: Final = frozenset({"(", "["})
_CLOSING: Final = frozenset({")", "]"})


@dataclass(frozen=True, slots=True)
class Prepare:
    """`head` is what stands before the query."""

    head: str
    query: str


@dataclass(frozen=True, slots=True)
class Execute:
    """`arguments` are with their brackets, or empty; `count` is how many there are."""

    name: str
    arguments: str
    count: int


def parse_prepared(sql: str) -> Prepare | Execute | None:
    """The statement, if it is one of these."""
    start = sql.lstrip()[:8].lower()
    if not start.startswith(("prepare", "execute", "/*", "--")):
        return None
    pieces = lexemes(sql)
    require_single_statement(pieces)
    first = pieces[0].name if pieces and pieces[0].sort is LexemeKind.WORD else ""
    if len(pieces) < 2 or pieces[1].sort not in NAMES:  # noqa: PLR2004 - the word and a name
        return None
    if first == "prepare":
        return _prepare(sql, pieces)
    return _execute(sql, pieces) if first == "execute" else None


def require_single_statement(pieces: Sequence[Lexeme]) -> None:
    """Refuse what PostgreSQL would take for several statements."""
    if any(piece.sort is LexemeKind.SIGN and piece.name == ";" for piece in pieces):
        raise SyntaxRefused(Code.SEVERAL_STATEMENTS, "", "send the statements one by one")


def closing_bracket(pieces: Sequence[Lexeme], place: int) -> int | None:
    """Where the bracket closes that opens here."""
    depth = 0
    for at in range(place, len(pieces)):
        if pieces[at].sort is LexemeKind.SIGN:
            depth += (pieces[at].name in _OPENING) - (pieces[at].name in _CLOSING)
        if depth == 0:
            return at
    return None


def is_word(pieces: Sequence[Lexeme], place: int, *words: str) -> bool:
    """Whether these words stand here, without quotes."""
    found = [one.name for one in pieces[place : place + len(words)] if one.sort is LexemeKind.WORD]
    return found == list(words)


def is_sign(pieces: Sequence[Lexeme], place: int, sign: str) -> bool:
    return (
        place < len(pieces) and pieces[place].sort is LexemeKind.SIGN and pieces[place].name == sign
    )


def is_query_start(pieces: Sequence[Lexeme], place: int) -> bool:
    return (
        place < len(pieces)
        and pieces[place].sort is not LexemeKind.QUOTED
        and pieces[place].name in QUERIES
    )


def _prepare(sql: str, pieces: Sequence[Lexeme]) -> Prepare | None:
    place = 2
    if is_sign(pieces, place, "("):
        end = closing_bracket(pieces, place)
        place = len(pieces) if end is None else end + 1
    if not is_word(pieces, place, "as") or not is_query_start(pieces, place + 1):
        return None
    start = pieces[place + 1].start
    return Prepare(sql[:start], sql[start:])


def _execute(sql: str, pieces: Sequence[Lexeme]) -> Execute | None:
    if len(pieces) == 2:  # noqa: PLR2004 - the word and a name
        return Execute(pieces[1].name, "", 0)
    if not is_sign(pieces, 2, "(") or closing_bracket(pieces, 2) != len(pieces) - 1:
        return None
    depth = count = 0
    for piece in pieces[2:]:
        if piece.sort is LexemeKind.SIGN:
            depth += (piece.name in _OPENING) - (piece.name in _CLOSING)
            count += depth == 1 and piece.name == ","
    empty = len(pieces) == 4  # noqa: PLR2004 - two brackets more
    return Execute(pieces[1].name, sql[pieces[2].start :], 0 if empty else count + 1)
