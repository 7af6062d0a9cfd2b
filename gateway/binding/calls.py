"""Function calls and lists over protected rows, and nodes that are refused in expressions.

A list has several spellings: `IN (…)`, `= ANY (ARRAY[…])`, `= ANY ('{…}')`, `<> ALL (…)`, `IN (VALUES …)`.

INVARIANT: a list means what PostgreSQL means by it: an element has the type that it has there, or none.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.aggregates import AGGREGATES
from gateway.binding.operands import Binding, as_text
from gateway.binding.text.dialect import name_of_function
from gateway.binding.time_calls import TIME_CALLS
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.functions.function import check_arguments
from gateway.functions.table import SIGNATURES
from gateway.plan.fields import BOOLEAN, INTEGER, TEXT
from gateway.plan.scalars import Call, Case, Literal, Scalar

# Understood, but only above a release: hints say what to write instead.
INSTEAD: Final = MappingProxyType(
    {
        "to_char": "group by date_trunc or extract and format the result, or group by to_char with year and month",
        "age": "write extract(year from age(…))",
        "random": "the value of a row must depend only on the row",
        "regexp_replace": "use replace, LIKE or split_part",
        "regexp_match": "write text ~ pattern, or use split_part, left or substr",
        "regexp_substr": "write text ~ pattern, or use split_part, left or substr",
        "make_interval": "write INTERVAL '30 days'",
        "md5": "compare and count the values themselves, as in COUNT(DISTINCT column)",
        "row": "name its columns one by one",
    }
)


def bind_call(name: str, arguments: list[exp.Expression], binding: Binding) -> Scalar:
    """A call by name."""
    bind_time = TIME_CALLS.get(name)
    if bind_time is not None and (found := bind_time(arguments, binding)) is not None:
        return found
    if name in AGGREGATES:
        raise SyntaxRefused(Code.NOT_GROUPED, f"the aggregate `{name}` is not allowed here")
    if name == "concat_ws":
        return _joined(arguments, binding)
    if name == "regexp_like" and len(arguments) == 2:  # noqa: PLR2004 - a text and a pattern
        return binding.bind(exp.RegexpLike(this=arguments[0], expression=arguments[1]))
    signature = SIGNATURES.get(name)
    if signature is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name[:40]}` is not supported over protected rows",
            INSTEAD.get(name, "apply it to the result of the aggregate"),
        )
    if signature.same_type:
        return make_call(name, binding.together(arguments))
    return make_call(name, [binding.bind(one) for one in arguments])


def _joined(arguments: list[exp.Expression], binding: Binding) -> Scalar:
    """`concat_ws`: the texts that are there, with a separator between them."""
    between = constants.string(arguments[0]) if arguments else None
    if between is None or len(arguments) < 2:  # noqa: PLR2004 - a separator and a text
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, "the separator of `concat_ws` must be a string constant"
        )
    separator, nothing = Literal(between, TEXT), Literal("", TEXT)
    parts: list[Scalar] = []
    for one in arguments[1:]:
        text = _as_concatenated(binding.bind(one))
        led = Call("||", (separator, text), TEXT, text.nullable)
        missing = Call("is null", (text,), BOOLEAN, nullable=False)
        parts.append(Case(((missing, nothing),), led, TEXT) if text.nullable else led)
    whole = make_call("concat", parts)
    return make_call("substr", [whole, Literal(len(between) + 1, INTEGER)])


def _as_concatenated(value: Scalar) -> Scalar:
    """The value as `concat_ws` writes it: of a boolean, other than `||`, the letter alone."""
    if value.type != BOOLEAN:
        return as_text(value)
    letters = ((value, Literal("t", TEXT)), (Call("not", (value,), BOOLEAN), Literal("f", TEXT)))
    return Case(letters, Literal(None, TEXT), TEXT)


def check_place(node: exp.Expression | None) -> None:
    """Refuse a pattern where `SUBSTRING(x FROM 2)` has a place."""
    if node is not None and constants.string(node) is not None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "SUBSTRING with a regular expression is not supported over protected rows",
            "write SUBSTRING(x FROM 1 FOR 3), LEFT(x, 3) or SPLIT_PART(x, '-', 1)",
        )


def make_call(name: str, arguments: list[Scalar]) -> Scalar:
    """A call of the allow-list with arguments that are bound."""
    signature = SIGNATURES[name]
    check_arguments(name, signature, arguments)
    kind = signature.result([argument.type for argument in arguments])
    return Call(name, tuple(arguments), kind, signature.is_nullable(arguments))


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


def quantified_elements(node: exp.Expression) -> tuple[list[exp.Expression], bool] | None:
    """The elements of ANY, SOME or ALL over a list that is written, and whether it is ALL."""
    what, every = _quantified(node)
    elements = None if what is None else _elements(what)
    return None if elements is None else (elements, every)


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
        return _read_array(text)
    if isinstance(node, exp.Cast) and node.args["to"].this == exp.DataType.Type.ARRAY:
        [to] = node.args["to"].expressions or [exp.DataType(this=exp.DataType.Type.ARRAY)]
        inner = _bare(node.this)
        text = constants.untyped_text(inner)
        elements = inner.expressions if isinstance(inner, exp.Array) else None
        if text is not None:
            elements = _read_array(text)
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


def _read_array(text: str) -> list[exp.Expression]:
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


def unsupported_expression(node: exp.Expression) -> Exception:
    """The refusal of an expression that the binder does not know."""
    if isinstance(node, (exp.Dot, exp.Star, exp.Tuple)):
        return NotAggregate(
            Code.PERSON_AS_VALUE,
            "a whole row cannot be used as a value",
            "name its columns one by one",
        )
    if isinstance(node, exp.Window):
        return UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "window functions are not allowed in this place"
        )
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"`{type(node).__name__.lower()}` is not supported over protected rows",
        "apply it to the result of the aggregate",
    )
