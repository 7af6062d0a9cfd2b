"""Reads how the columns of a finishing are computed from aggregates, where that is arithmetic alone."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.text.identifiers import name_of_function
from gateway.catalog.values import InvalidValue, read_number
from gateway.plan.formulas import (
    Arithmetic,
    Each,
    Form,
    NumberForm,
    Over,
    Plus,
    Times,
    aggregate_places,
)
from gateway.plan.types import is_number

# they hand on their first argument where it is not NULL, up to rounding
_HANDING_ON: Final = frozenset({"round", "coalesce", "nullif"})


Lookup: TypeAlias = Callable[[exp.Column], Form | None]


def form_of(node: exp.Expression, lookup: Lookup) -> Form | None:
    """The form of an expression; `lookup` has those of the columns in it."""
    form = _array(node, lookup) or _form(node, lookup)
    return form if form is not None and any(True for _ in aggregate_places(form)) else None


def _array(node: exp.Expression, lookup: Lookup) -> Form | None:
    """Several values as an array, or its elements as rows."""
    match node:
        case exp.Column():
            return lookup(node)
        case exp.Paren() | exp.Unnest():
            return _array(node.this, lookup)
        case exp.Cast():
            inner = _array(node.this, lookup)
            return inner if isinstance(inner, Each) else None
        case exp.Anonymous() if name_of_function(node) == "unnest" and len(node.expressions) == 1:
            return _array(node.expressions[0], lookup)
        case exp.Array() if node.expressions:
            forms = [_form(one, lookup) for one in node.expressions]
            return None if None in forms else Each(tuple(one for one in forms if one is not None))
    return None


def _form(  # noqa: PLR0911 - one answer for each kind of node
    node: exp.Expression, lookup: Lookup
) -> Arithmetic | None:
    match node:
        case exp.Paren():
            return _form(node.this, lookup)
        case exp.Column():
            found = lookup(node)
            return None if isinstance(found, Each) else found
        case exp.Literal() if not node.is_string:
            return _number(node.this)
        case exp.Neg():
            inner = _form(node.this, lookup)
            return None if inner is None else Times(NumberForm(Fraction(-1)), inner)
        case exp.Cast():
            return _form(node.this, lookup) if _to_number(node) else None
        case exp.Anonymous() if name_of_function(node) in _HANDING_ON and node.expressions:
            return _form(node.expressions[0], lookup)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _arithmetic(node, lookup)
    return None


def _arithmetic(node: exp.Expression, lookup: Lookup) -> Arithmetic | None:
    left, right = _form(node.this, lookup), _form(node.expression, lookup)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Sub):
        return Plus(left, Times(NumberForm(Fraction(-1)), right))
    return _MAKING[type(node)](left, right)


_MAKING: Final[dict[type[exp.Expression], Callable[[Arithmetic, Arithmetic], Arithmetic]]] = {
    exp.Add: Plus,
    exp.Mul: Times,
    exp.Div: Over,
}


def _number(text: str) -> Arithmetic | None:
    try:
        return NumberForm(read_number(text))
    except InvalidValue:
        return None


def _to_number(node: exp.Cast) -> bool:
    to = node.args["to"]
    if not isinstance(to.this, exp.DataType.Type) or constants.is_interval(to):
        return False
    return to.this.name in constants.TYPE_NAMES and is_number(constants.column_type(to))
