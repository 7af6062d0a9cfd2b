"""`DP_INTERVAL_LOW` and `DP_INTERVAL_HIGH`: the ends of the interval of a cell, as columns.

PostgreSQL has no such functions, and the name of an output column means nothing where they stand. So it is
asked about a text that has a NULL of their type in their place, of the same length where that can be: then it
points at slips of the pen where they are.

Aggregates that PostgreSQL has not: `MEDIAN(x)` and `DP_TOP(x, k)`.

`MEDIAN(x)` is another spelling of `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`, and is read as that from the
beginning. `DP_TOP(x, k)` is an array of the k most frequent values of x, the most frequent one first.

PostgreSQL, which is asked about the original, is asked about a text with a subquery in the place of each: an aggregate
over names of the query around belongs to that query, and its column has the name of the call.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.select_list import Item
from gateway.binding.text.dialect import fold_name, identifier, name_of_function, result_name
from gateway.binding.text.lexer import tokens_of
from gateway.errors import Code, SyntaxRefused

ENDS: Final = {"dp_interval_low": "l", "dp_interval_high": "h"}
_NULL: Final = "NULL::float8"
# before an expression that gives its column a name, where it is given no other
_FIRST: Final = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.DISTINCT, TokenType.ALL})


def is_end(node: exp.Expression) -> bool:
    """Whether the node is a call of one of the two."""
    return isinstance(node, exp.Anonymous) and name_of_function(node) in ENDS


def end_calls(part: exp.Expression) -> Iterator[exp.Expression]:
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


def find_output(what: exp.Expression, items: Iterable[Item]) -> exp.Expression | None:
    """The item of a list that a bare name means."""
    if not isinstance(what, exp.Column) or what.args.get("table") is not None:
        return None
    name = fold_name(what.this)
    found = [one.node for one in items if one.name == name and not has_end(one.node)]
    if any(one != found[0] for one in found):
        raise SyntaxRefused(
            Code.NAME_AMBIGUOUS,
            f"`{name[:63]}` is ambiguous as the argument of an interval function",
        )
    return found[0] if found else None


def null_end() -> exp.Expression:
    """What stands for the end of an interval where there is no row."""
    return exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.DOUBLE))


def describable_sql(sql: str) -> str:
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
    return fold_name(token.text) if token.token_type is TokenType.VAR else ""


MEDIAN: Final = "median"
TOP: Final = "dp_top"
# what each takes, and an aggregate of the same type over its first argument
OURS: Final = {
    MEDIAN: (1, "percentile_cont(0.5) WITHIN GROUP (ORDER BY {})"),
    TOP: (2, "array_agg({})"),
}
_HALF: Final = "0.5"
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def replace_medians(tree: exp.Expression) -> exp.Expression:
    """The tree with every median as the percentile that it is; its columns keep their names."""
    if not any(map(_is_median, tree.find_all(exp.Anonymous))):
        return tree
    made = tree.copy()
    for select in list(made.find_all(exp.Select)):
        for item in list(select.expressions):
            medians = map(_is_median, item.find_all(exp.Anonymous))
            if not isinstance(item, exp.Alias) and any(medians):
                item.replace(exp.Alias(this=item.copy(), alias=identifier(result_name(item))))
    for call in [one for one in made.find_all(exp.Anonymous) if _is_median(one)]:
        call.replace(_percentile(call.expressions[0]))
    return made


def postgresql_sql(sql: str) -> str:
    """The text as PostgreSQL can be asked about it: of all that is ours, the ends of intervals too."""
    return replace_own_aggregates(describable_sql(sql))


def replace_own_aggregates(sql: str) -> str:
    """The text with aggregates of PostgreSQL's in the place of ours: with the same columns, by name and type."""
    lower = sql.lower()
    if all(name not in lower for name in OURS):
        return sql
    parts, end = [], 0
    for start, stop, text in _instead_spellings(sql, tokens_of(sql)):
        parts += [sql[end:start], text]
        end = stop
    return "".join([*parts, sql[end:]])


def _is_median(node: exp.Anonymous) -> bool:
    one = node.expressions[0] if len(node.expressions) == 1 else None
    taken = one is not None and not isinstance(one, (exp.Star, exp.Distinct, exp.Order))
    return taken and name_of_function(node) == MEDIAN


def _percentile(of: exp.Expression) -> exp.Expression:
    call = exp.Anonymous(this="percentile_cont", expressions=[exp.Literal.number(_HALF)])
    order = exp.Order(expressions=[exp.Ordered(this=of.copy())])
    return exp.WithinGroup(this=call, expression=order)


def _instead_spellings(sql: str, tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
    """From where to where something else stands, and what."""
    place = 0
    while place < len(tokens):
        name = _name_spellings(tokens, place)
        commas = None if name is None else _arguments(tokens, place + 1)
        if name is None or commas is None or len(commas) != OURS[name][0]:
            place += 1
            continue
        last = commas[-1]
        found = OURS[name][1].format(sql[tokens[place + 2].start : tokens[commas[0]].start])
        filtered = _filter(tokens, last + 1)
        if filtered is not None:
            found += f" {sql[tokens[last + 1].start : tokens[filtered].end + 1]}"
            last = filtered
        yield tokens[place].start, tokens[last].end + 1, f"(SELECT {found} AS {name})"
        place = last + 1


def _name_spellings(tokens: list[Token], place: int) -> str | None:
    """Which of ours is called here, if one is."""
    token = tokens[place]
    text = token.text if token.token_type is TokenType.IDENTIFIER else fold_name(token.text)
    if token.token_type not in {TokenType.IDENTIFIER, TokenType.VAR} or text not in OURS:
        return None
    return None if place and tokens[place - 1].token_type is TokenType.DOT else text


def _filter(tokens: list[Token], place: int) -> int | None:
    """Where the FILTER ends that begins here."""
    if place >= len(tokens) or tokens[place].token_type is not TokenType.FILTER:
        return None
    found = _arguments(tokens, place + 1)
    return None if found is None else found[-1]


def _arguments(tokens: list[Token], place: int) -> list[int] | None:
    """Where the arguments end of the call whose bracket opens here: at commas, and at the bracket that closes it."""
    if place + 1 >= len(tokens) or tokens[place].token_type is not TokenType.L_PAREN:
        return None
    if tokens[place + 1].token_type in {TokenType.R_PAREN, TokenType.STAR}:
        return None
    depth = 0
    ends: list[int] = []
    for at in range(place, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth == 0:
            return [*ends, at]
        if depth == 1 and kind is TokenType.COMMA:
            ends.append(at)
    return None
