"""Groups in SQL: the form of their keys, and how many groups of a unit count.

A unit keeps at most G groups, by the rank of their keys: every key is hashed once, not once for each unit.

    ranks     every key that rows have, numbered by its hash and then the key in full
    units     for each unit and rank: its integers
    capped    those of a unit's first G ranks

Or it keeps all its groups, each with a weight that follows from their number: no key is hashed, nothing is sorted
for its own sake.

    units     for each unit and group: its integers
    counts    DuckDB: for each unit, the weight of how many groups it has; PostgreSQL counts them in a window
    weighed   the integers of every unit and group beside the weight of that unit

Equal values are one key, NULL and NULL too, in a form that PostgreSQL can hash.

The groups that were released, as parameters of the statement at the source: one array of texts for each key.

A key comes back as a value of the catalog and is given again as a text that the source reads as the value it had.
DuckDB's decimals have as many digits behind the point as their column says, which is not known here: they are
compared as they are written, without zeros at the end.

INVARIANT: a unit keeps the groups it would keep were it alone. Which numbers two keys have depends on everyone's
keys; which of the two comes first does not.
INVARIANT: weights are the gateway's own whole numbers. They stand in a list, found by place: no root is taken and
nothing is divided in the source.
INVARIANT: the keys that are bound are released, so the source and whoever watches it learn nothing. They leave out
what nobody is going to look at: whatever is filtered is filtered when it is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BIGINT,
    CTE,
    Alias,
    BigInteger,
    Double,
    FromClause,
    Numeric,
    Select,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import Join as SqlJoin
from sqlalchemy.sql.elements import KeyedColumnElement
from sqlalchemy.sql.selectable import NamedFromClause

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.sql.number_types import as_double, common_number
from gateway.engines.sql.partial_select import UNIT, Dialect, RelationSql, Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    HUGE,
    TEXT,
    Rendering,
    binary,
    constant,
    double,
    infix,
    sql_type,
    value_text,
)
from gateway.plan.scalars import Scalar
from gateway.sensitivity.analysis import GroupWeights


def key_expression(rendering: Rendering, scalar: Scalar) -> Sql:
    """1.0 and 1.00 are one decimal, 0 and -0 one float; texts are equal if their bytes are."""
    match scalar.type.family:
        case Family.TEXT:
            return binary(cast(rendering.sql(scalar), TEXT))
        case Family.FLOAT:
            return _without_sign(as_double(rendering, scalar))
        case Family.EXACT if rendering.dialect == "postgresql":
            return func.trim_scale(cast(rendering.sql(scalar), EXACT), type_=EXACT)
        case Family.EXACT if common_number(rendering, [scalar]) is DOUBLE:
            return _without_sign(as_double(rendering, scalar))
        case _:
            return rendering.sql(scalar)


def _without_sign(value: Sql) -> Sql:
    return infix(value, "+", double(0.0), DOUBLE)


# any value of the type: it stands for NULL beside a column that says which of the two it is
_STANDS_FOR_NULL: Final[Mapping[Family, Value]] = {
    Family.WHOLE: 0,
    Family.EXACT: 0,
    Family.FLOAT: 0,
    Family.TEXT: "",
    Family.BOOLEAN: False,
    Family.DATE: date(2000, 1, 1),
    Family.TIMESTAMP: datetime(2000, 1, 1),  # noqa: DTZ001 - of a column without a zone
    Family.UUID: UUID(int=0),
}


def same_key(dialect: Dialect, one: Sql, other: Sql, key: Scalar) -> Sql:
    """Whether both are the same value of a key, or both are NULL."""
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


Key: TypeAlias = tuple[Value | None, ...]
_TEXTS: Final = ARRAY(Text())


def is_shown(dialect: Dialect, found: NamedFromClause, keys: Sequence[Scalar]) -> Sql:
    """Whether the group of a row of `found`, with columns `k1`, `k2`, …, is among those that are bound.

    A row is there once however often its group is: groups are looked up, not joined.
    """
    names = [f"k{place + 1}" for place in range(len(keys))]
    opened = select(
        *(
            func.unnest(cast(bindparam(_bound(name), type_=_TEXTS), _TEXTS)).label(name)
            for name in names
        )
    ).subquery("shown_texts")
    read = select(
        *(
            _read(dialect, opened.c[name], found.c[name], key.type).label(name)
            for name, key in zip(names, keys, strict=True)
        )
    ).subquery("shown")
    alike = [
        same_key(dialect, _comparable(dialect, found.c[name], key.type), read.c[name], key)
        for name, key in zip(names, keys, strict=True)
    ]
    return exists().select_from(read).where(*alike).correlate(found)


def shown_parameters(
    keys: Sequence[Scalar], shown: Sequence[Key]
) -> Mapping[str, list[str | None]]:
    """What a statement with `is_shown` is executed with."""
    return {
        _bound(f"k{place + 1}"): [_written(key[place], one.type) for key in shown]
        for place, one in enumerate(keys)
    }


def _bound(name: str) -> str:
    return f"shown_{name}"


def _written(value: Value | None, of: ColumnType) -> str | None:
    if of.family is Family.FLOAT and isinstance(value, int | Fraction):
        return repr(float(value))
    return value_text(value)


def _read(dialect: Dialect, text: Sql, beside: Sql, of: ColumnType) -> Sql:
    """A text as the value that it was written of."""
    match of.family:
        case Family.TEXT:
            return binary(text)
        case Family.WHOLE:
            return cast(text, BIGINT())
        case Family.FLOAT:
            return cast(text, Double())
        case Family.EXACT if dialect == "postgresql":
            return cast(text, EXACT)
        case Family.EXACT:
            return cast(text, Double()) if _is_double(beside) else text
        case _:
            return cast(text, sql_type(dialect, of))


def _comparable(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql:
    if dialect == "postgresql" or of.family is not Family.EXACT or _is_double(sql):
        return sql
    digits: Any = cast(sql, Text())
    short = func.rtrim(func.rtrim(digits, "0"), ".")
    return case((func.contains(digits, "."), short), else_=digits)


def _is_double(sql: Sql) -> bool:
    return isinstance(sql.type, Double)


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
