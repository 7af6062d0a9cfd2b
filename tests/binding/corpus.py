"""What the golden cases show of the binder's allow-lists."""

from collections.abc import Iterator
from functools import cache

from binding.cases import accepted
from sqlglot import exp

from gateway.binding.bind import parse
from gateway.binding.text.classify import StatementKind, classify
from gateway.binding.text.lexer import tokens_of
from gateway.binding.text.round_trip import intervals_as_casts

Slot = tuple[type[exp.Expr], str]


@cache
def trees() -> tuple[exp.Expression, ...]:
    """The queries of the accepted cases, parsed as the binder parses them."""
    return tuple(_trees())


def _trees() -> Iterator[exp.Expression]:
    for case in accepted():
        statement = classify(case.sql)
        if statement.kind is not StatementKind.PASS:
            text = intervals_as_casts(statement.query, tokens_of(statement.query))
            yield parse(text, tokens_of(text))


def shown() -> frozenset[Slot]:
    """The node types of the accepted cases with the arguments that are filled; `""` is the type itself."""
    found: set[Slot] = set()
    for tree in trees():
        for node in tree.walk():
            found.add((type(node), ""))
            filled = (slot for slot, value in node.args.items() if value not in (None, False, []))
            found |= {(type(node), slot) for slot in filled}
    return frozenset(found)


def calls() -> frozenset[str]:
    """The functions that accepted cases call, wherever they stand."""
    return frozenset(
        node.name.lower()
        for tree in trees()
        for node in tree.walk()
        if isinstance(node, exp.Anonymous)
    )
