"""Groups in SQL: the form of their keys, and how many groups of a unit count.

A unit keeps at most G groups: the first by a hash of the unit and the key. Only units with more groups are hashed.

    units     for each unit and group: its integers
    over      the units with more than G groups (PostgreSQL counts groups in a window)
    capped    all groups of the other units, and the first G of those

Equal values are one key, NULL and NULL too, in a form that PostgreSQL can hash.

The groups that were released, as parameters of the statement at the source: one array of texts for each key.

A key comes back as a value of the catalog and is given again as a text that the source reads as the value it had.
DuckDB's decimals have as many digits behind the point as their column says, which is not known here: they are
compared as they are written, without zeros at the end.

INVARIANT: a unit keeps the groups it would keep were it alone: which of two of its keys comes first is decided by
the unit and the two keys. No two keys tie, because keys with one hash are ordered by their values.
INVARIANT: each unit has an order of its own, so no group comes last for everybody.
INVARIANT: the keys that are bound are released, so the source and whoever watches it learn nothing. They leave out
what nobody is going to look at: whatever is filtered is filtered when it is complete.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BIGINT,
    Boolean,
    Double,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    null,
    nulls_last,
    select,
    union_all,
)
from sqlalchemy.sql.selectable import NamedFromClause

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.sql.number_types import as_double, common_number
from gateway.engines.sql.partial_select import UNIT, Dialect, Sql
from gateway.engines.sql.per_unit import hash_order, own_integer
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    TEXT,
    Rendering,
    binary,
    constant,
    double,
    infix,
    sql_type,
    value_text,
)
from gateway.plan.scalars import Literal, Scalar


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
        case Family.BOOLEAN if isinstance(scalar, Literal):
            # PostgreSQL takes a bare constant of GROUP BY for a place, and raises
            return cast(rendering.sql(scalar), Boolean())
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


_MANY, _PLACE = "many", "place"


def own_order(salt: str, unit: Sql, keys: Sequence[Sql]) -> list[Sql]:
    """The order of keys that a unit has for itself: by a hash of the unit and the key, then by the key in full."""
    return [hash_order(salt, [unit, *keys]), *(nulls_last(one.asc()) for one in keys)]


def cap_groups(
    dialect: Dialect,
    units: Select[Any],
    names: Sequence[str],
    keys: Sequence[str],
    most: int,
    *,
    salt: str,
) -> Select[Any]:
    """The columns `names` of the first `most` groups of every unit; `keys` are those of `names` that are the key."""
    limit = own_integer(most)
    if dialect == "duckdb":
        # a window would sort all units, and hash all keys
        made = units.cte("units").prefix_with("MATERIALIZED")
        grouped = select(made.c[UNIT]).group_by(made.c[UNIT])
        over = grouped.having(func.count() > limit).cte("over").prefix_with("MATERIALIZED")
        is_over = exists().where(over.c[UNIT] == made.c[UNIT])
        all_ = select(*(made.c[name] for name in names)).where(~is_over)
        ordered = own_order(salt, made.c[UNIT], [made.c[name] for name in keys])
        place = func.row_number().over(partition_by=made.c[UNIT], order_by=ordered).label(_PLACE)
        few = select(*(made.c[name] for name in names), place).where(is_over).subquery("few_over")
        first = select(*(few.c[name] for name in names)).where(few.c[_PLACE] <= limit)
        return select(*union_all(all_, first).subquery("both").c)
    there = units.subquery("units")
    many = func.count().over(partition_by=there.c[UNIT]).label(_MANY)
    counted = select(*there.c, many).subquery("counted")
    hashed, *rest = own_order(salt, counted.c[UNIT], [counted.c[name] for name in keys])
    # whoever has no more groups keeps all of them, in any order
    order = [case((counted.c[_MANY] > limit, hashed), else_=null()), *rest]
    place = func.row_number().over(partition_by=counted.c[UNIT], order_by=order).label(_PLACE)
    ranked = select(*(counted.c[name] for name in names), place).subquery("ranked")
    return select(*(ranked.c[name] for name in names)).where(ranked.c[_PLACE] <= limit)
