"""The value of a scanned column as its policy declares it: whatever is stored, what is above sees this.

INVARIANT: no NaN, no infinity and no day outside the calendar gets through; a number or day outside its
interval becomes the nearest end, a value outside its set NULL; of a text only `max_length` characters, of a decimal
40 digits behind the point. The unit of a row is handed on as it is.

INVARIANT: keys are never changed. A column of a public table, which a licence may rest on, is read as it is stored or
is NULL where it is longer; two different stored values never become equal there.
"""

from typing import Final

from sqlalchemy import Integer, case, cast, func, literal, null, true

from gateway.catalog.domains import Anything, Bound, Interval, Values
from gateway.catalog.tables import Column, Table
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.scalars_pieces import (
    EXACT,
    LARGEST,
    TEXT,
    WHOLE,
    between,
    binary,
    constant,
    double,
    length_in_bytes,
    null_of,
    only,
    test,
    whole,
)
from gateway.engines.scalars_times import in_calendar

MOST_BEHIND: Final = 40


def enforced(
    dialect: Dialect, table: Table, column: Column, sql: Sql, *, proven: bool = False
) -> Sql:
    """`proven`: a constraint of the source keeps every value within the domain."""
    if column is table.unit_column:
        return sql
    domain, of = column.domain, column.type
    # the blanks at the end of a char(n) are no part of its value
    plain = cast(sql, TEXT) if of.family is Family.TEXT else sql
    if proven and not isinstance(domain, Anything):
        return plain
    match domain:
        case Values(values):
            among = [constant(dialect, one, of) for one in values]
            what = binary(plain) if of.family is Family.TEXT else plain
            return only(what.in_(among), plain)
        case _ if column.longest is not None:
            return _short(dialect, plain, column.longest, public=table.public)
        case Interval(low, high):
            shown = _few_digits(dialect, plain, of, public=table.public)
            return _clamped(dialect, plain, shown, (low, high), of)
        case _:
            inside = _finite(dialect, plain, of)
            shown = _few_digits(dialect, plain, of, public=table.public)
            return shown if inside is None else only(inside, shown)


def has_short_unit(dialect: Dialect, column: Column, unit: Sql) -> Sql | None:
    """Whether the unit of a row is no longer than what is read of it; None where it cannot be."""
    if column.longest is None:
        return None
    many: Sql = func.length(unit, type_=WHOLE)
    fits = test(many, "<=", whole(column.longest))
    # counting bytes costs nothing, and there are no fewer of them than characters
    few = test(length_in_bytes(dialect, unit), "<=", whole(column.longest))
    return case((few, true()), else_=fits)


def _short(dialect: Dialect, text: Sql, longest: int, *, public: bool) -> Sql:
    """The text as long as it may be. One of a public table may be a key: it is read as it is, or not at all."""
    few = test(length_in_bytes(dialect, text), "<=", whole(longest))
    if not public:
        return case((few, text), else_=func.left(text, _count(longest), type_=TEXT))
    fits = test(func.length(text, type_=WHOLE), "<=", whole(longest))
    return case((few, text), (fits, text), else_=null_of(TEXT))


def _few_digits(dialect: Dialect, value: Sql, of: ColumnType, *, public: bool) -> Sql:
    """A decimal whose type says no scale, with at most so many digits behind the point; public ones may be keys."""
    if dialect == "duckdb" or of.family is not Family.EXACT or of.scale is not None:
        return value
    few = test(func.coalesce(func.scale(value), _count(0)), "<=", _count(MOST_BEHIND))
    if public:
        return only(few, value)
    return case((few, value), else_=func.round(value, _count(MOST_BEHIND), type_=EXACT))


def _count(number: int) -> Sql:
    return cast(literal(number), Integer())


def finite(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql:
    """The value, where it is one that the catalog has."""
    inside = _finite(dialect, sql, of)
    return sql if inside is None else only(inside, sql)


def _clamped(
    dialect: Dialect, sql: Sql, shown: Sql, between_: tuple[Bound, Bound], of: ColumnType
) -> Sql:
    ends = [constant(dialect, one, of) for one in between_]
    whens = [(between(sql, *ends), shown)]
    inside = _finite(dialect, sql, of)
    if inside is not None:
        whens.append((~inside.self_group(), null()))
    whens += [(test(sql, "<", ends[0]), ends[0]), (test(sql, ">", ends[1]), ends[1])]
    return case(*whens, else_=null())


def _finite(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql | None:
    """Whether the value is one that the catalog has; None: every value is."""
    match of.family:
        case Family.FLOAT:
            # NaN is above all numbers in both databases
            return between(sql, double(-LARGEST), double(LARGEST))
        case Family.EXACT if dialect == "postgresql":
            ends = [cast(literal(one), EXACT) for one in ("-Infinity", "Infinity")]
            return test(sql, ">", ends[0]) & test(sql, "<", ends[1])
        case Family.DATE:
            return in_calendar(sql, zoned=None)
        case Family.TIMESTAMP:
            return in_calendar(sql, zoned=of.kind is Kind.TIMESTAMPTZ)
        case _:
            return None
