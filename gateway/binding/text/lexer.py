"""A text in the pieces that PostgreSQL's own scanner makes of it, and the limits that hold before anything parses it.

sqlglot reads some spellings otherwise than PostgreSQL does. What goes to the twin as it came is judged by these
pieces alone: they follow `scan.l` with `standard_conforming_strings` on, which no client can change.

The limits are needed because the parser is fast C that holds the GIL, recurses without a limit of its own, and
reads a bracket after a word that may be a type twice: once as a type and once as a call. So a text is measured
first.

INVARIANT: a sign that stands outside of strings, quoted names and comments for PostgreSQL is a piece of its own
here, a semicolon above all; what the scanner would refuse may come out as anything.
INVARIANT: what gets through is short, nests at most `DEPTH` deep, and costs the parser at most `RETRIES` second
readings; its work is then small whatever it reads.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Final

from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.text.dialect import DIALECT, PARAMETER_MARK
from gateway.errors import Code, LimitExceeded, SyntaxRefused

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


LENGTH: Final = 65_536
TOKENS: Final = 10_000
DEPTH: Final = 64
TYPE_DEPTH: Final = 6
RETRIES: Final = 4_000
PREFIXES: Final = 16
NAME_BYTES: Final = 63

_OPEN: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSE: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_TYPES: Final = frozenset({*PostgresParser.TYPE_TOKENS, TokenType.ARRAY})
_PREFIX: Final = frozenset(
    {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL}
)
_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
# texts that sqlglot reads otherwise than PostgreSQL does, or that only templates contain
_FOREIGN: Final = frozenset(
    {
        TokenType.UNICODE_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.BLOCK_START,
        TokenType.BLOCK_END,
        TokenType.L_BRACE,
    }
)


def tokens_of(sql: str) -> list[Token]:
    """The tokens of a text that is safe to parse."""
    if len(sql) > LENGTH:
        raise LimitExceeded(
            Code.SQL_TOO_LARGE, f"the text has {len(sql)} characters, more than {LENGTH}"
        )
    _check_characters(sql)
    marked, parameters = _marked(sql)
    try:
        tokens = list(DIALECT.tokenize(marked))
    except (SqlglotError, ValueError, IndexError):
        raise SyntaxRefused(
            Code.SQL_SYNTAX, "unterminated string, quoted name or comment"
        ) from None
    if len(tokens) > TOKENS:
        raise LimitExceeded(
            Code.SQL_TOO_LARGE, f"the text has {len(tokens)} tokens, more than {TOKENS}"
        )
    if not parameters <= _read_as_parameters(tokens, parameters):
        raise SyntaxRefused(
            Code.SQL_SYNTAX,
            "a parameter must not stand inside a string, a quoted name or a comment",
        )
    _check_depth(tokens)
    _check_gaps(sql, tokens)
    return tokens


def _read_as_parameters(tokens: list[Token], parameters: frozenset[int]) -> set[int]:
    """Where sqlglot has parameters. The rest of a command is one string of it, and is read again before it is used."""
    found = {one.start for one in tokens if one.token_type is TokenType.PARAMETER}
    for before, one in pairwise(tokens):
        # a string that was written has two quotes more than its text; of this one sqlglot says but where it ends
        if one.token_type is TokenType.STRING and one.end - one.start < len(one.text):
            found |= {place for place in parameters if before.end < place <= one.end}
    return found


def _marked(sql: str) -> tuple[str, frozenset[int]]:
    """The text as sqlglot reads parameters in it, each sign in its place; and where they are for PostgreSQL."""
    if "$" not in sql and PARAMETER_MARK not in sql:
        return sql, frozenset()
    pieces = lexemes(sql)
    if any(one.sort is LexemeKind.SIGN and one.name == PARAMETER_MARK for one in pieces):
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text contains a control character")
    places = frozenset(one.start for one in pieces if one.sort is LexemeKind.PARAMETER)
    letters = list(sql)
    for place in places:
        letters[place] = PARAMETER_MARK
    return "".join(letters), places


def check_lexing(tokens: list[Token]) -> None:
    """Refuse what would be read otherwise than PostgreSQL reads it."""
    previous: Token | None = None
    for token in tokens:
        kind = token.token_type
        if kind in _FOREIGN:
            raise SyntaxRefused(
                Code.SQL_SYNTAX,
                f"the spelling near `{token.text[:20]}` is not supported",
                "write strings in plain single quotes",
            )
        if kind in _NAMES and len(token.text.encode()) > NAME_BYTES:
            raise SyntaxRefused(
                Code.NAME_AMBIGUOUS,
                f"the name `{token.text[:20]}…` has more than {NAME_BYTES} bytes",
                "PostgreSQL would truncate it; choose a shorter name",
            )
        # PostgreSQL ends a number at the first sign that does not fit, and makes a name of the rest
        if previous is not None and _grown_together(previous, token):
            raise SyntaxRefused(
                Code.SQL_SYNTAX,
                f"the spelling `{previous.text[:20]}{token.text[:20]}` is not supported",
            )
        previous = token


def _grown_together(one: Token, other: Token) -> bool:
    touching = one.end + 1 == other.start
    if one.token_type is TokenType.STRING and other.token_type is TokenType.STRING:
        return True
    return touching and one.token_type is TokenType.NUMBER and other.token_type in _NAMES


def _check_characters(sql: str) -> None:
    if "\x00" in sql or "\r" in sql.replace("\r\n", "\n"):
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text contains a control character")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not valid Unicode") from error


def _check_depth(tokens: list[Token]) -> None:
    # one entry for each open bracket: whether the parser may try its inside as a type
    open_: list[bool] = []
    cases = types = retries = prefixes = 0
    previous: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        if kind in _OPEN:
            typed = kind is not TokenType.L_PAREN or previous in _TYPES
            open_.append(typed)
            if typed:
                types += 1
                retries += 1 << min(types, 20)
        elif kind in _CLOSE:
            types -= open_.pop() if open_ else 0
        elif kind is TokenType.CASE:
            cases += 1
        elif kind is TokenType.END:
            cases = max(0, cases - 1)
        if len(open_) + cases > DEPTH or types > TYPE_DEPTH or prefixes > PREFIXES:
            raise LimitExceeded(
                Code.SQL_TOO_LARGE, "parentheses or operators are too deeply nested"
            )
        if retries > RETRIES:
            raise LimitExceeded(Code.SQL_TOO_LARGE, "the text has too many type names and arrays")
        previous = kind


def _check_gaps(sql: str, tokens: list[Token]) -> None:
    """Blanks that are no blanks for PostgreSQL would be part of a name there."""
    if sql.isascii():
        return
    end = 0
    for token in tokens:
        if any(sign.isspace() and not sign.isascii() for sign in sql[end : token.start]):
            raise SyntaxRefused(
                Code.SQL_SYNTAX, "the text contains a blank character that SQL does not allow"
            )
        end = token.end + 1
