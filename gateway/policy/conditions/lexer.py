"""Lexer of conditions, with limits: it runs before every parser, the gateway's and the library's.

INVARIANT: the library that evaluates conditions never sees a text that the lexer refused. Some long or deep
texts crash the process in the library, which cannot be interrupted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

LONGEST: Final = 2048  # bytes
DEEPEST: Final = 32
MOST_WORDS: Final = 400

_WORD = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>[0-9]{1,18})(?![0-9A-Za-z_.])"
    r"|(?P<text>'(?:[^'\\\r\n]|\\[\\'\"])*'|\"(?:[^\"\\\r\n]|\\[\\'\"])*\")"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]{0,62})(?![A-Za-z0-9_'\"])"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!().,\[\]-])"
)
_ESCAPE = re.compile(r"\\(.)")
_OPENING = frozenset("([")
_CLOSING = frozenset(")]")


class InvalidCondition(ValueError):
    """A text that is no condition; `column` counts its characters from 0."""

    def __init__(self, message: str, column: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.hint = hint


class TokenKind(Enum):
    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True)
class Token:
    sort: TokenKind
    text: str
    column: int

    @property
    def shown(self) -> str:
        return "the end" if self.sort is TokenKind.END else f"`{self.text}`"


def tokenize(text: str) -> Sequence[Token]:
    """The tokens of `text`, with an end token after the last."""
    if len(text.encode()) > LONGEST:
        raise InvalidCondition(f"a condition is at most {LONGEST} bytes long")
    found: list[Token] = []
    depth = column = 0
    while column < len(text):
        match = _WORD.match(text, column)
        if match is None or match.lastgroup is None:
            raise InvalidCondition(*_unknown(text, column))
        sort, word = match.lastgroup, match.group()
        if sort != "space":
            found.append(Token(TokenKind(sort), word, column))
            depth += (word in _OPENING) - (word in _CLOSING)
        if len(found) > MOST_WORDS:
            raise InvalidCondition(f"a condition has at most {MOST_WORDS} words", column)
        if depth > DEEPEST:
            raise InvalidCondition(f"a condition is nested at most {DEEPEST} deep", column)
        column = match.end()
    return [*found, Token(TokenKind.END, "", len(text))]


def unquote(token: Token) -> str:
    """The content of a quoted text."""
    return _ESCAPE.sub(r"\1", token.text[1:-1])


def _unknown(text: str, column: int) -> tuple[str, int, str]:
    sign = text[column]
    if sign in "'\"":
        hint = "escapes are \\\\, \\' and \\\" alone"
        return "the quotes are not closed, or an escape is not known", column, hint
    if sign == "=":
        return "`=` is not an operator of conditions", column, "write `==`"
    if sign in "&|":
        return f"`{sign}` is not an operator of conditions", column, f"write `{sign}{sign}`"
    hint = "conditions consist of `&& || ! == != < <= > >= in`, texts, whole numbers and lists"
    return f"`{sign}` is not allowed in a condition", column, hint
