"""Keys of groups: equal values are one key, and a key comes back as a value of the catalog.

When two keys are one: NULL and NULL too, in a form that PostgreSQL can hash.

The groups that were released, as the source is told of them: one array of texts for each key, bound as data.

INVARIANT: the keys that are bound are released, so the source and whoever watches it learn nothing. They leave out
what nobody is going to look at: whatever is filtered is filtered when it is complete.

A key comes back as a value of the catalog and is given again as a text that the source reads as the value it had.
DuckDB's decimals have as many digits behind the point as their column says, which is not known here: they are
compared as they are written, without zeros at the end.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BIGINT,
    Double,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    select,
)
from sqlalchemy.sql.selectable import NamedFromClause

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.sql.constants import sql_type, value_text
from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.engines.sql.number_types import as_double, common_number
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    TEXT,
    Rendering,
    binary,
    constant,
    double,
    infix,
)
from gateway.plan.scalars import Scalar


def key_expression(rendering: Rendering, scalar: Scalar) -> Sql:
    """1.0 and 1.00 are one decimal, 0 and -0 one float; texts are told apart by their bytes."""
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
