"""All groups of each unit, each by the weight of their number: no key is hashed, nothing is sorted for its own sake.

    units     for each unit and group: its integers
    counts    DuckDB: for each unit, the weight of how many groups it has; PostgreSQL counts them in a window
    weighed   the integers of every unit and group beside the weight of that unit

INVARIANT: weights are the gateway's own whole numbers. They stand in a list, found by place: no root is taken and
nothing is divided in the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    FromClause,
    Numeric,
    Select,
    case,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql.elements import KeyedColumnElement

from gateway.engines.derived import integer
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.related import UNIT
from gateway.engines.scalars_pieces import HUGE
from gateway.sensitivity.weights import Weights

_WEIGHT = "w"


@dataclass(frozen=True)
class Weighed:
    """Integers of units in groups, by name, and the weight of each."""

    source: FromClause
    columns: Mapping[str, KeyedColumnElement[Any]]
    weight: Sql


def weighed(
    dialect: Dialect, units: Select[Any], names: Sequence[str], weights: Weights
) -> Weighed:
    """`names` are the columns of `units` that are handed on, beside its unit."""
    if dialect == "duckdb":
        # faster than a window, which would sort all units
        made = units.cte("units").prefix_with("MATERIALIZED")
        weight = _weight(dialect, func.count(), weights)
        counted = select(made.c[UNIT], weight.label(_WEIGHT)).group_by(made.c[UNIT])
        counts = counted.subquery("counts")
        source = made.join(counts, made.c[UNIT] == counts.c[UNIT])
        return Weighed(source, {name: made.c[name] for name in names}, counts.c[_WEIGHT])
    there = units.subquery("units")
    many = func.count().over(partition_by=there.c[UNIT])
    # here, where it is looked up once for a row, not once for each of its integers
    weight = _weight(dialect, many, weights).label(_WEIGHT)
    beside = select(*(there.c[name] for name in names), weight).subquery("beside")
    return Weighed(beside, {name: beside.c[name] for name in names}, beside.c[_WEIGHT])


def times_whole(dialect: Dialect, sum_: Sql, weights: Weights) -> Sql:
    """A sum over all units, none of which is in too many groups, in a type that holds it whatever it is."""
    return cast(sum_, HUGE if dialect == "duckdb" else Numeric()) * integer(weights.whole)


def _weight(dialect: Dialect, many: Sql, weights: Weights) -> Sql:
    """By the number of a unit's groups; more than are listed weigh like as many as are listed."""
    place = func.least(many, integer(weights.listed)) - integer(weights.groups)
    lowered = ", ".join(map(str, weights.lowered))
    found: Sql
    if dialect == "duckdb":
        found = func.list_extract(literal_column(f"[{lowered}]"), place)
    else:
        found = literal_column(f"(CAST('{{{lowered}}}' AS bigint[]))", ARRAY(BigInteger()))[place]
    return case((many > integer(weights.groups), found), else_=integer(weights.whole))
