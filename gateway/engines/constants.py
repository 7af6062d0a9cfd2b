"""Relations that were public or released before: arrays of text, opened and cast in the source.

INVARIANT: a value is bound as data, never written into the text of a statement.
"""

from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import ARRAY, Label, Text, bindparam, cast, false, func, null, select
from sqlalchemy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE_PRECISION,
    INTEGER,
    NUMERIC,
    REAL,
    SMALLINT,
    TIMESTAMP,
    UUID,
    TypeEngine,
)

from gateway.catalog.types import ColumnType, Kind
from gateway.catalog.values import Value
from gateway.engines.expressing import Dialect
from gateway.engines.related import Related, over
from gateway.engines.staged import StagedRows, within_length
from gateway.plan.relations import Constant
from gateway.plan.text import decimal

_TYPES: dict[Kind, TypeEngine[Any]] = {
    Kind.SMALLINT: SMALLINT(),
    Kind.INTEGER: INTEGER(),
    Kind.BIGINT: BIGINT(),
    Kind.REAL: REAL(),
    Kind.DOUBLE: DOUBLE_PRECISION(),
    Kind.BOOLEAN: BOOLEAN(),
    Kind.DATE: DATE(),
    Kind.TIMESTAMP: TIMESTAMP(),
    Kind.TIMESTAMPTZ: TIMESTAMP(timezone=True),
    Kind.UUID: UUID(),
}


def sql_type(dialect: Dialect, of: ColumnType) -> TypeEngine[Any]:
    """The source's own type. DuckDB's decimals say how many digits they have."""
    if of.kind is Kind.NUMERIC:
        if of.precision is not None:
            return NUMERIC(of.precision, of.scale)
        return NUMERIC(38, 10) if dialect == "duckdb" else NUMERIC()
    return _TYPES.get(of.kind, Text())


def constant(dialect: Dialect, node: Constant, staged: StagedRows, name: str) -> Related:
    """The rows of a constant relation."""
    names = {one.id: f"c{place + 1}" for place, one in enumerate(node.fields)}
    types = [sql_type(dialect, one.type) for one in node.fields]
    if not staged.rows or not node.fields:
        nothing: list[Label[Any]] = [
            cast(null(), kind).label(one) for one, kind in zip(names.values(), types, strict=True)
        ]
        many = select(*nothing or [null().label("nothing")]).where(false())
        return over(many.subquery(name), names, owned=False)
    columns = [
        [written(within_length(one)) for one in column] for column in zip(*staged.rows, strict=True)
    ]
    opened = select(
        *(
            func.unnest(cast(bindparam(None, column, ARRAY(Text())), ARRAY(Text()))).label(one)
            for column, one in zip(columns, names.values(), strict=True)
        )
    ).subquery(f"{name}_texts")
    items = [
        cast(opened.c[one], kind).label(one)
        for one, kind in zip(names.values(), types, strict=True)
    ]
    return over(select(*items).subquery(name), names, owned=False)


def written(value: Value | None) -> str | None:
    """A value as both databases read it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return decimal(Fraction(value))
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)
