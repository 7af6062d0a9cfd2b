"""Clocks of time zones: `timezone`, which is AT TIME ZONE in both directions, and the beginning of an hour on a clock.

A time with a zone is a moment. What its day, its hour or its text is depends on a clock, so every expression that asks
for one names the zone whose clock it reads, as a constant: `timezone('Europe/Berlin', visited_at)`. The zone of a
session is only the name that binding writes there.

A clock that is put back shows an hour twice: the local time is no rising function of the moment, and a comparison of
it becomes one of the moment only where no such hour is near. The same holds for an hour that a clock skips, in the
other direction.

INVARIANT: the value depends on the moment and the constant name alone. No setting of a connection and no table of zones
of a source has a part in it: engines get the changes of offset as constants (`gateway/catalog/zones.py`).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import Kind
from gateway.catalog.values import Value
from gateway.catalog.zones import (
    REACH,
    OffsetChange,
    TimeZone,
    TooManyChanges,
    find_zone,
    first_reaching,
)
from gateway.errors import Code, Unbounded
from gateway.functions import costs, result_sizes
from gateway.functions.calendar import instant_at, microseconds_of, moment_at
from gateway.functions.copy_counts import KnownRanges
from gateway.functions.exact_values import Known, NotComputed
from gateway.functions.function import Function, Gaps, Nulls, Operands, TimePart
from gateway.functions.range_arithmetic import OPEN, Bounds, Range, bounds, common_divisor
from gateway.functions.thresholds import ColumnDigits, Monotone, Preimage, Threshold, Unsolved
from gateway.plan.fields import TEXT, TIMESTAMP, TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Ref, Scalar

UNITS: Final = MappingProxyType({"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000})
"""What is shorter than a day begins on the clock that showed the moment, whether the clock changes meanwhile or not."""


def zone_of(call: Call) -> TimeZone:
    """The zone whose clock a call reads: the constant that is a text of `timezone` or the last of `trunc_in_zone`."""
    named = call.parts[0 if call.function == "timezone" else 2]
    found = (
        find_zone(named.value)
        if isinstance(named, Literal) and isinstance(named.value, str)
        else None
    )
    if found is None:
        raise BrokenPlan("a clock of no zone")
    return found


def reads_clock(scalar: Scalar) -> bool:
    """Whether it is what a clock shows at a moment."""
    return isinstance(scalar, Call) and scalar.function == "timezone" and scalar.type == TIMESTAMP


def call_local_time(zone: str, of: Scalar) -> Scalar:
    """What the clock of a zone shows at a moment."""
    if isinstance(of, Literal):
        return _folded(Call("timezone", (Literal(zone, TEXT), of), TIMESTAMP, of.nullable))
    if isinstance(of, Call) and of.function == "timezone" and of.type == TIMESTAMPTZ:
        named, local = of.parts
        if isinstance(named, Literal) and named.value == zone and not zone_of(of).changes_ever:
            return local
    return Call("timezone", (Literal(zone, TEXT), of), TIMESTAMP, of.nullable)


def call_moment(zone: str, of: Scalar) -> Scalar:
    """The moment at which the clock of a zone shows a timestamp."""
    if isinstance(of, Literal):
        return _folded(Call("timezone", (Literal(zone, TEXT), of), TIMESTAMPTZ, of.nullable))
    return Call("timezone", (Literal(zone, TEXT), of), TIMESTAMPTZ, of.nullable)


def call_trunc_in_zone(part: str, of: Scalar, zone: str) -> Scalar:
    """The beginning of the hour, minute or second in which a moment lies on the clock of a zone."""
    parts = (Literal(part, TEXT), of, Literal(zone, TEXT))
    return Call("trunc_in_zone", parts, TIMESTAMPTZ, of.nullable)


def _folded(call: Call) -> Scalar:
    literal = call.parts[1]
    value = literal.value if isinstance(literal, Literal) else None
    try:
        return Literal(None if value is None else _shown(call, (None, value)), call.type)
    except NotComputed:
        return call


def clock_changes(call: Call, of: Range) -> tuple[OffsetChange, ...]:
    """The offsets that a call uses for operands within a range, by the operand."""
    zone, low, high = zone_of(call), floor(of.low), ceil(of.high)
    try:
        moments = call.parts[1].type.kind is Kind.TIMESTAMPTZ
        return zone.changes(low, high) if moments else zone.local_changes(low, high)
    except (TooManyChanges, OverflowError) as error:
        raise Unbounded(
            Code.NO_BOUND,
            f"the clock of `{zone.name}` changes too often between the bounds of `{call.function}`",
            "declare a `domain: {between: [...]}` of at most 300 years for the column",
        ) from error


def _sign(call: Call) -> int:
    return 1 if call.type == TIMESTAMP else -1


def _shown(call: Call, values: Sequence[Known]) -> Known:
    value = values[1]
    if not isinstance(value, datetime):
        raise NotComputed
    zone, given = zone_of(call), microseconds_of(value)
    try:
        if call.type == TIMESTAMP:
            return moment_at(zone.local_of(given))
        return instant_at(zone.moment_of(given))
    except (OverflowError, TooManyChanges) as error:
        raise NotComputed from error


def _clock_range(call: Call, operands: Operands) -> Bounds:
    """From the least to the largest within every piece between two changes."""
    of = operands.in_microseconds(1).range
    if of is None:
        return OPEN
    try:
        changes = clock_changes(call, of)
    except Unbounded:
        return OPEN
    sign, low, high, step = _sign(call), None, None, of.step
    for place, (since, offset) in enumerate(changes):
        last = changes[place + 1].since - 1 if place + 1 < len(changes) else of.high
        first = of.low if place == 0 else Fraction(since)
        low = first + sign * offset if low is None else min(low, first + sign * offset)
        high = last + sign * offset if high is None else max(high, last + sign * offset)
        if step is not None and offset:
            step = common_divisor(step, Fraction(abs(offset)))
    return OPEN if low is None or high is None else bounds(low, high, step)


def _copies(call: Call, known: KnownRanges) -> tuple[int, ...]:
    """Of a column once for each change, and once for the time itself; anything else is looked up, and added to."""
    of = known.range(call.parts[1])
    many = 1 if of is None else len(clock_changes(call, of))
    return (1, many if _is_column(call.parts[1]) else 2)


def _is_column(scalar: Scalar) -> bool:
    return isinstance(scalar, Ref | Literal)


def _solve(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    return 1, _solved(test, _near(call, test), _sign(call))


def _near(call: Call, test: Threshold) -> tuple[OffsetChange, ...]:
    """The changes that are near enough to a bound to matter to it."""
    zone, low, high = zone_of(call), floor(test.bound) - REACH, ceil(test.bound) + REACH
    try:
        if call.parts[1].type.kind is Kind.TIMESTAMPTZ:
            return zone.changes(low, high)
        return zone.local_changes(low, high)
    except (OverflowError, TooManyChanges) as error:
        raise Unsolved from error


def _solved(test: Threshold, changes: Sequence[OffsetChange], sign: int) -> Threshold:
    """Times are whole microseconds: every test is one of being below, or not below, the first time that is too late."""
    floored, ceiled = floor(test.bound), ceil(test.bound)
    first = {"<": ceiled, ">=": ceiled, "<=": floored + 1, ">": floored + 1}[test.operator]
    found = first_reaching(changes, sign, first)
    if found is None:
        raise Unsolved
    return Threshold("<" if test.below else ">=", Fraction(found))


def _unit(call: Call) -> int:
    part = call.parts[0]
    found = UNITS.get(str(part.value)) if isinstance(part, Literal) else None
    if found is None:
        raise BrokenPlan("a part of no day")
    return found


def clock_phases(call: Call, of: Range) -> tuple[OffsetChange, ...]:
    """How far before a whole unit of UTC the unit of the clock begins, from each moment on within a range."""
    unit, found = _unit(call), list[OffsetChange]()
    for since, offset in clock_changes(call, of):
        if not found or found[-1].offset != offset % unit:
            found.append(OffsetChange(since, offset % unit))
    return tuple(found)


def _begins(moment: int, phase: int, unit: int) -> int:
    return moment - (moment + phase) % unit


def _trunc(call: Call, values: Sequence[Known]) -> Known:
    value = values[1]
    if not isinstance(value, datetime):
        raise NotComputed
    moment = microseconds_of(value)
    try:
        return instant_at(_begins(moment, zone_of(call).offset_at(moment), _unit(call)))
    except OverflowError as error:
        raise NotComputed from error


def _trunc_range(call: Call, operands: Operands) -> Bounds:
    of = operands.in_microseconds(1).range
    if of is None:
        return OPEN
    unit = _unit(call)
    try:
        phases = clock_phases(call, of)
    except Unbounded:
        return OPEN
    if len(phases) > 1:
        return bounds(of.low - unit + 1, of.high)
    ends = (_begins(floor(end), phases[0].offset, unit) for end in (of.low, of.high))
    return bounds(*ends)


def _begin_list(call: Call, range_: Range, most: int) -> Iterable[Value] | None:
    """The beginnings of all units that a moment within the range can lie in."""
    unit, low, high = _unit(call), floor(range_.low), ceil(range_.high)
    if (high - low) // unit >= most:
        return None
    phases = clock_phases(call, range_)
    found: dict[int, None] = {}
    for place, (since, phase) in enumerate(phases):
        end = phases[place + 1].since - 1 if place + 1 < len(phases) else high
        for one in range(_begins(since, phase, unit), end + 1, unit):
            found[one] = None
    return map(instant_at, sorted(found)) if len(found) <= most else None


def _trunc_copies(call: Call, known: KnownRanges) -> tuple[int, ...]:
    of = known.range(call.parts[1])
    many = 1 if of is None else len(clock_phases(call, of))
    return (1, 2 * many - 1 if _is_column(call.parts[1]) else 3, 1)


def _solve_trunc(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    """It rises with the moment as long as units begin at the same place of an hour of UTC."""
    unit, bound = _unit(call), floor(test.bound)
    zone = zone_of(call)
    if not zone.is_steady(bound) and any(
        one.offset % unit != zone.offset_at(bound) % unit
        for one in zone.changes(bound - 2 * REACH, bound + 2 * REACH)
    ):
        raise Unsolved
    begins = _begins(bound, zone.offset_at(bound), unit)
    exact, after = begins == test.bound, Fraction(begins + unit)
    here = Fraction(begins) if exact else after
    found = {
        "<": Threshold("<", here),
        "<=": Threshold("<", after),
        ">": Threshold(">=", after),
        ">=": Threshold(">=", here),
    }[test.operator]
    return 1, found


TIMEZONE: Final = Function(
    name="timezone",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=_clock_range,
    evaluate=_shown,
    monotone=Monotone(_solve, lambda _: 1),
    cost=costs.constant(2 * costs.MOMENT),
    size=result_sizes.type_size,
    copies=_copies,
)
TRUNC_IN_ZONE: Final = Function(
    name="trunc_in_zone",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=_trunc_range,
    evaluate=_trunc,
    monotone=Monotone(_solve_trunc, lambda _: 1),
    time_part=TimePart(lambda _: None, _begin_list),
    cost=costs.constant(2 * costs.MOMENT),
    size=result_sizes.type_size,
    copies=_trunc_copies,
)

CLOCKS: Final = (TIMEZONE, TRUNC_IN_ZONE)
