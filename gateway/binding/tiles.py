"""NTILE over rows of persons: CASE buckets between released quantiles.

The tile of a row depends on how many rows of others are before it, so the window itself is never computed. Its
boundaries are quantiles of the values, which are released and charged first; then the tile of a row depends on the row
and on them alone.

INVARIANT: rows of persons are read by the release of the quantiles, and by a CASE of one row's own value.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from sqlglot import exp

from gateway.binding.binder import FreeRelation
from gateway.binding.bound import CutBuilder
from gateway.binding.expressions import ScalarBinder
from gateway.binding.operands import compare
from gateway.binding.text.dialect import identifier, name_of_function
from gateway.binding.windows import bind_order
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BOOLEAN, DATE, INTEGER, NUMERIC, TIMESTAMP, Tie, is_number
from gateway.plan.node import Node
from gateway.plan.scalars import Call, Case, Literal, Ref, Scalar, StagedValue

_MOST: Final = 100
Stage = Callable[[FreeRelation], StagedValue]


def is_tile(node: exp.Window) -> bool:
    """Whether it is a rank over rows of several persons that tiles can stand for."""
    call = node.this
    name = name_of_function(call) if isinstance(call, exp.Anonymous) else ""
    return name in {"ntile", "percent_rank", "cume_dist"} and not node.args.get("partition_by")


def bind_tile(
    node: exp.Window, rows: Node, scalars: ScalarBinder, cutting: CutBuilder, stage: Stage
) -> Scalar:
    """The number of the tile."""
    call = node.this
    if name_of_function(call) != "ntile":
        raise UnsupportedSql(
            Code.ORDER_OF_PERSONS,
            f"`{name_of_function(call)}` over rows of different persons is not supported",
            "use NTILE(10) or NTILE(100): its boundaries are released quantiles",
        )
    many = _count(call)
    order = bind_order(node.args.get("order"), scalars)
    if many is None or len(order) != 1 or node.args.get("spec") is not None:
        raise UnsupportedSql(
            Code.ORDER_OF_PERSONS,
            "this form of `ntile` over rows of different persons is not supported",
            f"write NTILE(n) OVER (ORDER BY x) with one number or date x, and a constant n from 2 to {_MOST}",
        )
    [(value, down)] = order
    tied = isinstance(value, Ref) and value.field.tie is not Tie.NONE
    if tied or not (is_number(value.type) or value.type in {DATE, TIMESTAMP}):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`ntile` does not accept an order by {'the unit key' if tied else value.type}",
            "order by a number or a date",
        )
    places = range(1, many)
    measures = tuple(
        (f"m{place}", _quantile(value, Fraction(many - place if down else place, many)))
        for place in places
    )
    release = cutting.release(Aggregate(rows, (), measures, ((),)))
    branches: list[tuple[Scalar, Scalar]] = []
    if value.nullable:
        missing = Call("is null", (value,), BOOLEAN, nullable=False)
        branches.append((missing, Literal(1 if down else many, INTEGER)))
    for place, (name, measure) in zip(places, measures, strict=True):
        column = exp.Column(this=identifier(name), table=identifier(release))
        query = exp.Select(
            expressions=[column], from_=exp.From(this=exp.Table(this=identifier(release)))
        )
        bound = stage(FreeRelation(query, (name,), (measure.type,)))
        branches.append((compare(">" if down else "<=", value, bound), Literal(place, INTEGER)))
    return Case(tuple(branches), Literal(many, INTEGER), INTEGER)


def _quantile(value: Scalar, at: Fraction) -> Measure:
    return Measure("percentile_disc", (value,), value.type, fraction=Literal(at, NUMERIC))


def _count(call: exp.Anonymous) -> int | None:
    given = call.expressions[0] if len(call.expressions) == 1 else None
    text = given.this if isinstance(given, exp.Literal) and not given.is_string else ""
    return int(text) if text.isdecimal() and len(text) <= 3 and 2 <= int(text) <= _MOST else None  # noqa: PLR2004
