"""`DP_INTERVAL_LOW` and `DP_INTERVAL_HIGH`: the ends of the interval of a cell, as columns.

PostgreSQL has no such functions, and the name of an output column means nothing where they stand. So it is
asked about a text that has a NULL of their type in their place, of the same length where that can be: then it
points at slips of the pen where they are.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.items import Item
from gateway.binding.limits import tokens_of
from gateway.binding.names import fold, name_of_function
from gateway.errors import Code, SyntaxRefused

ENDS: Final = {"dp_interval_low": "l", "dp_interval_high": "h"}
_NULL: Final = "NULL::float8"
# before an expression that gives its column a name, where it is given no other
_FIRST: Final = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.DISTINCT, TokenType.ALL})


def is_end(node: exp.Expression) -> bool:
    """Whether the node is a call of one of the two."""
    return isinstance(node, exp.Anonymous) and name_of_function(node) in ENDS


def own_ends(part: exp.Expression) -> Iterator[exp.Expression]:
    """The calls in an expression that are not in a query of their own, the outermost ones."""
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, (exp.Select, exp.SetOperation, exp.Values)):
            continue
        if is_end(node):
            yield node
        else:
            stack += list(node.iter_expressions())


def has_end(node: exp.Expression) -> bool:
    """Whether a call of one of the two is anywhere in it."""
    return any(is_end(one) for one in node.find_all(exp.Anonymous))


def output(what: exp.Expression, items: Iterable[Item]) -> exp.Expression | None:
    """The item of a list that a bare name means."""
    if not isinstance(what, exp.Column) or what.args.get("table") is not None:
        return None
    name = fold(what.this)
    found = [one.node for one in items if one.name == name and not has_end(one.node)]
    if any(one != found[0] for one in found):
        raise SyntaxRefused(Code.NAME_AMBIGUOUS, f"`{name[:63]}` in the interval of a column")
    return found[0] if found else None


def unknown_end() -> exp.Expression:
    """What stands for the end of an interval where there is no row."""
    return exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.DOUBLE))


def describable(sql: str) -> str:
    """The text as PostgreSQL can be asked about it: with the same columns, by name and type."""
    if "dp_interval_" not in sql.lower():
        return sql
    tokens = tokens_of(sql)
    parts, end, place = [], 0, 0
    while place < len(tokens):
        last = _closing(tokens, place)
        if last is None:
            place += 1
            continue
        start, stop = tokens[place].start, tokens[last].end + 1
        parts += [sql[end:start], _instead(tokens, place, last).ljust(stop - start)]
        end, place = stop, last + 1
    return "".join([*parts, sql[end:]])


def _instead(tokens: list[Token], place: int, last: int) -> str:
    following = tokens[last + 1].token_type if last + 1 < len(tokens) else None
    if place and tokens[place - 1].token_type in _FIRST and following is not TokenType.ALIAS:
        return f"(SELECT {_NULL} AS {_name(tokens[place])})"
    return _NULL


def _closing(tokens: list[Token], place: int) -> int | None:
    """The bracket that closes the call which begins here, if one does."""
    if _name(tokens[place]) not in ENDS or place + 1 == len(tokens):
        return None
    if place and tokens[place - 1].token_type is TokenType.DOT:
        return None
    depth = 0
    for at in range(place + 1, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return at if at > place + 1 else None
    return None


def _name(token: Token) -> str:
    if token.token_type is TokenType.IDENTIFIER:
        return token.text
    return fold(token.text) if token.token_type is TokenType.VAR else ""
