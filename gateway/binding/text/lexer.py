"""A text in the pieces that PostgreSQL's own scanner makes of it.

sqlglot reads some spellings otherwise than PostgreSQL does. What goes to the twin as it came is judged by
these pieces alone: they follow `scan.l` with `standard_conforming_strings` on, which no client can change.

INVARIANT: a sign that stands outside of strings, quoted names and comments for PostgreSQL is a piece of its
own here, a semicolon above all; what the scanner would refuse may come out as anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from gateway.errors import Code, SyntaxRefused

_NAME_BYTES: Final = 63  # PostgreSQL cuts longer names


class LexemeKind(Enum):
    """What a piece is."""

    WORD = auto()  # a keyword or a name without quotes
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    PARAMETER = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece; `name` is what PostgreSQL takes a word or a quoted name for, or the sign itself."""

    sort: LexemeKind
    name: str
    start: int
    end: int


_BLANK: Final = re.compile(r"(?:[ \t\n\r\f\v]+|--[^\n\r]*)+")
_WORD: Final = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*")
_NUMBER: Final = re.compile(r"\.?[0-9](?:[eE][+-](?=[0-9])|[A-Za-z0-9_.\u0080-\U0010ffff])*")
_PARAMETER: Final = re.compile(r"\$[0-9]+")
_DOLLARS: Final = re.compile(r"\$(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?\$")
_COMMENT: Final = re.compile(r"/\*|\*/")
_PLAIN: Final = re.compile(r"[^']*'")
_ESCAPED: Final = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
# two strings with a new line between them are one, in the spelling of the first
_CONTINUED: Final = re.compile(
    r"(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'"
)
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"')


def lexemes(sql: str) -> list[Lexeme]:
    """The pieces of a text, without blanks and comments."""
    return list(_pieces(sql))


def _pieces(sql: str) -> Iterator[Lexeme]:
    place = 0
    while place < len(sql):
        if (blank := _BLANK.match(sql, place)) is not None:
            place = blank.end()
        elif sql.startswith("/*", place):
            place = _comment_end(sql, place)
        else:
            piece = _piece(sql, place)
            yield piece
            place = piece.end


def _piece(sql: str, place: int) -> Lexeme:
    sign = sql[place]
    if sign == "'":
        return Lexeme(LexemeKind.STRING, "", place, _string_end(sql, place + 1, _PLAIN))
    if sign == '"':
        quoted = _QUOTED.match(sql, place)
        if quoted is None:
            raise _endless()
        return Lexeme(LexemeKind.QUOTED, _cut(quoted[1].replace('""', '"')), place, quoted.end())
    if sign == "$":
        return _after_dollar(sql, place)
    if (word := _WORD.match(sql, place)) is not None:
        return _word(sql, place, word[0])
    if (number := _NUMBER.match(sql, place)) is not None:
        return Lexeme(LexemeKind.NUMBER, "", place, number.end())
    return Lexeme(LexemeKind.SIGN, sign, place, place + 1)


def _word(sql: str, place: int, word: str) -> Lexeme:
    end = place + len(word)
    if word in {"e", "E"} and sql.startswith("'", end):
        return Lexeme(LexemeKind.STRING, "", place, _string_end(sql, end + 1, _ESCAPED))
    if word in {"u", "U"} and sql.startswith('&"', end):
        raise SyntaxRefused(
            Code.SQL_SYNTAX,
            'the spelling `U&"` is not supported',
            "write the name in plain characters",
        )
    # PostgreSQL folds the letters of ASCII alone
    folded = "".join(one.lower() if one.isascii() else one for one in word)
    return Lexeme(LexemeKind.WORD, _cut(folded), place, end)


def _after_dollar(sql: str, place: int) -> Lexeme:
    if (parameter := _PARAMETER.match(sql, place)) is not None:
        return Lexeme(LexemeKind.PARAMETER, parameter[0], place, parameter.end())
    if (opening := _DOLLARS.match(sql, place)) is None:
        return Lexeme(LexemeKind.SIGN, "$", place, place + 1)
    end = sql.find(opening[0], opening.end())
    if end < 0:
        raise _endless()
    return Lexeme(LexemeKind.STRING, "", place, end + len(opening[0]))


def _string_end(sql: str, place: int, inside: re.Pattern[str]) -> int:
    while True:
        found = inside.match(sql, place)
        if found is None:
            raise _endless()
        place = found.end()
        if sql.startswith("'", place):  # a doubled quote
            place += 1
        elif (more := _CONTINUED.match(sql, place)) is not None:
            place = more.end()
        else:
            return place


def _comment_end(sql: str, place: int) -> int:
    depth = 0
    for found in _COMMENT.finditer(sql, place):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise _endless()


def _cut(name: str) -> str:
    if len(name) * 4 <= _NAME_BYTES:
        return name
    return name.encode()[:_NAME_BYTES].decode(errors="ignore")


def _endless() -> SyntaxRefused:
    return SyntaxRefused(Code.SQL_SYNTAX, "unterminated string, quoted name or comment")
