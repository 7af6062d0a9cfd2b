"""The range of an expression, from the ranges of the columns it reads.

INVARIANT: whatever values the columns have within their ranges, the expression is NULL or within its own.
Arithmetic has a range only where all its operands have one; comparing needs none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions import range_arithmetic, time_ranges
from gateway.functions.calendar import DAY, days_of, microseconds_of
from gateway.functions.range import (
    NOTHING,
    OPEN,
    Bounds,
    bounds,
    constant_bounds,
    hull_bounds,
    meet_bounds,
)
from gateway.functions.table import function_of
from gateway.plan.scalars import Call, Case, Cast, Literal, Moment, Ref, Scalar, Shift, StagedValue
from gateway.plan.types import is_number
from gateway.ranges.granularity import grain_of
from gateway.ranges.narrowing import narrow_columns

Columns = Mapping[str, Bounds]

STAGED_REACH: Final = 10**18
"""A released number that is put into a plan and is larger counts as NULL."""
_REAL_SLACK: Final = Fraction(1, 2**23)


def type_bounds(kind: ColumnType) -> Bounds:
    """What the type itself bounds: whole numbers alone."""
    if kind.family is not Family.WHOLE or kind.bound is None:
        return OPEN
    return bounds(-kind.bound, kind.bound - 1, 1)


def value_bounds(value: Value | None) -> Bounds:
    match value:
        case None:
            return NOTHING
        case bool() | str():
            return OPEN
        case datetime():
            return constant_bounds(microseconds_of(value))
        case date():
            return constant_bounds(days_of(value))
        case int() | Fraction():
            return constant_bounds(value)
        case _:
            return OPEN


def bounds_of(  # noqa: PLR0911 - one answer for each kind of expression
    scalar: Scalar, columns: Columns
) -> Bounds:
    match scalar:
        case Ref(field):
            return columns.get(field.id, OPEN)
        case Literal(value):
            return value_bounds(value)
        case Moment():
            return (
                time_ranges.NOW
                if scalar.type.family is Family.DATE
                else _microseconds(time_ranges.NOW)
            )
        case StagedValue():
            return _staged(scalar.type)
        case Cast():
            return _cast(scalar, columns)
        case Case():
            return _case(scalar, columns)
        case Shift():
            of = timestamp_bounds(scalar.moved, columns).range
            shift = (scalar.months, scalar.days, scalar.microseconds)
            return OPEN if of is None else time_ranges.shift_bounds(of, *shift)
        case Call():
            function = function_of(scalar)
            made = function.range(scalar, _Operands(scalar, columns))
            if made.range is not None or function.computes:
                return made
            # what is chosen among operands is open, unless the type bounds it
            return meet_bounds(made, type_bounds(scalar.type))
        case _:
            return OPEN


def timestamp_bounds(scalar: Scalar, columns: Columns) -> Bounds:
    """The bounds of a date or timestamp in microseconds."""
    found = bounds_of(scalar, columns)
    return _microseconds(found) if scalar.type.family is Family.DATE else found


def _microseconds(found: Bounds) -> Bounds:
    return Bounds(
        None if found.low is None else found.low * DAY,
        None if found.high is None else found.high * DAY,
        None if found.step is None else found.step * DAY,
    )


def _staged(kind: ColumnType) -> Bounds:
    if kind.family is Family.WHOLE:
        return type_bounds(kind)
    return bounds(-STAGED_REACH, STAGED_REACH) if is_number(kind) else OPEN


def _cast(cast: Cast, columns: Columns) -> Bounds:
    kind, of = cast.type, cast.what.type
    if of.family is Family.BOOLEAN:
        return bounds(0, 1, 1) if kind.family is Family.WHOLE else OPEN
    if kind.family is Family.TIMESTAMP and of.family in {Family.DATE, Family.TIMESTAMP}:
        return timestamp_bounds(cast.what, columns)
    found = bounds_of(cast.what, columns)
    if kind.family is Family.DATE and of.family is Family.TIMESTAMP:
        inner = found.range
        return OPEN if inner is None else time_ranges.in_days(inner)
    if kind.family is Family.DATE and of.family is Family.DATE:
        return found
    if not is_number(kind):
        return OPEN
    return _fitted(found if is_number(of) else OPEN, kind)


def _fitted(found: Bounds, kind: ColumnType) -> Bounds:
    """Rounded to what the type holds; what it cannot hold becomes NULL."""
    if found is NOTHING:
        return NOTHING
    places = 0 if kind.family is Family.WHOLE else kind.scale
    inner = found.range
    if inner is not None and places is not None:
        found = range_arithmetic.rounding(inner, places)
    elif places is not None:
        found = Bounds(None, None, Fraction(1, 10**places))
    elif inner is not None and kind.kind is Kind.REAL:
        slack = max(abs(inner.low), abs(inner.high)) * _REAL_SLACK
        found = bounds(inner.low - slack, inner.high + slack, inner.step)
    if kind.family is Family.WHOLE and kind.bound is not None:
        return (
            meet_bounds(found, type_bounds(kind)) if _meets(found, type_bounds(kind)) else NOTHING
        )
    if kind.bound is not None and places is not None:
        end = kind.bound - Fraction(1, 10**places)
        typed = bounds(-end, end, Fraction(1, 10**places))
        return meet_bounds(found, typed) if _meets(found, typed) else NOTHING
    return found


def _meets(one: Bounds, other: Bounds) -> bool:
    below = one.high is not None and other.low is not None and one.high < other.low
    above = one.low is not None and other.high is not None and one.low > other.high
    return not below and not above


def _case(case: Case, columns: Columns) -> Bounds:
    """The hull over the branches, each among the rows that reach it."""
    given, here = [], columns
    for when, then in case.branches:
        given.append(_result(then, case.type, narrow_columns(when, here, bounds_of)))
        here = narrow_columns(when, here, bounds_of, holds=False)
    given.append(_result(case.otherwise, case.type, here))
    return hull_bounds(one for one in given if one is not NOTHING)


def _result(scalar: Scalar, kind: ColumnType, columns: Columns) -> Bounds:
    """Of a value that stands among others of a type: a date among timestamps is one."""
    if isinstance(scalar, Literal) and scalar.value is None:
        return NOTHING
    if kind.family is Family.TIMESTAMP:
        return timestamp_bounds(scalar, columns)
    return bounds_of(scalar, columns)


@dataclass(frozen=True, slots=True)
class _Operands:
    """The operands of a call over columns whose bounds are given."""

    call: Call
    columns: Columns

    def bounds(self, place: int) -> Bounds:
        return bounds_of(self.call.parts[place], self.columns)

    def in_microseconds(self, place: int) -> Bounds:
        return timestamp_bounds(self.call.parts[place], self.columns)

    def as_results(self) -> list[Bounds]:
        return [_result(one, self.call.type, self.columns) for one in self.call.parts]

    def grain(self, place: int) -> Fraction | None:
        return grain_of(self.call.parts[place])
