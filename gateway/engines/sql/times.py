"""Dates and timestamps of the years 1 to 9999: the calendar that both databases and the catalog share.

INVARIANT: every date and timestamp here is within the calendar; an operation that leaves it gives NULL. So
nothing is infinite, and nothing is out of the range of a database.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Final

from sqlalchemy import Date, Integer, Interval, Numeric, Text, cast, func, literal
from sqlalchemy import extract as sql_extract
from sqlalchemy.types import TIMESTAMP

from gateway.catalog.types import Family, Kind
from gateway.engines.sql.number_types import as_number, require_range
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    EXACT,
    WHOLE,
    Render,
    Rendering,
    Type,
    between,
    compare,
    infix,
    integer,
    null_of,
    null_outside,
    when,
)
from gateway.engines.sql.zoned_times import ZONED, shown_in_utc, utc_timestamp
from gateway.functions.calendar import instant_at, moment_at
from gateway.functions.time_bins import bins_of
from gateway.plan.fields import TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar, Shift

STAMP: Final[Type] = TIMESTAMP()
DAY: Final[Type] = Date()
EPOCH: Final = date(1970, 1, 1)
FIRST_STAMP: Final = datetime.min  # noqa: DTZ901 - without zone
LAST_STAMP: Final = datetime.max  # noqa: DTZ901 - without zone
_FIRST_DAY: Final = (date.min - EPOCH).days
_LAST_DAY: Final = (date.max - EPOCH).days
_MONTHS: Final = 12
_LAST_YEAR: Final = 9999
_FRACTIONS: Final = frozenset({"second", "epoch"})


def _extract(rendering: Rendering, call: Call) -> Sql:
    field, moment = call.parts
    return _extracted(rendering, _word(field), as_timestamp(rendering, moment))


def _age(rendering: Rendering, call: Call) -> Sql:
    later, earlier = (as_timestamp(rendering, one) for one in call.parts[1:])
    age = func.age(later, earlier, type_=Interval())
    return cast(sql_extract(_word(call.parts[0]), age), _number_type(rendering.dialect))


def _truncated(rendering: Rendering, call: Call) -> Sql:
    field = cast(literal(_word(call.parts[0]), Text()), Text())
    moment = as_timestamp(rendering, call.parts[1])
    if rendering.dialect == "duckdb" and call.parts[1].type.kind is not Kind.TIMESTAMPTZ:
        # of a column itself DuckDB 1.5 says `<>` to a time within a unit, and so `NOT =`, is true of NULL
        moment = utc_timestamp(rendering.dialect, moment)
    return func.date_trunc(field, moment, type_=STAMP)


def _binned(rendering: Rendering, call: Call) -> Sql:
    """Every time is counted from an origin before it: PostgreSQL's own versions differ where one is before its origin."""
    bins, of = bins_of(call), call.parts[1]
    zoned = call.type == TIMESTAMPTZ
    if rendering.dialect == "duckdb":
        low, length = integer(bins.lowest), integer(bins.length)
        since = infix(func.epoch_us(rendering.sql(of), type_=WHOLE), "-", low, WHOLE)
        begun = infix(infix(infix(since, "//", length, WHOLE), "*", length, WHOLE), "+", low, WHOLE)
        kept = func.nullif(begun, low, type_=WHOLE) if bins.is_cut else begun
        made = func.make_timestamptz if zoned else func.make_timestamp
        return made(kept, type_=ZONED if zoned else STAMP)
    kind = TIMESTAMP(timezone=zoned)
    first, before = (
        cast(literal((instant_at if zoned else moment_at)(one), kind), kind)
        for one in (bins.first, bins.first - 1 if bins.is_cut else bins.first)
    )
    moment: Sql = cast(rendering.sql(of), kind)
    if bins.is_cut:
        # a bin before the first begins before the calendar
        moment = func.nullif(func.greatest(moment, before), before, type_=kind)
    length = cast(literal(timedelta(microseconds=bins.length), Interval()), Interval())
    return func.date_bin(length, moment, first, type_=kind)


def _number_type(dialect: Dialect) -> Type:
    return EXACT if dialect == "postgresql" else WHOLE


def _word(scalar: Scalar) -> str:
    if isinstance(scalar, Literal) and isinstance(scalar.value, str):
        return scalar.value
    raise BrokenPlan("a computed field of a date")


def as_timestamp(rendering: Rendering, scalar: Scalar) -> Sql:
    """A date or timestamp as a timestamp; a time with a zone as the clock of UTC shows it."""
    if scalar.type.kind is Kind.TIMESTAMPTZ:
        return shown_in_utc(rendering, scalar)
    return cast(rendering.sql(scalar), STAMP)


def day_number(rendering: Rendering, scalar: Scalar) -> Sql:
    """Days since 1970-01-01."""
    made = infix(cast(rendering.sql(scalar), DAY), "-", _day(EPOCH), Integer())
    return cast(made, WHOLE)


def microseconds(rendering: Rendering, scalar: Scalar) -> Sql:
    """Microseconds since 1970-01-01 00:00."""
    if rendering.dialect == "duckdb":
        return func.epoch_us(as_timestamp(rendering, scalar), type_=WHOLE)
    epoch = sql_extract("epoch", as_timestamp(rendering, scalar))
    return cast(infix(cast(epoch, EXACT), "*", integer(1_000_000), EXACT), WHOLE)


def _day(value: date) -> Sql:
    return cast(literal(value, Date()), DAY)


def _stamp(value: datetime) -> Sql:
    return cast(literal(value, TIMESTAMP()), STAMP)


def _extracted(rendering: Rendering, field: str, moment: Sql) -> Sql:
    if rendering.dialect == "postgresql":
        return cast(sql_extract(field, moment), EXACT)
    if field not in _FRACTIONS:
        return cast(sql_extract(field, moment), WHOLE)
    # DuckDB's own seconds are whole, its epoch is a double
    named = func.epoch_us if field == "epoch" else func.microsecond
    many = cast(named(moment), Numeric(18, 0))
    return infix(many, "*", cast(literal("0.000001"), Numeric(7, 6)), Numeric(25, 6))


def render_shift(name: str) -> Render:
    """Dates and whole days."""
    return lambda rendering, call: _moved(rendering, name, call.parts)


def _moved(rendering: Rendering, name: str, parts: tuple[Scalar, ...]) -> Sql:
    left, right = parts
    if left.type.family is Family.DATE and right.type.family is Family.DATE:
        return infix(day_number(rendering, left), "-", day_number(rendering, right), WHOLE)
    if left.type.family is Family.DATE:
        day, days = left, right
    else:
        day, days = right, left
    require_range(rendering, days)
    many = as_number(rendering, days, WHOLE)
    # no more days than the calendar has, so that the sum cannot overflow
    many = null_outside(rendering.dialect, many, _FIRST_DAY * 2, _LAST_DAY * 2, wide=WHOLE)
    moved = infix(day_number(rendering, day), name, many, WHOLE)
    return _of_number(rendering.dialect, moved)


def _of_number(dialect: Dialect, days: Sql) -> Sql:
    inside = null_outside(dialect, days, _FIRST_DAY, _LAST_DAY, wide=WHOLE)
    return infix(_day(EPOCH), "+", cast(inside, Integer()), DAY)


def add_interval(rendering: Rendering, shift: Shift) -> Sql:
    """Months first, to the end of a shorter month, then days and the rest, as PostgreSQL adds intervals."""
    moved = as_timestamp(rendering, shift.moved)
    duckdb = rendering.dialect == "duckdb"
    if shift.months:
        end = _before_months(shift.months)
        if end is None:
            return null_of(STAMP)
        moved = _up_to(rendering.dialect, moved, end, forward=shift.months > 0)
        months = (
            func.to_months(_count(shift.months))
            if duckdb
            else func.make_interval(_count(0), _count(shift.months))
        )
        moved = cast(infix(moved, "+", months, STAMP), STAMP)
    try:
        away = timedelta(days=shift.days, microseconds=shift.microseconds)
        forward = away > timedelta(0)
        end = LAST_STAMP - away if forward else FIRST_STAMP - away
    except OverflowError:
        return null_of(STAMP)
    if not away:
        return moved
    moved = _up_to(rendering.dialect, moved, end, forward=forward)
    if duckdb:
        rest = away.seconds * 1_000_000 + away.microseconds
        moved = infix(moved, "+", func.to_days(_count(away.days)), STAMP)
        return infix(moved, "+", func.to_microseconds(integer(rest)), STAMP)
    return infix(moved, "+", cast(literal(away, Interval()), Interval()), STAMP)


def _count(value: int) -> Sql:
    return cast(literal(value), Integer())


def _before_months(months: int) -> datetime | None:
    """The last moment, or the first, that stays within the calendar."""
    last = _LAST_YEAR * _MONTHS + _MONTHS - 1
    first = _MONTHS
    if months > 0:
        place = last - months + 1
        if place <= first:
            return None
        return _month(place) - timedelta(microseconds=1)
    place = first - months
    return None if place > last else _month(place)


def _month(place: int) -> datetime:
    return datetime(place // _MONTHS, place % _MONTHS + 1, 1)  # noqa: DTZ001 - without a zone


def _up_to(dialect: Dialect, moment: Sql, end: datetime, *, forward: bool) -> Sql:
    """The moment where it is not beyond the end, else NULL."""
    tick = timedelta(microseconds=1)
    if dialect == "duckdb" or end in {FIRST_STAMP, LAST_STAMP}:
        return when(compare(moment, "<=" if forward else ">=", _stamp(end)), moment)
    # named once, see `narrowed`
    beyond = _stamp(end + tick if forward else end - tick)
    kept = func.least(moment, beyond) if forward else func.greatest(moment, beyond)
    return func.nullif(kept, beyond, type_=STAMP)


def _made(rendering: Rendering, call: Call) -> Sql:
    """A date that the calendar has, else NULL."""
    for one in call.parts:
        require_range(rendering, one)
    given = [rendering.sql(one) for one in call.parts]
    year = _part(given[0], 1, _LAST_YEAR)
    month = _part(given[1], 1, _MONTHS)
    first = func.make_date(year, month, _count(1), type_=DAY)
    after = infix(cast(first, STAMP), "+", _month_long(rendering.dialect), STAMP)
    days = infix(cast(after, DAY), "-", first, Integer())
    there = between(given[2], integer(1), cast(days, WHOLE))
    more = infix(cast(_part(given[2], 1, 31), Integer()), "-", _count(1), Integer())
    return when(there, cast(infix(first, "+", more, DAY), DAY))


def _month_long(dialect: Dialect) -> Sql:
    one = _count(1)
    return func.to_months(one) if dialect == "duckdb" else func.make_interval(_count(0), one)


def _part(value: Sql, low: int, high: int) -> Sql:
    return cast(when(between(value, integer(low), integer(high)), value), Integer())


def is_in_calendar(value: Sql, *, zoned: bool | None) -> Sql:
    """Whether it is within the calendar; `zoned` is None for a date."""
    if zoned is None:
        return between(value, _day(date.min), _day(date.max))
    first, last = FIRST_STAMP, LAST_STAMP
    if zoned:
        # a day inside, so that every zone shows it within the calendar
        first = (first + timedelta(days=1)).replace(tzinfo=UTC)
        last = (last - timedelta(days=1)).replace(tzinfo=UTC)
    kind = TIMESTAMP(timezone=zoned)
    return between(value, *(cast(literal(one, kind), kind) for one in (first, last)))


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {"extract": _extract, "age_in": _age, "date_trunc": _truncated, "date_bin": _binned}
    | {"make_date": _made}
)
