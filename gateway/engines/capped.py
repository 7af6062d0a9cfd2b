"""At most G groups of each unit, by the rank of their keys: every key is hashed once, not once for each unit.

    ranks     every key that rows have, numbered by its hash and then the key in full
    units     for each unit and rank: its integers
    capped    those of a unit's first G ranks

INVARIANT: a unit keeps the groups it would keep were it alone. Which numbers two keys have depends on everyone's
keys; which of the two comes first does not.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import CTE, Alias, Select, TableClause, and_, func, or_, select
from sqlalchemy import Join as SqlJoin

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.derived import integer
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.related import UNIT, Related
from gateway.engines.scalars_pieces import binary, constant
from gateway.plan.scalars import Scalar

RANK: Final = "r"
_MOST_LISTED: Final = 1_000
# any value of the type: it stands for NULL beside a column that says which of the two it is
_STANDS_FOR_NULL: Final[Mapping[Family, Value]] = {
    Family.WHOLE: 0,
    Family.EXACT: 0,
    Family.TEXT: "",
    Family.BOOLEAN: False,
    Family.DATE: date(2000, 1, 1),
    Family.TIMESTAMP: datetime(2000, 1, 1),  # noqa: DTZ001 - of a column without a zone
    Family.UUID: UUID(int=0),
}


def can_be_ranked(dialect: Dialect, rows: Related, keys: Sequence[Scalar]) -> bool:
    """Whether rows come from one table, which is then read twice, and PostgreSQL can hash their keys."""
    source = rows.source
    one_table = isinstance(source, Alias) and isinstance(source.element, TableClause)
    hashable = (not key.nullable or key.type.family in _STANDS_FOR_NULL for key in keys)
    return one_table and (dialect == "duckdb" or all(hashable))


def rank_keys(rows: Related, keys: Sequence[Any], order: Sequence[Sql]) -> CTE:
    """`order` is over columns that are named like the keys, and leaves no two keys tied."""
    there = rows.select(*keys).distinct().subquery("keys")
    rank = func.row_number().over(order_by=order).label(RANK)
    return select(*there.c, rank).select_from(there).cte("ranks")


def with_ranks(
    dialect: Dialect, rows: Related, ranks: CTE, keys: Sequence[tuple[Sql, str, Scalar]]
) -> SqlJoin:
    """Where rows come from, each with the rank of its key."""
    same = [_same(dialect, sql, ranks.c[name], key) for sql, name, key in keys]
    return rows.source.join(ranks, and_(*same))


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


def _same(dialect: Dialect, one: Sql, other: Sql, key: Scalar) -> Sql:
    if not key.nullable:
        return one == other
    if dialect == "duckdb":
        return one.is_not_distinct_from(other)
    none = _stands_for_null(dialect, key.type)
    equal = func.coalesce(one, none) == func.coalesce(other, none)
    return and_(equal, one.is_(None).self_group() == other.is_(None).self_group())


def _stands_for_null(dialect: Dialect, of: ColumnType) -> Sql:
    made = constant(dialect, _STANDS_FOR_NULL[of.family], of)
    return binary(made) if of.family is Family.TEXT else made
