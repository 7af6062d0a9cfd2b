"""What keeps the text's meaning on the way through the parser and back.

INVARIANT: the finishing has the literals that were written and nothing else, and reading what was
rendered gives the same tree again. A text that does not come through like that is refused.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.lexer import LexemeKind, lexemes
from gateway.binding.text.parameters import ArrayParameter, Given
from gateway.errors import Code, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import TEXT
from gateway.plan.sql_text import literal_sql

_SPELLED: Final = frozenset({TokenType.STRING, TokenType.NUMBER})
_GROUPED: Final = re.compile(r"[0-9]+(?:_[0-9]+)+(?:\.[0-9]+(?:_[0-9]+)*)?")
_GROUPING: Final = frozenset({TokenType.CUBE, TokenType.ROLLUP, TokenType.GROUPING_SETS})
_OPEN: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSE: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
# all that binds weaker than what the parser reads there
_CONDITIONS: Final = frozenset(
    {*PostgresParser.RANGE_PARSERS, *PostgresParser.EQUALITY, *PostgresParser.COMPARISON}
    | {*PostgresParser.CONJUNCTION, *PostgresParser.DISJUNCTION}
    | {TokenType.NOT, TokenType.ISNULL, TokenType.NOTNULL}
)
_UNITS: Final = frozenset({"year", "month", "week", "day", "hour", "minute", "second"})


def plain_numbers(sql: str) -> str:
    """The text with numbers such as 50_000 in digits alone, as PostgreSQL reads them."""
    if _GROUPED.search(sql) is None:
        return sql
    parts, end = [], 0
    for one in lexemes(sql):
        if one.sort is LexemeKind.NUMBER and _GROUPED.fullmatch(sql, one.start, one.end):
            parts += [sql[end : one.start], sql[one.start : one.end].replace("_", "")]
            end = one.end
    return "".join([*parts, sql[end:]])


def intervals_as_casts(sql: str, tokens: list[Token]) -> str:
    """The text with `INTERVAL '…'` as a cast: the parser takes such strings apart and loses pieces."""
    parts, end = [], 0
    for place, token in enumerate(tokens[:-1]):
        following = tokens[place + 1]
        if token.token_type is not TokenType.INTERVAL or (
            following.token_type is not TokenType.STRING
        ):
            continue
        text, last = sql[following.start : following.end + 1], following.end
        unit = tokens[place + 2].text.lower() if place + 2 < len(tokens) else ""
        if unit in _UNITS:
            if not following.text.strip().lstrip("+-").isdigit():
                raise _interval()
            text, last = f"'{following.text.strip()} {unit}'", tokens[place + 2].end
            if place + 3 < len(tokens) and tokens[place + 3].text.lower() == "to":
                raise _interval()
        parts += [sql[end : token.start], f"CAST({text} AS INTERVAL)"]
        end = last + 1
    return "".join([*parts, sql[end:]]) if parts else sql


def grouping_parts_in_brackets(sql: str, tokens: list[Token]) -> str:
    """The text with brackets around conditions in `CUBE`, `ROLLUP` and `GROUPING SETS`, where the parser reads none.

    Such a part is an expression, and brackets around all of it change nothing; a part in brackets stays as it is.
    """
    signs: list[tuple[int, str]] = []
    open_: list[_Bracket] = []
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPEN:
            listed = place > 0 and tokens[place - 1].token_type in _GROUPING
            open_.append(_Bracket(listed, place + 1))
        elif open_ and (kind in _CLOSE or kind is TokenType.COMMA):
            inside = open_[-1]
            if inside.listed and inside.condition:
                signs.append((tokens[inside.start].start, "("))
                signs.append((tokens[place - 1].end + 1, ")"))
            open_.pop()
            if kind is TokenType.COMMA:
                open_.append(_Bracket(inside.listed, place + 1))
        elif open_ and kind in _CONDITIONS:
            open_[-1].condition = True
    parts, end = [], 0
    for position, sign in sorted(signs):
        parts += [sql[end:position], sign]
        end = position
    return "".join([*parts, sql[end:]])


@dataclass(slots=True)
class _Bracket:
    """An open bracket: whether grouping keys are listed in it, and the part of it that is read."""

    listed: bool
    start: int
    condition: bool = False


def check_literals(tokens: list[Token], tree: exp.Expression) -> None:
    """Every literal of the text is in the tree as it was, and no other."""
    written = Counter(token.text for token in tokens if token.token_type in _SPELLED)
    read: Counter[str] = Counter()
    for node in tree.walk():
        if isinstance(node, exp.Literal):
            read[node.this] += 1
        elif isinstance(node, exp.JSONPathKey):
            read[str(node.this)] += 1
        elif isinstance(node, exp.Bracket):
            # subscripts are kept from 0 inside and written from 1 again
            for one in node.expressions:
                if isinstance(one, exp.Literal) and one.this.isdigit():
                    read[one.this] -= 1
                    read[str(int(one.this) + 1)] += 1
    if +written != +read:
        raise UnsupportedSql(Code.TEXT_DRIFTS, "a constant cannot be reproduced exactly")


def with_parameters(tree: exp.Expression, parameters: Sequence[Given]) -> exp.Expression:
    """The tree with constants in the place of `$1`, `$2` and so on, typed, in both halves."""
    for node in list(tree.find_all(exp.Parameter)):
        number = node.this
        place = int(number.this) if isinstance(number, exp.Literal) and number.is_int else 0
        if not 1 <= place <= len(parameters):
            raise SyntaxRefused(Code.SQL_SYNTAX, "a parameter has no value")
        made = _constant(parameters[place - 1])
        if node is tree:
            return made
        node.replace(made)
    return tree


def _constant(value: Given) -> exp.Expression:
    if isinstance(value, ArrayParameter):
        text = f"SELECT CAST({literal_sql(value.text, TEXT)} AS {value.type}[])"
    else:
        text = f"SELECT CAST({literal_sql(value.value, value.type)} AS {value.type})"
    made = DIALECT.parser().parse(DIALECT.tokenize(text), text)[0]
    if made is None:
        raise SyntaxRefused(Code.SQL_SYNTAX, "a parameter cannot be written as a constant")
    constant: exp.Expression = made.expressions[0].pop()
    return constant


def check_same(tree: exp.Expression) -> None:
    """Reading the rendered text again gives the text again."""
    text = DIALECT.generate(tree)
    try:
        again = DIALECT.parser().parse(DIALECT.tokenize(text), text)
    except (SqlglotError, ValueError, TypeError, AttributeError):
        raise _drifts() from None
    if len(again) != 1 or again[0] is None or DIALECT.generate(again[0]) != text:
        raise _drifts()


def _drifts() -> Refusal:
    return UnsupportedSql(
        Code.TEXT_DRIFTS, "the query contains an expression that cannot be reproduced"
    )


def _interval() -> Refusal:
    return UnsupportedSql(
        Code.TEXT_DRIFTS,
        "this spelling of an interval is not supported",
        "write interval '1 year 6 months'",
    )
