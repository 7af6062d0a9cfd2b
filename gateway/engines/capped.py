"""At most G groups of each unit, by the rank of their keys: every key is hashed once, not once for each unit.

    ranks     every key that rows have, numbered by its hash and then the key in full
    units     for each unit and rank: its integers
    capped    those of a unit's first G ranks

INVARIANT: a unit keeps the groups it would keep were it alone. Which numbers two keys have depends on everyone's
keys; which of the two comes first does not.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import CTE, Alias, Select, TableClause, and_, func, or_, select
from sqlalchemy import Join as SqlJoin

from gateway.engines.alike import same
from gateway.engines.derived import integer
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.related import UNIT, Related
from gateway.plan.scalars import Scalar

RANK: Final = "r"
_MOST_LISTED: Final = 1_000


def can_be_ranked(rows: Related) -> bool:
    """Whether rows come from one table, which is then read twice."""
    source = rows.source
    return isinstance(source, Alias) and isinstance(source.element, TableClause)


def rank_keys(rows: Related, keys: Sequence[Any], order: Sequence[Sql]) -> CTE:
    """`order` is over columns that are named like the keys, and leaves no two keys tied."""
    there = rows.select(*keys).distinct().subquery("keys")
    rank = func.row_number().over(order_by=order).label(RANK)
    return select(*there.c, rank).select_from(there).cte("ranks")


def with_ranks(
    dialect: Dialect, rows: Related, ranks: CTE, keys: Sequence[tuple[Sql, str, Scalar]]
) -> SqlJoin:
    """Where rows come from, each with the rank of its key."""
    alike = [same(dialect, sql, ranks.c[name], key) for sql, name, key in keys]
    return rows.source.join(ranks, and_(*alike))


def capped(dialect: Dialect, units: Select[Any], names: Sequence[str], most: int) -> Select[Any]:
    """The rank and these columns of the first `most` ranks of every unit."""
    if dialect == "duckdb" and most <= _MOST_LISTED:
        # the G-th rank by an aggregate: no unit is sorted
        made = units.cte("units").prefix_with("MATERIALIZED")
        # NULL where a unit has fewer
        last = func.list_extract(func.min(made.c[RANK], integer(most)), integer(most))
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
        made_ranked.c.place <= integer(most)
    )
