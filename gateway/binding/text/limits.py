"""What is checked on the text and its tokens before anything parses it.

The parser is fast C that holds the GIL, recurses without a limit of its own, and reads a bracket after
a word that may be a type twice: once as a type and once as a call. So a text is measured first.

INVARIANT: what gets through is short, nests at most `DEPTH` deep, and costs the parser at most
`RETRIES` second readings; its work is then small whatever it reads.
"""

from itertools import pairwise
from typing import Final

from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.text.dialect import DIALECT, PARAMETER_MARK
from gateway.binding.text.lexer import LexemeKind, lexemes
from gateway.errors import Code, LimitExceeded, SyntaxRefused

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
