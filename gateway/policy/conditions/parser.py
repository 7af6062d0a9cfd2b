"""Parser of conditions: the part of CEL that policies may use, and the meaning of its names.

A condition compares attributes: `subject.…` are texts or lists of texts from subjects.yaml, `request.…` is in
`REQUEST`. Arithmetic, maps, conversions other than `int`, regular expressions and `?:` are left out: no policy
needs them, and each is a source of mistakes.

INVARIANT: a tree is at most `DEEPEST` levels of brackets deep, and no macro stands in a macro.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias

from gateway.policy.conditions.lexer import InvalidCondition, Token, TokenKind, tokenize, unquote
from gateway.policy.problems import suggestion

# The facts of a request that a condition may read, and their types. Hours and weekdays are UTC.
REQUEST: Final = MappingProxyType(
    {"purpose": str, "dataset": str, "front_end": str, "hour": int, "weekday": int}
)
FUNCTIONS: Final = ("has", "size", "int")
METHODS: Final = ("startsWith", "endsWith", "contains")
MACROS: Final = ("exists", "all")
_COMPARING: Final = ("==", "!=", "<", "<=", ">", ">=", "in")
_MOST_NEGATIONS: Final = 16


@dataclass(frozen=True)
class ConditionLiteral:
    """A text, a number or a boolean; `kind` distinguishes 1 and true, which are equal in Python."""

    value: str | int | bool
    kind: type = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value))


@dataclass(frozen=True)
class ListOf:
    items: tuple["Tree", ...]


@dataclass(frozen=True)
class Path:
    """`subject.role`; `root` is `subject` or `request`."""

    root: str
    name: str


@dataclass(frozen=True)
class Variable:
    """The `p` of `subject.purposes.exists(p, …)`."""

    name: str


@dataclass(frozen=True)
class ConditionCall:
    name: str
    arguments: tuple["Tree", ...]


@dataclass(frozen=True)
class Macro:
    name: str
    over: "Tree"
    variable: str
    body: "Tree"


@dataclass(frozen=True)
class Not:
    inner: "Tree"


@dataclass(frozen=True)
class And:
    parts: tuple["Tree", ...]


@dataclass(frozen=True)
class Or:
    parts: tuple["Tree", ...]


@dataclass(frozen=True)
class Compare:
    sign: str
    left: "Tree"
    right: "Tree"


Tree: TypeAlias = (
    ConditionLiteral | ListOf | Path | Variable | ConditionCall | Macro | Not | And | Or | Compare
)


def parse_condition(text: str) -> Tree:
    """The tree of a condition."""
    tokens = tokenize(text)
    if len(tokens) == 1:
        raise InvalidCondition(
            "the condition is empty", 0, "write `true` for a condition that always holds"
        )
    return _Parser(tokens).whole()


def tree_children(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case ListOf(parts) | ConditionCall(_, parts) | And(parts) | Or(parts):
            return parts
        case Not(inner):
            return (inner,)
        case Compare(_, left, right):
            return left, right
        case Macro(_, over, _, body):
            return over, body
        case _:
            return ()


def attribute_paths(tree: Tree) -> frozenset[Path]:
    """Every attribute the condition reads."""
    own = frozenset({tree}) if isinstance(tree, Path) else frozenset()
    return own.union(*(attribute_paths(child) for child in tree_children(tree)))


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
        return ConditionCall(token.text, arguments)

    def _methods(self, tree: Tree) -> Tree:
        if not self._take("."):
            return tree
        token = self._next
        self._at += token.sort is TokenKind.NAME
        if token.text in MACROS and self._take("("):
            return self._macro(token, tree)
        if token.text not in METHODS or not self._take("("):
            known = (*METHODS, *MACROS)
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
