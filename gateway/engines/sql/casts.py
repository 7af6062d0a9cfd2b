"""Casts: NULL where PostgreSQL would raise.

INVARIANT: a text is read by one strict grammar, the same in every database; what a setting of the connection
could show differently is written by a fixed format, or refused.
"""

from typing import Final

from sqlalchemy import Integer, Numeric, Text, case, cast, func, literal, try_cast
from sqlalchemy.types import REAL, TIMESTAMP

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.engines.sql.number_types import as_double, as_number, common_number, decimal_digits
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    HUGE,
    TEXT,
    WHOLE,
    Rendering,
    binary,
    cast_or_null,
    compare,
    constant,
    double,
    exact,
    null_outside,
    sql_type,
    when,
)
from gateway.errors import Code, UnsupportedSql
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Cast, Literal, Scalar

INTEGER_GRAMMAR: Final = "^ *[-+]?[0-9]{1,37} *$"
NUMBER_GRAMMAR: Final = (
    r"^ *[-+]?([0-9]{1,37}([.][0-9]{0,37})?|[.][0-9]{1,37})([eE][-+]?[0-9]{1,2})? *$"
)
_DAY: Final = "^ *([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
DATE_GRAMMAR: Final = f"{_DAY} *$"
_CLOCK: Final = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_OFFSET: Final = "(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"
_UUID: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_WIDEST: Final = 38
_LARGEST_REAL: Final = 3.4e38
_LEAST_REAL: Final = 1.2e-38


def render_cast(rendering: Rendering, scalar: Cast) -> Sql:  # noqa: C901, PLR0911 - by pair
    what, of, to = scalar.what, scalar.what.type, scalar.type
    if isinstance(what, Literal) and what.value is None:
        return constant(rendering.dialect, None, to)
    if Kind.TIMESTAMPTZ in {of.kind, to.kind}:
        raise BrokenPlan("a cast that reads the clock of no zone")
    match of.family, to.family:
        case Family.TEXT, Family.TEXT:
            return _cut(cast(rendering.sql(what), TEXT), to)
        case _, Family.TEXT:
            return _cut(_shown(rendering, what), to)
        case Family.TEXT, _:
            return read_text(rendering.dialect, binary(cast(rendering.sql(what), TEXT)), to)
        case Family.BOOLEAN, Family.WHOLE:
            return cast(rendering.sql(what), sql_type(rendering.dialect, to))
        case _, Family.WHOLE:
            return _whole(rendering, what, to)
        case _, Family.EXACT:
            return _exact(rendering, what, to)
        case _, Family.FLOAT:
            return narrow_float(as_double(rendering, what), to)
        case _, Family.TIMESTAMP:
            return cast(rendering.sql(what), TIMESTAMP())
        case _:
            return cast(rendering.sql(what), sql_type(rendering.dialect, to))


def _cut(text: Sql, to: ColumnType) -> Sql:
    if to.length is None:
        return text
    return func.left(text, cast(literal(to.length), Integer()), type_=TEXT)


def _shown(rendering: Rendering, what: Scalar) -> Sql:
    family, postgresql = what.type.family, rendering.dialect == "postgresql"
    made = rendering.sql(what)
    if family is Family.DATE and postgresql:
        return func.to_char(made, literal("YYYY-MM-DD", Text()), type_=TEXT)
    if family in {Family.WHOLE, Family.BOOLEAN, Family.DATE, Family.UUID}:
        return cast(made, TEXT)
    if family is Family.EXACT and what.type.scale is not None:
        form = decimal_digits(rendering, what)
        if postgresql:
            return cast(cast(made, Numeric(what.type.precision, what.type.scale)), TEXT)
        if form is not None and form.type is not None:
            return cast(try_cast(made, Numeric(_WIDEST, form.behind)), TEXT)
    raise UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"a cast from {what.type} to {Kind.TEXT} is not supported over protected rows",
        "cast the value to numeric with a scale first, or cast the result of the aggregate",
    )


def matches(dialect: Dialect, text: Sql, grammar: str) -> Sql:
    pattern = cast(literal(grammar, Text()), TEXT)
    if dialect == "duckdb":
        return func.regexp_matches(text, pattern)
    return compare(text, "~", pattern)


def read_text(dialect: Dialect, text: Sql, to: ColumnType) -> Sql:
    """The value that a text in binary collation spells, else NULL."""
    match to.family:
        case Family.DATE:
            return _spelled(dialect, text, to, DATE_GRAMMAR, "date")
        case Family.TIMESTAMP:
            zoned = to.kind is Kind.TIMESTAMPTZ
            grammar = f"{_DAY}[T ]{_CLOCK}{_OFFSET if zoned else ''} *$"
            return _spelled(dialect, text, to, grammar, "timestamptz" if zoned else "timestamp")
        case Family.UUID:
            kind = sql_type(dialect, to)
            made = cast_or_null(text, kind) if dialect == "duckdb" else cast(text, kind)
            return when(matches(dialect, text, _UUID), made)
        case _:
            return _read(dialect, text, to)


def _spelled(dialect: Dialect, text: Sql, to: ColumnType, grammar: str, named: str) -> Sql:
    fits = matches(dialect, text, grammar)
    kind = sql_type(dialect, to)
    if dialect == "duckdb":
        return when(fits, cast_or_null(func.trim(text, type_=TEXT), kind))
    # the grammar leaves no room for DateStyle or a zone; which days a month has is for PostgreSQL to say
    there = func.pg_input_is_valid(text, literal(named, Text()))
    return case((fits & there, cast(text, kind)), else_=None)


def _read(dialect: Dialect, text: Sql, to: ColumnType) -> Sql:
    whole = to.family is Family.WHOLE
    fits = matches(dialect, text, INTEGER_GRAMMAR if whole else NUMBER_GRAMMAR)
    if dialect == "postgresql":
        number = case((fits, cast(text, EXACT)), else_=None)
        if whole:
            return _narrowed(dialect, number, to, EXACT)
        return (
            _fitted(number, to)
            if to.family is Family.EXACT
            else narrow_float(cast(number, DOUBLE), to)
        )
    bare = func.trim(text, type_=TEXT)
    if whole:
        return _narrowed(dialect, when(fits, cast_or_null(bare, HUGE)), to, HUGE)
    if to.family is Family.EXACT and to.precision is not None and to.precision <= _WIDEST:
        return when(fits, cast_or_null(bare, Numeric(to.precision, to.scale)))
    return narrow_float(when(fits, cast_or_null(bare, DOUBLE)), to)


def _narrowed(dialect: Dialect, number: Sql, to: ColumnType, wide: object) -> Sql:
    bound = int(to.bound or 2**63)
    kind = HUGE if wide is HUGE else EXACT
    return null_outside(dialect, number, -bound, bound - 1, wide=kind)


def _whole(rendering: Rendering, what: Scalar, to: ColumnType) -> Sql:
    """Decimals are rounded half away from zero, doubles half to even, as PostgreSQL does."""
    dialect, family = rendering.dialect, what.type.family
    bound = int(to.bound or 2**63)
    if family is Family.WHOLE:
        inside = what.type.bound is not None and what.type.bound <= bound
        made = cast(rendering.sql(what), WHOLE)
        return made if inside else null_outside(dialect, made, -bound, bound - 1, wide=WHOLE)
    if dialect == "duckdb":
        if family is Family.FLOAT:
            rounded: Sql = func.round_even(as_double(rendering, what), cast(literal(0), Integer()))
        else:
            rounded = func.round(as_number(rendering, what, common_number(rendering, [what])))
        return cast_or_null(rounded, sql_type(dialect, to))
    if family is Family.EXACT:
        rounded = func.round(cast(rendering.sql(what), EXACT), type_=EXACT)
        return null_outside(dialect, rounded, -bound, bound - 1, wide=EXACT)
    return cast(_double_within(func.round(as_double(rendering, what)), bound), WHOLE)


def _double_within(value: Sql, bound: int) -> Sql:
    """From -bound up to below bound, else NULL; the double next below -bound is its sentinel."""
    below = double(-(bound + max(1, bound >> 51)))
    above = double(bound)
    kept = func.greatest(func.least(value, above), below)
    return func.nullif(func.nullif(kept, above), below, type_=DOUBLE)


def _exact(rendering: Rendering, what: Scalar, to: ColumnType) -> Sql:
    if rendering.dialect == "postgresql":
        return _fitted(cast(rendering.sql(what), EXACT), to)
    if to.precision is None:
        return rendering.sql(what)
    if to.precision <= _WIDEST:
        return cast_or_null(rendering.sql(what), Numeric(to.precision, to.scale))
    return as_double(rendering, what)


def _fitted(number: Sql, to: ColumnType) -> Sql:
    """PostgreSQL's decimal with its digits, NULL where it has more before the point."""
    if to.precision is None or to.scale is None or to.bound is None:
        return number
    rounded = func.round(number, cast(literal(to.scale), Integer()), type_=EXACT)
    above, below = exact(to.bound), exact(-to.bound)
    kept = func.greatest(func.least(rounded, above), below)
    inside = func.nullif(func.nullif(kept, above), below)
    return cast(inside, Numeric(to.precision, to.scale))


def read_decimal(dialect: Dialect, number: Sql, to: ColumnType, digits: Sql) -> Sql:
    """A double as a decimal; `digits` is the text of its 15 digits."""
    if dialect == "postgresql":
        return _fitted(cast(number, EXACT), to)
    return _read(dialect, digits, to)


def narrow_float(value: Sql, to: ColumnType) -> Sql:
    if to.kind is not Kind.REAL:
        return value
    size = func.abs(value, type_=DOUBLE)
    return case(
        (compare(size, "<", double(_LEAST_REAL)), cast(double(0.0), REAL())),
        (compare(size, "<=", double(_LARGEST_REAL)), cast(value, REAL())),
        else_=None,
    )
