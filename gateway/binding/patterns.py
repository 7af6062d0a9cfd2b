"""Patterns over protected rows: LIKE in all spellings, and regular expressions over columns with listed values.

PostgreSQL raises where a LIKE pattern ends in its escape sign, but only when a text reaches that end: such a pattern is
refused here, and so is one that no engine can match in time that is linear in the text.

A regular expression is decided for each value that a column may have, and becomes the list of those that match. The
values are those of the policy, so that nothing runs over rows.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.calls import quantified_elements
from gateway.binding.operands import compare, require_text
from gateway.binding.regular_expression import (
    RegularExpression,
    read_regular_expression,
    read_similar,
)
from gateway.binding.text.dialect import name_of_function
from gateway.catalog.domains import Values
from gateway.catalog.types import Kind
from gateway.errors import Code, UnsupportedSql
from gateway.functions.exact_values import Known, NotComputed
from gateway.plan.fields import BOOLEAN, TEXT
from gateway.plan.like_pattern import ESCAPE, LONGEST_BLANKED, read_pattern, with_escape
from gateway.plan.scalars import Call, Case, Literal, Ref, Scalar, walk_scalar
from gateway.ranges.enumerate import evaluate_at

LIKES: Final[dict[type[exp.Expression], str]] = {exp.Like: "like", exp.ILike: "ilike"}
_REGULAR: Final = (exp.RegexpLike, exp.RegexpILike, exp.SimilarTo)
_MOST_VALUES: Final = 1_000
_WORDS: Final = re.compile("[A-Za-z0-9]+")
Bind = Callable[[exp.Expression], Scalar]


def is_pattern(node: exp.Expression) -> bool:
    """Whether it compares a text with a pattern."""
    return type(node) in LIKES or isinstance(node, (exp.Escape, *_REGULAR))


def bind_pattern(node: exp.Expression, bind: Bind) -> Scalar:
    """The condition, or the refusal."""
    escape: str | None = ESCAPE
    if isinstance(node, exp.Escape):
        escape, node = constants.string(node.expression), node.this
    if isinstance(node, _REGULAR):
        return _regular(node, escape, bind)
    elements = quantified_elements(node.expression)
    if elements is not None:
        patterns, every = elements
        return _several(node, patterns, bind, every=every)
    word = LIKES[type(node)]
    if node.args.get("negate"):
        word = f"not {word}"
    pattern = _like_pattern(_constant_text(node.expression), escape)
    what = require_text(bind(node.this))
    return Call(word, (what, Literal(pattern, TEXT)), BOOLEAN, what.nullable)


def _several(
    node: exp.Expression, patterns: list[exp.Expression], bind: Bind, *, every: bool
) -> Scalar:
    """LIKE ANY and LIKE ALL: a condition for each pattern."""
    parts = []
    for one in patterns:
        like = node.copy()
        like.set("expression", one.this if isinstance(one, exp.Cast) else one)
        parts.append(bind_pattern(like, bind))
    if not parts:
        return Literal(every, BOOLEAN)
    nullable = any(one.nullable for one in parts)
    word = "and" if every else "or"
    return parts[0] if len(parts) == 1 else Call(word, tuple(parts), BOOLEAN, nullable)


def _constant_text(node: exp.Expression) -> str | None:
    """A string constant, also inside UPPER or LOWER, as object-relational mappers write it. Letters beyond ASCII differ."""
    while isinstance(node, exp.Paren):
        node = node.this
    name = name_of_function(node) if isinstance(node, exp.Anonymous) else ""
    if name not in {"upper", "lower"} or len(node.expressions) != 1:
        return constants.string(node)
    text = constants.string(node.expressions[0])
    if text is None or not text.isascii():
        return None
    return text.upper() if name == "upper" else text.lower()


def _like_pattern(written: str | None, escape: str | None) -> str:
    pattern = None if written is None or escape is None else with_escape(written, escape)
    if pattern is None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "a LIKE pattern must be a string constant",
            "write the pattern as a constant, or compare with strpos(text, word) > 0 or starts_with",
        )
    if not read_pattern(pattern).is_bounded:
        raise UnsupportedSql(
            Code.PATTERN_UNBOUNDED,
            f"the pattern `{pattern[:80]}` could take too long to match",
            f"between two `%` write plain characters, or one piece of at most {LONGEST_BLANKED} with `_` in it",
        )
    return pattern


def _regular(node: exp.Expression, escape: str | None, bind: Bind) -> Scalar:
    written = constants.string(node.expression)
    if written is None or escape != ESCAPE:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "a regular expression must be a string constant, with the backslash as its escape sign",
        )
    expression: RegularExpression
    if isinstance(node, exp.SimilarTo):
        expression = read_similar(written)
    else:
        expression = read_regular_expression(written, folded=isinstance(node, exp.RegexpILike))
    return decide_listed(
        require_text(bind(node.this)),
        lambda value: isinstance(value, str) and expression.is_in(value),
        "a regular expression",
    )


def bind_listed(name: str, what: Scalar) -> Scalar:
    """A function of a text with listed values: the CASE of what it is of each."""
    column, values = listed_values(require_text(what), f"`{name}`")
    if any(not isinstance(known, str) or not known.isascii() for _, known in values):
        raise _unlisted(f"`{name}` of texts beyond ASCII")
    branches = tuple(
        (compare("=", column, Literal(value, TEXT)), Literal(LISTED[name](str(known)), TEXT))
        for value, known in values
    )
    return Case(branches, Literal(None, TEXT), TEXT)


def _capitalized(text: str) -> str:
    return _WORDS.sub(lambda word: word[0].capitalize(), text)


LISTED: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType({"initcap": _capitalized})
"""Functions that are computed value by value."""


def decide_listed(what: Scalar, test: Callable[[Known], bool], name: str) -> Scalar:
    """A condition on a text that depends on one column with listed values, decided value by value."""
    column, values = listed_values(what, name)
    matched = tuple(Literal(value, TEXT) for value, known in values if test(known))
    if matched:
        return Call("in", (column, *matched), BOOLEAN, column.nullable)
    never = Literal(value=False, type=BOOLEAN)
    missing = Call("is null", (column,), BOOLEAN, nullable=False)
    return Case(((missing, Literal(None, BOOLEAN)),), never, BOOLEAN) if column.nullable else never


def listed_values(what: Scalar, name: str) -> tuple[Ref, list[tuple[str, Known]]]:
    """The column that a text depends on, and what the text is for each value that the column may have."""
    columns = {one for one in walk_scalar(what) if isinstance(one, Ref)}
    [column] = columns if len(columns) == 1 else [None]
    domain = None if column is None else column.field.domain
    if (
        column is None
        or not isinstance(domain, Values)
        or column.type.kind is Kind.CHAR
        or len(domain.values) > _MOST_VALUES
    ):
        raise _unlisted(name)
    try:
        found = [
            (one, evaluate_at(what, column, one)) for one in domain.values if isinstance(one, str)
        ]
    except NotComputed:
        raise _unlisted(name) from None
    if not found or any(known is None for _, known in found):
        raise _unlisted(name)
    return column, found


def _unlisted(name: str) -> UnsupportedSql:
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"{name} needs a column of texts whose values the policy lists",
        "use LIKE, or declare `domain: {in: [...]}` for the column",
    )
