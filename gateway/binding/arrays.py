"""Lists in other spellings than `IN (…)`: `= ANY (ARRAY[…])`, `= ANY ('{…}')`, `<> ALL (…)`, `IN (VALUES …)`.

INVARIANT: what comes out is what PostgreSQL means by it: an element has the type that it has there, or none.
"""

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.text.identifiers import name_of_function
from gateway.errors import Code, UnsupportedSql

_ELEMENT: Final = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s{}",\\]+(?: +[^\s{}",\\]+)*))\s*', re.DOTALL
)
_TEXT: Final = exp.DataType.Type.TEXT


def as_list(node: exp.Expression) -> exp.Expression:
    """The node, as an IN with its values one by one where it is such a list."""
    if isinstance(node, exp.In):
        return _of_values(node)
    if not isinstance(node, (exp.EQ, exp.NEQ)):
        return node
    what, every = _quantified(node.expression)
    elements = None
    if what is not None and every is isinstance(node, exp.NEQ):
        elements = _elements(what)
    if elements is None:
        return node
    if not elements:
        return exp.Boolean(this=every)
    found = exp.In(this=node.this.copy(), expressions=elements)
    return exp.Not(this=found) if every else found


def _of_values(node: exp.In) -> exp.In:
    """Rows of one value each, as the values."""
    inner = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(inner, exp.Values):
        return node
    rows = [one.expressions if isinstance(one, exp.Tuple) else [one] for one in inner.expressions]
    if any(len(row) != 1 for row in rows):
        return node
    return exp.In(this=node.this.copy(), expressions=_typed([row[0] for row in rows]))


def _quantified(node: exp.Expression) -> tuple[exp.Expression | None, bool]:
    """The array of ANY, SOME or ALL, and whether it is ALL."""
    if isinstance(node, (exp.Any, exp.All)):
        return _bare(node.this), isinstance(node, exp.All)
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        name = name_of_function(node)
        if name in {"any", "some", "all"}:
            return _bare(node.expressions[0]), name == "all"
    return None, False


def _elements(node: exp.Expression) -> list[exp.Expression] | None:
    if isinstance(node, exp.Array):
        return _typed(node.expressions)
    text = constants.untyped_text(node)
    if text is not None:
        return _read(text)
    if isinstance(node, exp.Cast) and node.args["to"].this == exp.DataType.Type.ARRAY:
        [to] = node.args["to"].expressions or [exp.DataType(this=exp.DataType.Type.ARRAY)]
        inner = _bare(node.this)
        text = constants.untyped_text(inner)
        elements = inner.expressions if isinstance(inner, exp.Array) else None
        if text is not None:
            elements = _read(text)
        elif isinstance(inner, exp.Cast):  # an array that is a parameter, cast again
            elements = _elements(inner)
        if elements is not None and to.this != exp.DataType.Type.ARRAY:
            return [exp.Cast(this=one.copy(), to=to.copy()) for one in elements]
    return None


def _typed(elements: Sequence[exp.Expression]) -> list[exp.Expression]:
    """Strings by themselves are texts there, whatever they are compared with."""
    if not all(constants.is_untyped(one) for one in elements):
        return [one.copy() for one in elements]
    return [exp.Cast(this=one.copy(), to=exp.DataType(this=_TEXT)) for one in elements]


def _read(text: str) -> list[exp.Expression]:
    """The elements of an array as it is written in a string."""
    inside = text.strip()
    if not (inside.startswith("{") and inside.endswith("}")):
        raise _unreadable()
    inside = inside[1:-1]
    elements: list[exp.Expression] = []
    place = 0
    while inside.strip():
        found = _ELEMENT.match(inside, place)
        if found is None:
            raise _unreadable()
        elements.append(_element(found))
        place = found.end()
        if place == len(inside):
            break
        if inside[place] != ",":
            raise _unreadable()
        place += 1
    return elements


def _element(found: re.Match[str]) -> exp.Expression:
    bare, in_quotes = found["bare"], found["quoted"]
    if bare is not None:
        return exp.Null() if bare.lower() == "null" else exp.Literal.string(bare)
    return exp.Literal.string(re.sub(r"\\(.)", r"\1", in_quotes, flags=re.DOTALL))


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _unreadable() -> UnsupportedSql:
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED, "this spelling of an array is not supported", "write ARRAY[…]"
    )
