"""MIN and MAX of a text whose values the policy lists: the end of the places that the values have in binary order.

The place of a value is a whole number, whose least and greatest are chosen as those of any number; the finishing turns
the chosen place into the value again.

INVARIANT: what comes back is one of the listed values, chosen by the mechanism of `min` and `max`.
"""

from sqlglot import exp

from gateway.binding.aggregates import AggregateContext
from gateway.binding.operands import compare
from gateway.binding.patterns import listed_values
from gateway.binding.text.dialect import name_of_function
from gateway.catalog.types import Family
from gateway.errors import UnsupportedSql
from gateway.plan.aggregates import Measure
from gateway.plan.fields import INTEGER, TEXT, Tie
from gateway.plan.scalars import Case, Literal, Ref, Scalar


def bind_listed_end(
    node: exp.Expression, scalars: AggregateContext
) -> tuple[Measure, tuple[str, ...]] | None:
    """The aggregate over places, and the values in their order; None where it is no end of a text."""
    call = node.this if isinstance(node, exp.Filter) else node
    name = name_of_function(call) if isinstance(call, exp.Anonymous) else ""
    if name not in {"min", "max"} or len(call.expressions) != 1:
        return None
    [argument] = call.expressions
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        [argument] = argument.expressions  # the least of the different values is the least
    if isinstance(argument, (exp.Star, exp.Distinct, exp.Order)):
        return None
    if argument.find(exp.Select, exp.Window) is not None:
        return None  # binding it adds to the plan, and it is bound once more
    what = scalars.bind(argument)
    tied = isinstance(what, Ref) and what.field.tie is not Tie.NONE
    if what.type.family is not Family.TEXT or tied:
        return None
    try:
        column, pairs = listed_values(what, name)
    except UnsupportedSql:
        return None  # which is refused as the end of any text
    values = tuple(sorted({str(known) for _, known in pairs}))
    places = {value: place + 1 for place, value in enumerate(values)}
    branches: tuple[tuple[Scalar, Scalar], ...] = tuple(
        (compare("=", column, Literal(value, TEXT)), Literal(places[str(known)], INTEGER))
        for value, known in pairs
    )
    where = scalars.condition(node.expression.this) if isinstance(node, exp.Filter) else None
    place = Case(branches, Literal(None, INTEGER), INTEGER)
    return Measure(name, (place,), INTEGER, where=where), values


def value_at(place: exp.Expression, values: tuple[str, ...]) -> exp.Expression:
    """The value that has this place."""
    ifs = [
        exp.If(this=exp.Literal.number(at + 1), true=exp.Literal.string(value))
        for at, value in enumerate(values)
    ]
    return exp.Paren(this=exp.Case(this=place, ifs=ifs))
