"""The supported part of CEL: its tokens, its limits, and its grammar.

A condition compares attributes: `subject.…` are texts or lists of texts from subjects.yaml, `request.…` is in
`REQUEST`. Networks are written as in the CEL of Kubernetes, `cidr("192.0.2.0/24").containsIP(request.address)`. Arithmetic, maps, conversions other than `int`, regular expressions and `?:` are left out: no policy
needs them, and each is a source of mistakes.

INVARIANT: a tree is at most `DEEPEST` levels of brackets deep, and no macro stands in a macro.
INVARIANT: the library that evaluates conditions never sees a text that the lexer refused. Some long or deep texts
crash the process in the library, which cannot be interrupted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, NoReturn

from gateway.policy.conditions.request_facts import (
    ADDRESS,
    CONTAINS_IP,
    FIELDS_OF_TIME,
    REQUEST,
    is_valid_text,
)
from gateway.policy.conditions.tree import (
    And,
    Compare,
    ConditionCall,
    ConditionLiteral,
    ListOf,
    Macro,
    Not,
    Or,
    Path,
    Tree,
    Variable,
)
from gateway.policy.validate import suggestion

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


FUNCTIONS: Final = ("has", "size", "int", "timestamp", "cidr")
METHODS: Final = ("startsWith", "endsWith", "contains")
MACROS: Final = ("exists", "all")
_COMPARING: Final = ("==", "!=", "<", "<=", ">", ">=", "in")
_MOST_NEGATIONS: Final = 16


def parse_condition(text: str) -> Tree:
    """The tree of a condition."""
    tokens = tokenize(text)
    if len(tokens) == 1:
        raise InvalidCondition(
            "the condition is empty", 0, "write `true` for a condition that always holds"
        )
    return _Parser(tokens).whole()


_NETWORK_HINT: Final = 'write `cidr("192.0.2.0/24").containsIP(request.address)`'
_EXAMPLES: Final = MappingProxyType(
    {"cidr": '`"192.0.2.0/24"`', "timestamp": '`"2026-12-31T23:59:59Z"`'}
)


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._variable: str | None = None

    def whole(self) -> Tree:
        tree = self._or()
        if self._next.sort is not TokenKind.END:
            self._fail(f"{self._next.shown} is not expected here")
        return tree

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> str | None:
        """The next token if it is one of these."""
        token = self._next
        if token.sort in {TokenKind.SIGN, TokenKind.NAME} and token.text in texts:
            self._at += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            self._fail(f"`{text}` is expected before {self._next.shown}")

    def _fail(self, message: str, hint: str = "", *, at: Token | None = None) -> NoReturn:
        raise InvalidCondition(message, (at or self._next).column, hint)

    def _or(self) -> Tree:
        parts = [self._and()]
        while self._take("||"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _and(self) -> Tree:
        parts = [self._comparison()]
        while self._take("&&"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _comparison(self) -> Tree:
        left = self._negation()
        sign = self._take(*_COMPARING)
        if sign is None:
            return left
        right = self._negation()
        if sign == "in" and left == Path("request", ADDRESS) and not isinstance(right, ListOf):
            self._fail("a network is not a list of addresses", _NETWORK_HINT)
        if self._next.text in _COMPARING and self._next.sort is not TokenKind.TEXT:
            self._fail("comparisons cannot be chained", "join them with `&&`")
        return Compare(sign, left, right)

    def _negation(self) -> Tree:
        count = 0
        while self._take("!"):
            count += 1
        if count > _MOST_NEGATIONS:
            self._fail("the condition has too many `!` in a row")
        tree = self._value()
        if not count:
            return tree
        return Not(tree) if count % 2 else Not(Not(tree))

    def _value(self) -> Tree:
        token = self._next
        self._at += token.sort is not TokenKind.END
        match token.sort, token.text:
            case TokenKind.TEXT, _:
                return self._methods(ConditionLiteral(unquote(token)))
            case TokenKind.NUMBER, text:
                tree: Tree = ConditionLiteral(int(text))
            case TokenKind.SIGN, "-" if self._next.sort is TokenKind.NUMBER:
                self._at += 1
                tree = ConditionLiteral(-int(self._tokens[self._at - 1].text))
            case TokenKind.SIGN, "(":
                tree = self._or()
                self._expect(")")
            case TokenKind.SIGN, "[":
                tree = ListOf(self._list("]"))
            case TokenKind.NAME, "true" | "false":
                tree = ConditionLiteral(token.text == "true")
            case TokenKind.NAME, _:
                tree = self._name(token)
            case _:
                self._fail(f"a value is expected before {token.shown}", at=token)
        return tree

    def _list(self, end: str) -> tuple[Tree, ...]:
        items: list[Tree] = []
        while not self._take(end):
            if items:
                self._expect(",")
            items.append(self._or())
        return tuple(items)

    def _name(self, token: Token) -> Tree:
        if token.text == self._variable:
            return self._methods(Variable(token.text))
        if token.text in {"subject", "request"}:
            return self._methods(self._path(token))
        if not self._take("("):
            known = ("subject", "request", *FUNCTIONS)
            dotted = self._next.text == "."
            hint = suggestion(token.text, known) if dotted else "put texts in quotes"
            self._fail(f"name `{token.text}` does not exist in conditions", hint, at=token)
        return self._function(token)

    def _path(self, root: Token) -> Path:
        self._expect(".")
        name = self._next
        if name.sort is not TokenKind.NAME:
            self._fail(f"an attribute's name is expected before {name.shown}")
        if root.text == "request" and name.text not in REQUEST:
            self._fail(f"a request has no `{name.text}`", suggestion(name.text, REQUEST))
        self._at += 1
        return Path(root.text, name.text)

    def _function(self, token: Token) -> Tree:
        if token.text not in FUNCTIONS:
            message = f"function `{token.text}` does not exist in conditions"
            self._fail(message, suggestion(token.text, FUNCTIONS), at=token)
        arguments = self._list(")")
        if len(arguments) != 1:
            self._fail(f"`{token.text}` takes one argument", at=token)
        if token.text == "has" and not isinstance(arguments[0], Path):
            self._fail("`has` takes an attribute, such as `has(subject.team)`", at=token)
        if token.text in _EXAMPLES and not _is_constant(token.text, arguments[0]):
            example = _EXAMPLES[token.text]
            self._fail(f"`{token.text}` takes a text such as {example}", at=token)
        call = ConditionCall(token.text, arguments)
        if token.text == "cidr":
            return self._contains_address(call)
        return call

    def _contains_address(self, network: ConditionCall) -> Tree:
        """The only use of a network: `cidr("…").containsIP(request.address)`."""
        token = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        asked = self._take(".") and self._take(CONTAINS_IP) and self._take("(")
        arguments = self._list(")") if asked else ()
        if arguments != (Path("request", ADDRESS),):
            message = "a network can only be asked whether it contains the address"
            self._fail(message, _NETWORK_HINT, at=token)
        return ConditionCall(CONTAINS_IP, (network, *arguments))

    def _methods(self, tree: Tree) -> Tree:
        if not self._take("."):
            return tree
        token = self._next
        self._at += token.sort is TokenKind.NAME
        if token.text in MACROS and self._take("("):
            return self._macro(token, tree)
        if token.text in FIELDS_OF_TIME and tree == Path("request", "time"):
            self._expect("(")
            self._expect(")")
            return ConditionCall(token.text, (tree,))
        if token.text not in METHODS or not self._take("("):
            is_time = tree == Path("request", "time")
            known = FIELDS_OF_TIME if is_time else (*METHODS, *MACROS)
            self._fail(
                f"{token.shown} is not expected here", suggestion(token.text, known), at=token
            )
        arguments = self._list(")")
        if len(arguments) != 1:
            self._fail(f"`{token.text}` takes one argument", at=token)
        return ConditionCall(token.text, (tree, *arguments))

    def _macro(self, token: Token, over: Tree) -> Tree:
        if self._variable is not None:
            self._fail(f"`{token.text}` is not allowed inside another", at=token)
        name = self._next
        taken = {"subject", "request", "true", "false", "in", *FUNCTIONS}
        if name.sort is not TokenKind.NAME or name.text in taken:
            self._fail(f"a name is expected before {name.shown}", f"`.{token.text}(each, …)`")
        self._at += 1
        self._expect(",")
        self._variable = name.text
        body = self._or()
        self._variable = None
        self._expect(")")
        return Macro(token.text, over, name.text, body)


def _is_constant(function: str, argument: Tree) -> bool:
    """Whether it is a constant text that the function takes."""
    return isinstance(argument, ConditionLiteral) and is_valid_text(function, argument.value)
