"""Aggregates of the time between two times: `avg(ended - began)`, an interval as in PostgreSQL.

The measure is that of the seconds, `avg(extract(epoch FROM ended - began))`; the finishing makes an interval of the
released number, with days of 24 hours.

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
_SECOND: Final = "1 second"


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
    """The interval of so many seconds; the number of differences is a number."""
    if measure.function == "count":
        return seconds
    second = exp.Cast(
        this=exp.Literal.string(_SECOND), to=exp.DataType(this=exp.DataType.Type.INTERVAL)
    )
    wide = exp.Cast(this=seconds, to=exp.DataType(this=exp.DataType.Type.DOUBLE))
    return exp.Anonymous(this="justify_hours", expressions=[exp.Mul(this=wide, expression=second)])


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
