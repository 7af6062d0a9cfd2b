"""Whether two expressions are the same: names by what they mean, brackets and spelling aside."""

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from gateway.binding.scope import Visible
from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.identifiers import name_of_function
from gateway.errors import Refusal

Key: TypeAlias = tuple[object, ...]


def expression_key(node: exp.Expression, lookup: Callable[[exp.Column], Visible]) -> Key | None:
    """A value that equal expressions share; None where a name in it means nothing here."""
    try:
        return _key(node, lookup)
    except Refusal:
        return None


def _key(node: exp.Expression, lookup: Callable[[exp.Column], Visible]) -> Key:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        seen = lookup(node)
        return ("column", seen.name if seen.field is None else seen.field.id)
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return ("query", DIALECT.generate(node))
    if isinstance(node, (exp.And, exp.Or)):
        return (type(node).__name__, *(_key(one, lookup) for one in chain_parts(node)))
    if isinstance(node, exp.Anonymous):
        inner = tuple(_key(one, lookup) for one in node.expressions)
        return ("call", name_of_function(node), *inner)
    parts: list[object] = [type(node).__name__]
    for slot in sorted(node.args):
        value = node.args[slot]
        if value is None or value is False or value == []:
            continue
        if isinstance(value, exp.Expression):
            parts.append((slot, _key(value, lookup)))
        elif isinstance(value, list):
            parts.append((slot, *(_part(one, lookup) for one in value)))
        else:
            parts.append((slot, str(value)))
    return tuple(parts)


def chain_parts(node: exp.Expression) -> list[exp.Expression]:
    """The parts of a chain of ANDs or ORs from left to right, however long, without recursion."""
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    parts: list[exp.Expression] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, kind):
            stack += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def _part(value: object, lookup: Callable[[exp.Column], Visible]) -> object:
    return _key(value, lookup) if isinstance(value, exp.Expression) else str(value)


def kind_of(node: exp.Expression) -> str:
    """The first word of the identity of an expression: different kinds are never the same."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return "column"
    return "call" if isinstance(node, exp.Anonymous) else type(node).__name__
