"""The pieces that total expressions are put together from.

INVARIANT: a value is bound as data, never written into the text; every operator stands in brackets of its own;
a NULL has a type, so that no comparison with it is taken for `IS NULL`.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, Protocol, TypeAlias

from sqlalchemy import (
    BIGINT,
    Boolean,
    ColumnElement,
    Double,
    Numeric,
    Text,
    case,
    cast,
    false,
    func,
    literal,
    null,
    true,
    try_cast,
)
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.types import TypeEngine, UserDefinedType

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.engines.sql.constants import sql_type
from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.plan.scalars import Call, Scalar
from gateway.plan.sql_text import decimal_sql
from gateway.ranges.relations import Range

Type = TypeEngine[Any]

DOUBLE: Final[Type] = Double()
WHOLE: Final[Type] = BIGINT()
TEXT: Final[Type] = Text()
EXACT: Final[Type] = Numeric()
LARGEST: Final = 1.7976931348623157e308
_MOST_DIGITS: Final = 38


class Rendering(Protocol):
    """What the pieces of an expression ask of the whole."""

    @property
    def dialect(self) -> Dialect: ...

    def sql(self, scalar: Scalar, /) -> Sql: ...

    def range(self, scalar: Scalar) -> Range | None: ...


Render: TypeAlias = Callable[[Rendering, Call], Sql]
"""The SQL of a call."""


class HugeInteger(UserDefinedType[int]):
    """DuckDB's whole numbers of 128 bits."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "HUGEINT"


HUGE: Final[Type] = HugeInteger()


def infix(left: Sql, operator: str, right: Sql, kind: Type) -> Sql:
    made: ColumnElement[Any] = Grouping(left).op(operator, return_type=kind)(Grouping(right))
    return made


def compare(left: Sql, operator: str, right: Sql) -> Sql:
    """A comparison; an operand that is a constant is compared like any other."""
    return infix(left, operator, right, Boolean())


def null_of(kind: Type) -> Sql:
    return cast(null(), kind)


def when(condition: Sql, value: Sql, otherwise: Sql | None = None) -> Sql:
    """The value where the condition is true."""
    return case((condition, value), else_=null() if otherwise is None else otherwise)


def between(value: Sql, low: Sql, high: Sql) -> Sql:
    return compare(value, ">=", low) & compare(value, "<=", high)


def integer(value: int) -> Sql:
    return cast(literal(value), WHOLE)


def double(value: Fraction | float) -> Sql:
    return cast(literal(float(value), Double()), DOUBLE)


def exact(value: Fraction | int) -> Sql:
    """A number of PostgreSQL with all its digits."""
    return cast(literal(_decimal(Fraction(value)), Numeric()), EXACT)


def _decimal(value: Fraction) -> Decimal:
    with localcontext(prec=2_000):
        return Decimal(decimal_sql(value))


def constant(dialect: Dialect, value: Value | None, of: ColumnType) -> Sql:
    """A constant of a type; what the type cannot hold is NULL."""
    kind = sql_type(dialect, of)
    if value is None:
        return null_of(DOUBLE if dialect == "duckdb" and of.family is Family.EXACT else kind)
    if isinstance(value, bool):
        return true() if value else false()
    if isinstance(value, int | Fraction):
        return _number(dialect, Fraction(value), of)
    if isinstance(value, str):
        return cast(literal(value, Text()), TEXT)
    if isinstance(value, datetime) and of.kind is Kind.TIMESTAMPTZ:
        value = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return cast(literal(value, kind), kind)


def _number(dialect: Dialect, value: Fraction, of: ColumnType) -> Sql:
    if of.family is Family.WHOLE:
        bound = of.bound or Fraction(2**63)
        fits = value.denominator == 1 and -bound <= value < bound
        return cast(literal(int(value)), sql_type(dialect, of)) if fits else null_of(WHOLE)
    if of.family is Family.FLOAT:
        return double(value) if abs(value) <= Fraction(LARGEST) else null_of(DOUBLE)
    if dialect == "postgresql":
        return exact(value)
    size = digits_of(value)
    if size is None:
        return double(value) if abs(value) <= Fraction(LARGEST) else null_of(DOUBLE)
    digits, scale = size
    return cast(literal(_decimal(value), Numeric()), Numeric(max(digits, 18), scale))


def digits_of(value: Fraction) -> tuple[int, int] | None:
    """How many digits a decimal has, and how many of them behind the point; None: more than 38."""
    written = decimal_sql(abs(value))
    before, _, behind = written.partition(".")
    digits = len(before.lstrip("0")) + len(behind)
    return (max(digits, 1), len(behind)) if digits <= _MOST_DIGITS else None


def null_outside(dialect: Dialect, value: Sql, low: int, high: int, *, wide: Type) -> Sql:
    """A whole number where it is from `low` to `high`, else NULL; `wide` is the type it has."""
    if dialect == "duckdb":
        return try_cast(when(between(value, integer(low), integer(high)), value), WHOLE)
    # named once: what is written twice at every level grows beyond all measure
    ends = [cast(literal(Decimal(end)), EXACT) for end in (low - 1, high + 1)]
    below, above = (cast(end, wide) for end in ends)
    kept = func.greatest(func.least(value, above), below)
    return cast(func.nullif(func.nullif(kept, above), below), WHOLE)


def length_in_bytes(dialect: Dialect, text: Sql) -> Sql:
    return func.strlen(text) if dialect == "duckdb" else func.octet_length(text)


def binary(text: Sql) -> Sql:
    """Text whose equality and order are those of its bytes, whatever its column says."""
    return text.collate("C")
