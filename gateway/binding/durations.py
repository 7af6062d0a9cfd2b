"""Aggregates of the time between two times: `avg(ended - began)`, an interval as in PostgreSQL.

The measure is that of the seconds, `avg(extract(epoch FROM ended - began))`; the finishing makes an interval of the
released number, with days of 24 hours. What no interval can hold is NULL, with the notice of the guards.

INVARIANT: what is measured, charged and audited is the aggregate of the seconds, as if it were written so.
"""

from typing import Final

from sqlglot import exp

from gateway.binding.aggregates import Measures
from gateway.binding.operands import Binding
from gateway.binding.text.dialect import name_of_function
from gateway.binding.time_arithmetic import bind_part_of_difference
from gateway.plan.aggregates import Measure

_OF_TIMES: Final = frozenset({"sum", "avg", "min", "max", "count"})
_OF_ORDERED_TIMES: Final = frozenset({"percentile_cont", "percentile_disc"})
_DAY: Final = 86_400
_BEFORE_DAYS: Final = 3  # years, months and weeks: the first arguments of make_interval
_BEFORE_SECONDS: Final = 2  # hours and minutes


def bind_duration(node: exp.Expression, measures: Measures, scalars: Binding) -> Measure | None:
    """The aggregate of the seconds; None where the aggregate is not one of a difference of times."""
    found = _argument(node)
    if found is None or bind_part_of_difference("epoch", found, scalars) is None:
        return None
    made = node.copy()
    argument = _argument(made)
    if argument is not None:
        seconds = exp.Extract(this=exp.Var(this="epoch"), expression=argument.copy())
        argument.replace(seconds)
    return measures.measure(made)


def as_interval(seconds: exp.Expression, measure: Measure) -> exp.Expression:
    """The interval of so many seconds; the number of differences is a number.

    It has whole days and what is left of the last: seconds alone reach 292,277 years, days 5.8 million. The cast to
    `int` is the one step that can raise, for more days than that, and guards make NULL of it; `make_interval` of NULL
    is NULL. A fraction of a second is cut off before the division, which raises where its result is no double.
    """
    if measure.function == "count":
        return seconds
    one, day = (
        exp.Cast(this=exp.Literal.number(number), to=exp.DataType.build("double"))
        for number in (1, _DAY)
    )
    wide = exp.Mul(this=seconds, expression=one)  # a double, by an operator that needs no guard
    days = _truncated(exp.Div(this=_truncated(wide), expression=day))
    until = exp.Mul(this=days, expression=day)
    rest = exp.Sub(this=wide, expression=until)
    none = [exp.Literal.number(0)] * _BEFORE_DAYS
    between = [exp.Literal.number(0)] * _BEFORE_SECONDS
    parts = [*none, exp.Cast(this=days, to=exp.DataType.build("int")), *between, rest]
    made = exp.Anonymous(this="make_interval", expressions=[part.copy() for part in parts])
    return exp.Anonymous(this="justify_hours", expressions=[made])


def _truncated(number: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="trunc", expressions=[number.copy()])


def _argument(node: exp.Expression) -> exp.Expression | None:
    """What an aggregate that PostgreSQL has of intervals is taken over."""
    if isinstance(node, exp.Filter):
        return _argument(node.this)
    if isinstance(node, exp.WithinGroup):
        order = node.expression.expressions
        named = name_of_function(node.this) if isinstance(node.this, exp.Anonymous) else ""
        return order[0].this if named in _OF_ORDERED_TIMES and len(order) == 1 else None
    if not isinstance(node, exp.Anonymous) or name_of_function(node) not in _OF_TIMES:
        return None
    return node.expressions[0] if len(node.expressions) == 1 else None
