"""The pieces of total expressions, constant relations, and the rows of one shard.

A constant relation was public or released before: arrays of text, opened and cast in the source.

INVARIANT: a value is bound as data, never written into the text of a statement; every operator stands in brackets
of its own; a NULL has a type, so that no comparison with it is taken for `IS NULL`.
INVARIANT: a person is in exactly one part, whatever table its rows are in. The hash sees the unit alone, in one
form for all types that the units of one dataset have, and units that are equal have equal hashes.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, Protocol, TypeAlias

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    Label,
    Numeric,
    Select,
    Subquery,
    Text,
    bindparam,
    case,
    cast,
    false,
    func,
    literal,
    literal_column,
    null,
    nulls_last,
    select,
    true,
    try_cast,
    type_coerce,
)
from sqlalchemy.sql.elements import Grouping
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
    UserDefinedType,
)

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.engines.sql.partial_select import Dialect, RelationSql, Sql, subquery_columns
from gateway.functions.range_arithmetic import Range
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import Constant, StagedRows, null_if_too_long
from gateway.plan.scalars import Call, Scalar
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


def cast_or_null(value: Sql, kind: Type) -> Sql:
    """DuckDB's value in a type that may not hold it, else NULL.

    INVARIANT: every TRY_CAST that can give NULL for a value stands in a call. DuckDB takes `TRY_CAST(x AS t) > c` for
    `x > c`, and `TRY_CAST(x AS t) IS NULL` for `x IS NULL`; it takes no call apart. GREATEST of one value is this value.
    It names the value once, where a CASE would name it three times at each level.
    """
    return func.greatest(try_cast(value, kind), type_=kind)


def length_in_bytes(dialect: Dialect, text: Sql) -> Sql:
    return func.strlen(text) if dialect == "duckdb" else func.octet_length(text)


def binary(text: Sql) -> Sql:
    """Text whose equality and order are those of its bytes, whatever its column says."""
    return text.collate("C")


Part: TypeAlias = tuple[int, int]
"""Which one, from 0, and of how many."""

_WHOLE: Final = BigInteger()
# PostgreSQL's own, which hash what is equal alike
_HASHES: Final = {Family.WHOLE: "hashint8", Family.TEXT: "hashtext", Family.UUID: "uuid_hash"}


def is_in_shard(dialect: Dialect, unit: Sql, of: ColumnType, part: Part) -> Sql:
    """Whether a row belongs to a person of this part."""
    number, many = part
    if not 0 <= number < many:
        raise BrokenPlan("a part that is none of its parts")
    found: Sql = infix(_hashed(dialect, unit, of), "%", _hash_number(many), _WHOLE) == _hash_number(
        number
    )
    return found


def _hashed(dialect: Dialect, unit: Sql, of: ColumnType) -> Sql:
    """A whole number that is not negative."""
    alike = unit
    if of.family is Family.WHOLE:
        alike = cast(unit, _WHOLE)
    elif of.family is Family.TEXT:
        alike = binary(cast(unit, Text()))
    if dialect == "duckdb":
        return func.hash(alike)
    if of.family not in _HASHES:
        raise BrokenPlan("a unit of a type that no unit has")
    made: Sql = getattr(func, _HASHES[of.family])(alike)
    return infix(made, "&", _hash_number(2**31 - 1), _WHOLE)


def _hash_number(value: int) -> Sql:
    return literal_column(str(value), _WHOLE)
