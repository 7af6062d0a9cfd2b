"""The value of a scanned column as its policy declares it: whatever is stored, what is above sees this.

INVARIANT: no NaN, no infinity and no day outside the calendar gets through; a number or day outside its
interval becomes the nearest end, a value outside its set NULL. The unit of a row is handed on as it is.
"""

from sqlalchemy import case, cast, literal, null

from gateway.catalog.domains import Anything, Bound, Interval, Values
from gateway.catalog.tables import Column, Table
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.scalars_pieces import (
    EXACT,
    LARGEST,
    TEXT,
    between,
    binary,
    constant,
    double,
    only,
    test,
)
from gateway.engines.scalars_times import in_calendar


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
        case Interval(low, high):
            return _clamped(dialect, plain, low, high, of)
        case _:
            return finite(dialect, plain, of)


def finite(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql:
    """The value, where it is one that the catalog has."""
    inside = _finite(dialect, sql, of)
    return sql if inside is None else only(inside, sql)


def _clamped(dialect: Dialect, sql: Sql, low: Bound, high: Bound, of: ColumnType) -> Sql:
    ends = [constant(dialect, one, of) for one in (low, high)]
    whens = [(between(sql, *ends), sql)]
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
