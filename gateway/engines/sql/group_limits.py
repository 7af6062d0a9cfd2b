"""At most G groups of each unit, by the rank of their keys: every key is hashed once, not once for each unit.

    ranks     every key that rows have, numbered by its hash and then the key in full
    units     for each unit and rank: its integers
    capped    those of a unit's first G ranks

INVARIANT: a unit keeps the groups it would keep were it alone. Which numbers two keys have depends on everyone's
keys; which of the two comes first does not.

All groups of each unit, each by the weight of their number: no key is hashed, nothing is sorted for its own sake.

    units     for each unit and group: its integers
    counts    DuckDB: for each unit, the weight of how many groups it has; PostgreSQL counts them in a window
    weighed   the integers of every unit and group beside the weight of that unit

INVARIANT: weights are the gateway's own whole numbers. They stand in a list, found by place: no root is taken and
nothing is divided in the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    CTE,
    Alias,
    BigInteger,
    FromClause,
    Numeric,
    Select,
    TableClause,
    and_,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import Join as SqlJoin
from sqlalchemy.sql.elements import KeyedColumnElement

from gateway.engines.sql.group_keys import same_key
from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.engines.sql.partial_select import UNIT, RelationSql
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import HUGE
from gateway.plan.scalars import Scalar
from gateway.sensitivity.group_weights import GroupWeights

RANK: Final = "r"
_MOST_LISTED: Final = 1_000


def can_be_ranked(rows: RelationSql) -> bool:
    """Whether rows come from one table, which is then read twice."""
    source = rows.source
    return isinstance(source, Alias) and isinstance(source.element, TableClause)


def rank_keys(rows: RelationSql, keys: Sequence[Any], order: Sequence[Sql]) -> CTE:
    """`order` is over columns that are named like the keys, and leaves no two keys tied."""
    there = rows.select(*keys).distinct().subquery("keys")
    rank = func.row_number().over(order_by=order).label(RANK)
    return select(*there.c, rank).select_from(there).cte("ranks")


def with_ranks(
    dialect: Dialect, rows: RelationSql, ranks: CTE, keys: Sequence[tuple[Sql, str, Scalar]]
) -> SqlJoin:
    """Where rows come from, each with the rank of its key."""
    alike = [same_key(dialect, sql, ranks.c[name], key) for sql, name, key in keys]
    return rows.source.join(ranks, and_(*alike))


def cap_groups(
    dialect: Dialect, units: Select[Any], names: Sequence[str], most: int
) -> Select[Any]:
    """The rank and these columns of the first `most` ranks of every unit."""
    if dialect == "duckdb" and most <= _MOST_LISTED:
        # the G-th rank by an aggregate: no unit is sorted
        made = units.cte("units").prefix_with("MATERIALIZED")
        # NULL where a unit has fewer
        last = func.list_extract(func.min(made.c[RANK], own_integer(most)), own_integer(most))
        lasts = select(made.c[UNIT], last.label("last"))
        found = lasts.group_by(made.c[UNIT]).subquery("lasts")
        joined = made.join(found, made.c[UNIT] == found.c[UNIT])
        kept = or_(found.c.last.is_(None), made.c[RANK] <= found.c.last)
        return select(*(made.c[name] for name in (RANK, *names))).select_from(joined).where(kept)
    there = units.subquery("units")
    place = func.row_number().over(partition_by=there.c[UNIT], order_by=there.c[RANK])
    ranked = select(*(there.c[name] for name in (RANK, *names)), place.label("place"))
    made_ranked = ranked.subquery("ranked")
    return select(*(made_ranked.c[name] for name in (RANK, *names))).where(
        made_ranked.c.place <= own_integer(most)
    )


_WEIGHT = "w"


@dataclass(frozen=True)
class WeightedUnits:
    """Integers of units in groups, by name, and the weight of each."""

    source: FromClause
    columns: Mapping[str, KeyedColumnElement[Any]]
    weight: Sql


def weight_groups(
    dialect: Dialect, units: Select[Any], names: Sequence[str], weights: GroupWeights
) -> WeightedUnits:
    """`names` are the columns of `units` that are handed on, beside its unit."""
    if dialect == "duckdb":
        # faster than a window, which would sort all units
        made = units.cte("units").prefix_with("MATERIALIZED")
        weight = _weight(dialect, func.count(), weights)
        counted = select(made.c[UNIT], weight.label(_WEIGHT)).group_by(made.c[UNIT])
        counts = counted.subquery("counts")
        source = made.join(counts, made.c[UNIT] == counts.c[UNIT])
        return WeightedUnits(source, {name: made.c[name] for name in names}, counts.c[_WEIGHT])
    there = units.subquery("units")
    many = func.count().over(partition_by=there.c[UNIT])
    # here, where it is looked up once for a row, not once for each of its integers
    weight = _weight(dialect, many, weights).label(_WEIGHT)
    beside = select(*(there.c[name] for name in names), weight).subquery("beside")
    return WeightedUnits(beside, {name: beside.c[name] for name in names}, beside.c[_WEIGHT])


def times_whole(dialect: Dialect, sum_: Sql, weights: GroupWeights) -> Sql:
    """A sum over all units, none of which is in too many groups, in a type that holds it whatever it is."""
    return cast(sum_, HUGE if dialect == "duckdb" else Numeric()) * own_integer(weights.whole)


def _weight(dialect: Dialect, many: Sql, weights: GroupWeights) -> Sql:
    """By the number of a unit's groups; more than are listed weigh like as many as are listed."""
    place = func.least(many, own_integer(weights.listed)) - own_integer(weights.groups)
    lowered = ", ".join(map(str, weights.lowered))
    found: Sql
    if dialect == "duckdb":
        found = func.list_extract(literal_column(f"[{lowered}]"), place)
    else:
        found = literal_column(f"(CAST('{{{lowered}}}' AS bigint[]))", ARRAY(BigInteger()))[place]
    return case((many > own_integer(weights.groups), found), else_=own_integer(weights.whole))
