"""Times with a zone in expressions: the clock that a cast, a comparison, a part or an interval reads.

PostgreSQL reads the clock of the session's time zone wherever a time with a zone meets one without, or is taken apart.
Here the zone is written into the expression: `visited_at::date` of a session in Berlin is
`timezone('Europe/Berlin', visited_at)::date`. So a plan means the same in every session, and one that was bound in
another zone is another plan.

INVARIANT: no expression that is made here depends on the zone of a session, but by the name that is written in it.
INVARIANT: a comparison loses its clock only where local times and moments have one order: where no change of the clock
is near the constant.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from sqlglot import exp

from gateway.binding import constants
from gateway.catalog.types import ColumnType
from gateway.catalog.zones import UTC_NAME, TooManyChanges, find_zone
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.calendar import microseconds_of
from gateway.functions.times import call_date_trunc
from gateway.functions.zoned_times import (
    UNITS,
    call_local_time,
    call_moment,
    call_trunc_in_zone,
)
from gateway.plan.fields import DATE, TIMESTAMP, TIMESTAMPTZ
from gateway.plan.scalars import Call, Cast, Literal, Moment, Scalar, Shift, walk_scalar

_LOCAL: Final = (DATE, TIMESTAMP)
_NOW: Final = Moment("localtimestamp", TIMESTAMP)
_COMPARING: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "in"})


def named_zone(node: exp.Expression) -> str:
    """The zone that a constant names, as in AT TIME ZONE 'Europe/Berlin'."""
    text = constants.string(node)
    if text is None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "the time zone must be a constant",
            "write the name of a zone, as in AT TIME ZONE 'Europe/Berlin'",
        )
    found = find_zone(text)
    if found is None:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"time zone `{text[:63]}` is not recognized")
    if found.name != UTC_NAME and "/" not in found.name:
        # PostgreSQL reads `EST` or `CET` as an abbreviation here, which may mean another offset than the zone
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"the time zone `{text[:63]}` is not supported, because it is an abbreviation",
            "write the full name of a zone, as in 'Europe/Berlin'",
        )
    return found.name


def require_rules(zone: str) -> str:
    """The session's zone, where its rules are known."""
    if find_zone(zone) is None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"the session's time zone `{zone[:63]}` has no known rules",
            "set it to the name of a zone, as in SET TIME ZONE 'Europe/Berlin'",
        )
    return zone


def current_time(node: exp.Expression, zone: str) -> Moment:
    """`current_timestamp`, or what the session's clock shows at that moment."""
    if isinstance(node, exp.CurrentTimestamp):
        return Moment("current_timestamp", TIMESTAMPTZ)
    require_rules(zone)
    return Moment("current_date", DATE) if isinstance(node, exp.CurrentDate) else _NOW


def local_time(what: Scalar, zone: str, *, days: bool = False) -> Scalar:
    """What the session's clock shows at a moment; a time without a zone is what it shows already.

    `days`: only the day counts of it.
    """
    if what.type != TIMESTAMPTZ:
        return what
    require_rules(zone)
    if isinstance(what, Moment):
        return _NOW
    match what:
        case Call("timezone", (Literal(name), local)) if name == zone and (
            _keeps_midnights(zone) and (days or is_day_start(local))
        ):
            # a moment that was made of this local time: another one is shown only where the clock skipped it
            return local
    return call_local_time(zone, what)


def _keeps_midnights(zone: str) -> bool:
    found = find_zone(zone)
    return found is not None and found.keeps_midnights


def is_day_start(local: Scalar) -> bool:
    """Whether a local time is the beginning of a day."""
    match local:
        case Call("date_trunc", (Literal(part), _)):
            return part not in UNITS
        case Shift(moved=moved, microseconds=0):
            return is_day_start(moved)
        case Cast(what):
            return what.type == DATE
        case _:
            return False


def moment(what: Scalar, zone: str) -> Scalar:
    """The moment at which the session's clock shows a date or timestamp."""
    if what.type == TIMESTAMPTZ:
        return what
    require_rules(zone)
    if isinstance(what, Literal):
        if not isinstance(what.value, date):
            return constants.null(TIMESTAMPTZ)
        return constants.literal(str(what.value), TIMESTAMPTZ, zone)
    return call_moment(zone, Cast(what, TIMESTAMP) if what.type == DATE else what)


def meet_times(bound: Sequence[Scalar], zone: str) -> list[Scalar]:
    """Values that stand together: where some are moments, all become moments.

    What is made of the current time alone becomes a local time instead, so that columns without a zone are compared
    with a constant.
    """
    kinds = {one.type for one in bound}
    if TIMESTAMPTZ not in kinds or not kinds & set(_LOCAL):
        return list(bound)
    moments = [one for one in bound if one.type == TIMESTAMPTZ]
    if all(map(_is_of_now, moments)):
        return [_on_clock(one, zone) for one in bound]
    return [moment(one, zone) if one.type in _LOCAL else one for one in bound]


def _is_of_now(scalar: Scalar) -> bool:
    """Whether it is made of the current time and constants."""
    leaves = [one for one in walk_scalar(scalar) if not one.parts]
    return any(isinstance(one, Moment) for one in leaves) and all(
        isinstance(one, Moment | Literal) for one in leaves
    )


def _on_clock(scalar: Scalar, zone: str) -> Scalar:
    """The same on the session's clock."""
    match scalar:
        case Call("timezone", (Literal(name), local)) if (
            name == zone and scalar.type == TIMESTAMPTZ
        ):
            return local
        case Call("trunc_in_zone", (Literal(str() as part), of, Literal(name))) if name == zone:
            return call_date_trunc(part, _on_clock(of, zone))
        case _:
            return local_time(scalar, zone)


def cast_time(what: Scalar, to: ColumnType, zone: str) -> Scalar | None:
    """A cast from or to a time with a zone; None where PostgreSQL has none that is supported."""
    if what.type == TIMESTAMPTZ and to in _LOCAL:
        shown = local_time(what, zone, days=to == DATE)
        return shown if to == TIMESTAMP else Cast(shown, DATE)
    if to == TIMESTAMPTZ and what.type in _LOCAL:
        return moment(what, zone)
    return None


def at_time_zone(what: Scalar, named: str, zone: str) -> Scalar:
    """AT TIME ZONE in both directions; of a date PostgreSQL makes a moment first."""
    if what.type == TIMESTAMP:
        return call_moment(named, what)
    if what.type not in {DATE, TIMESTAMPTZ}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`timezone` does not accept {what.type}")
    if named == zone:
        return local_time(moment(what, zone), zone)
    return call_local_time(named, moment(what, zone))


def truncate(part: str, what: Scalar, zone: str, session: str) -> Scalar:
    """The beginning of a period of `zone` in which a moment lies."""
    if part in UNITS:
        return call_trunc_in_zone(part, what, require_rules(zone))
    is_now = isinstance(what, Moment) and zone != session
    shown = call_local_time(zone, what) if is_now else local_time(what, zone, days=True)
    return call_moment(require_rules(zone), call_date_trunc(part, shown))


def shift_moment(what: Scalar, by: constants.Span, zone: str) -> Scalar:
    """Months and days move the clock's time, hours the moment, as PostgreSQL adds intervals."""
    found = find_zone(require_rules(zone))
    if found is not None and not found.changes_ever:
        parts = by.months, by.days, by.microseconds
        return call_moment(zone, Shift(local_time(what, zone), *parts, TIMESTAMP))
    if by.months or by.days:
        what = call_moment(zone, Shift(local_time(what, zone), by.months, by.days, 0, TIMESTAMP))
    if by.microseconds:
        shown = call_local_time(UTC_NAME, what)
        what = call_moment(UTC_NAME, Shift(shown, 0, 0, by.microseconds, TIMESTAMP))
    return what


def without_clock(  # noqa: PLR0911 - one answer for each reason to leave it
    operator: str, parts: Sequence[Scalar]
) -> tuple[Scalar, ...]:
    """The operands of a comparison with constants, without the clock around the first where it changes nothing."""
    if all(isinstance(one, Literal) for one in parts):
        return tuple(parts)
    if len(parts) == 2 and isinstance(parts[0], Literal):  # noqa: PLR2004 - two sides
        right, left = without_clock(operator, (parts[1], parts[0]))
        return left, right
    what, *among = parts
    days = [_day_start(one) for one in parts]
    if operator in _COMPARING and days[0] is not None:
        zones = {zone for zone, _ in filter(None, days)}
        if None not in days and len(zones) == 1 and _keeps_midnights(*zones):
            # days begin one after the other, on the clock and in time
            return tuple(local for _, local in filter(None, days))
    if operator not in _COMPARING or not isinstance(what, Call) or what.function != "timezone":
        return tuple(parts)
    values = [one for one in among if isinstance(one, Literal) and one.type == what.type]
    name, inner = what.parts
    if len(values) != len(among) or not isinstance(name, Literal) or isinstance(inner, Literal):
        return tuple(parts)
    if not all(_is_steady(str(name.value), one) for one in values):
        return tuple(parts)
    turn = call_moment if what.type == TIMESTAMP else call_local_time
    turned = [turn(str(name.value), one) for one in values]
    if any(not isinstance(one, Literal) for one in turned):
        return tuple(parts)
    is_day = isinstance(inner, Cast) and inner.type == TIMESTAMP and inner.what.type == DATE
    return (inner.what if is_day and isinstance(inner, Cast) else inner, *turned)


def _day_start(scalar: Scalar) -> tuple[str, Scalar] | None:
    """The zone and the local time, where it is the moment at which a day begins."""
    match scalar:
        case Call("timezone", (Literal(str() as name), local)) if (
            scalar.type == TIMESTAMPTZ and is_day_start(local)
        ):
            return name, local
        case _:
            return None


def _is_steady(name: str, literal: Literal) -> bool:
    """Whether no change of the clock is near the constant."""
    zone, value = find_zone(name), literal.value
    if value is None:
        return True
    if zone is None or not isinstance(value, datetime):
        return False
    try:
        return zone.is_steady(microseconds_of(value))
    except (TooManyChanges, OverflowError):
        return False
