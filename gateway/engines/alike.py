"""When two keys are one: NULL and NULL too, in a form that PostgreSQL can hash."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final
from uuid import UUID

from sqlalchemy import and_, func

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.scalars_pieces import binary, constant
from gateway.plan.scalars import Scalar

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


def same(dialect: Dialect, one: Sql, other: Sql, key: Scalar) -> Sql:
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
