"""Relations that were public or released before: arrays of text, opened and cast in the source.

INVARIANT: a value is bound as data, never written into the text of a statement.
"""

from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    ARRAY,
    Label,
    Select,
    Subquery,
    Text,
    bindparam,
    cast,
    false,
    func,
    literal_column,
    null,
    nulls_last,
    select,
    type_coerce,
)
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

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.engines.sql.partial_select import RelationSql, subquery_columns
from gateway.engines.staged_rows import StagedRows, null_if_too_long
from gateway.plan.relations import Constant
from gateway.plan.sql_text import decimal_sql

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


def constant_relation(
    dialect: Dialect, node: Constant, staged: StagedRows, name: str
) -> RelationSql:
    """The rows of a constant relation; one for each key, where the node asks for that.

    INVARIANT: which values are one is decided by the database that joins the rows, over the values that it joins.
    """
    names = {one.id: f"c{place + 1}" for place, one in enumerate(node.fields)}
    types = [sql_type(dialect, one.type) for one in node.fields]
    if not staged.rows or not node.fields:
        nothing: list[Label[Any]] = [
            cast(null(), kind).label(one) for one, kind in zip(names.values(), types, strict=True)
        ]
        many = select(*nothing or [null().label("nothing")]).where(false())
        return subquery_columns(many.subquery(name), names, owned=False)
    columns = [
        [value_text(null_if_too_long(one)) for one in column]
        for column in zip(*staged.rows, strict=True)
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
    rows = select(*items).subquery(name if node.one_for is None else f"{name}_rows")
    if node.one_for is None:
        return subquery_columns(rows, names, owned=False)
    shown = {one.id: _comparable(rows.c[names[one.id]], one.type) for one in node.fields}
    keys = [shown[one] for one in node.one_for]
    if dialect == "duckdb":
        return subquery_columns(_least(rows, keys).subquery(name), names, owned=False)
    place = func.row_number().over(
        partition_by=keys or None,
        order_by=[nulls_last(one.asc()) for one in shown.values()],
    )
    numbered = select(*rows.c, place.label("place")).subquery(f"{name}_places")
    kept = select(*(numbered.c[one] for one in names.values())).where(
        numbered.c.place <= literal_column("1")
    )
    return subquery_columns(kept.subquery(name), names, owned=False)


def _least(rows: Subquery, keys: list[Sql]) -> Select[Any]:
    """The least row of each group, by all of its columns; NULL is greater than any value.

    DuckDB 1.5 raises an internal error where a range of the joined column meets the first row of a window.
    """
    least = select(func.min(func.row(*rows.c)).label("least")).group_by(*keys)
    found = least.subquery(f"{rows.name}_least").c.least
    return select(
        *(
            type_coerce(func.struct_extract(found, literal_column(str(place))), one.type).label(
                one.name
            )
            for place, one in enumerate(rows.c, 1)
        )
    )


def _comparable(sql: Sql, of: ColumnType) -> Sql:
    return sql.collate("C") if of.family is Family.TEXT else sql


def value_text(value: Value | None) -> str | None:
    """A value as both databases read it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return decimal_sql(Fraction(value))
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)
