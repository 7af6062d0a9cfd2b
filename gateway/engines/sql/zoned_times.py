"""Times with a zone as SQL: what a clock shows at a moment, the moment of a local time, the beginning of an hour.

DuckDB computes with microseconds, PostgreSQL with timestamps of UTC.

An engine's own tables of zones are not asked: two engines have two of them, one has none without its extension, and both
look zones up row by row. The changes of offset between the bounds of the operand are constants of the statement: in a CASE
that halves them at each step, or, where the operand is no column, in a list, so that the operand is not written once
for each of them.

INVARIANT: nothing here depends on the time zone of the connection: a time with a zone is read as microseconds, or as what
the clock of UTC shows.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from sqlalchemy import (
    ARRAY,
    Integer,
    Interval,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
)
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.types import TIMESTAMP as SQL_TIMESTAMP

from gateway.catalog.types import ColumnType, Kind
from gateway.catalog.zones import UTC_NAME, OffsetChange
from gateway.engines.sql.number_types import require_range
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    WHOLE,
    Render,
    Rendering,
    Type,
    compare,
    infix,
    integer,
)
from gateway.functions.calendar import moment_at
from gateway.functions.zoned_times import clock_changes, clock_phases
from gateway.plan.fields import TIMESTAMP, TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Ref, Scalar

STAMP: Final[Type] = SQL_TIMESTAMP()
ZONED: Final[Type] = SQL_TIMESTAMP(timezone=True)
_STAMPS: Final = ARRAY(STAMP)
_INTERVALS: Final = ARRAY(Interval())


def utc_timestamp(dialect: Dialect, moment: Sql) -> Sql:
    """What the clock of UTC shows at a moment."""
    if dialect == "duckdb":
        return func.make_timestamp(func.epoch_us(moment, type_=WHOLE), type_=STAMP)
    return func.timezone(_text(UTC_NAME), moment, type_=STAMP)


def _text(value: str) -> Sql:
    return cast(literal(value, Text()), Text())


def _clock(rendering: Rendering, call: Call) -> Sql:
    of = call.parts[1]
    changes = clock_changes(call, require_range(rendering, of))
    sign = "+" if call.type == TIMESTAMP else "-"
    if rendering.dialect == "duckdb":
        made = _let(rendering, of, lambda us: infix(us, sign, _offset_us(us, changes), WHOLE))
        return _of_us(made, call.type)
    sql = shown_in_utc(rendering, of)
    moved = infix(sql, sign, _offset(sql, changes, is_column=_is_column(of)), STAMP)
    return moved if call.type == TIMESTAMP else func.timezone(_text(UTC_NAME), moved, type_=ZONED)


def _truncated(rendering: Rendering, call: Call) -> Sql:
    """The unit of UTC, begun as much earlier as the clock is ahead of it."""
    part, of = call.parts[0], call.parts[1]
    if not isinstance(part, Literal) or not isinstance(part.value, str):
        raise BrokenPlan("a computed field of a time")
    unit = _text(part.value)
    phases = clock_phases(call, require_range(rendering, of))
    if rendering.dialect == "duckdb":

        def begin(us: Sql) -> Sql:
            away = _offset_us(us, phases)
            shown = func.make_timestamp(infix(us, "+", away, WHOLE), type_=STAMP)
            begun = func.epoch_us(func.date_trunc(unit, shown, type_=STAMP), type_=WHOLE)
            return infix(begun, "-", away, WHOLE)

        return _of_us(_let(rendering, of, begin), TIMESTAMPTZ)
    sql = shown_in_utc(rendering, of)
    away = _offset(sql, phases, is_column=_is_column(of))
    begun = func.date_trunc(unit, infix(sql, "+", away, STAMP), type_=STAMP)
    return func.timezone(_text(UTC_NAME), infix(begun, "-", away, STAMP), type_=ZONED)


def _is_column(scalar: Scalar) -> bool:
    return isinstance(scalar, Ref | Literal)


def _of_us(us: Sql, of: ColumnType) -> Sql:
    if of == TIMESTAMPTZ:
        return func.make_timestamptz(us, type_=ZONED)
    return func.make_timestamp(us, type_=STAMP)


def _let(rendering: Rendering, of: Scalar, make: Callable[[Sql], Sql]) -> Sql:
    """What is made of a time in microseconds; what is no column is computed once, for a list of one element."""
    us = func.epoch_us(rendering.sql(of), type_=WHOLE)
    if _is_column(of):
        return make(us)
    body = literal_column("lambda us:", WHOLE).op("")(Grouping(make(literal_column("us", WHOLE))))
    return func.list_extract(
        func.list_transform(func.list_value(us), body), integer(1), type_=WHOLE
    )


def _offset_us(us: Sql, changes: Sequence[OffsetChange]) -> Sql:
    """The offset of the piece between two changes in which a time lies."""
    if len(changes) == 1:
        return integer(changes[0].offset)
    middle = len(changes) // 2
    earlier = compare(us, "<", integer(changes[middle].since))
    return case((earlier, _offset_us(us, changes[:middle])), else_=_offset_us(us, changes[middle:]))


def _offset(sql: Sql, changes: Sequence[OffsetChange], *, is_column: bool) -> Sql:
    """The same in PostgreSQL, by a timestamp of UTC or of the clock; of what is no column it is looked up in a list."""
    if len(changes) == 1:
        return _interval(changes[0].offset)
    if is_column:
        middle = len(changes) // 2
        since = cast(literal(moment_at(changes[middle].since), STAMP), STAMP)
        before = _offset(sql, changes[:middle], is_column=True)
        after = _offset(sql, changes[middle:], is_column=True)
        return case((compare(sql, "<", since), before), else_=after)
    since = cast(bindparam(None, [moment_at(one.since) for one in changes[1:]], _STAMPS), _STAMPS)
    away = [timedelta(microseconds=one.offset) for one in changes]
    place = infix(func.width_bucket(sql, since, type_=Integer()), "+", _one(), Integer())
    found: Sql = Grouping(cast(bindparam(None, away, _INTERVALS), _INTERVALS))[place]
    return found


def _one() -> Sql:
    return cast(literal(1), Integer())


def _interval(offset: int) -> Sql:
    return cast(literal(timedelta(microseconds=offset), Interval()), Interval())


def shown_in_utc(rendering: Rendering, scalar: Scalar) -> Sql:
    """A time with a zone on the clock of UTC; any other time as it is."""
    sql = rendering.sql(scalar)
    return utc_timestamp(rendering.dialect, sql) if scalar.type.kind is Kind.TIMESTAMPTZ else sql


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {"timezone": _clock, "trunc_in_zone": _truncated}
)
