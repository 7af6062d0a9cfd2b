"""The range of an expression from the ranges of the columns it reads, how conditions narrow these, and how near to
zero it can come.

A type can say how near to zero a number comes without being zero: there is no whole number between 0 and 1. A
declared step does not say so: a domain clamps a value to its ends, not onto its steps.

INVARIANT: whatever values the columns have within their ranges, the expression is NULL or within its own.
Arithmetic has a range only where all its operands have one; comparing needs none.
INVARIANT: only the values that are not NULL are spoken of, and a range only ever becomes narrower.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions import range_arithmetic, time_ranges
from gateway.functions.calendar import DAY, days_of, microseconds_of
from gateway.functions.grains import common_grain
from gateway.functions.range_arithmetic import (
    NOTHING,
    OPEN,
    Bounds,
    bounds,
    constant_bounds,
    hull_bounds,
    meet_bounds,
)
from gateway.functions.table import function_of
from gateway.plan.fields import is_number
from gateway.plan.scalars import Call, Case, Cast, Literal, Moment, Ref, Scalar, Shift, StagedValue


def grain_of(scalar: Scalar) -> Fraction | None:  # noqa: PLR0911 - one answer for each kind
    """A number of which all values are whole multiples, whatever the data are; None: not known."""
    if scalar.type.family is Family.WHOLE:
        return Fraction(1)
    match scalar:
        case Literal(value) if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return abs(Fraction(value)) or Fraction(1)
        case Ref(field) if field.type.family is Family.EXACT:
            return field.type.resolution
        case Cast(what, kind) if kind.family is Family.EXACT:
            return kind.resolution if kind.resolution is not None else grain_of(what)
        case Cast(what, kind) if kind.family is Family.FLOAT and what.type.family is Family.WHOLE:
            return Fraction(1)
        case Case():
            return common_grain(scalar.results, grain_of)
        case Call():
            grain = function_of(scalar).grain
            return None if grain is None else grain(scalar, grain_of)
        case _:
            return None


Columns = Mapping[str, Bounds]
Of = Callable[[Scalar, Columns], Bounds]

_MIRRORED: Final = MappingProxyType({"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})
_OPPOSITE: Final = MappingProxyType({"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="})


def narrow_columns(condition: Scalar, columns: Columns, of: Of, *, holds: bool = True) -> Columns:
    """The columns where the condition is true; with `holds=False`, where it is false or NULL."""
    if not isinstance(condition, Call):
        return columns
    name, parts = condition.function, condition.parts
    if name == "not":
        # NOT c is true where c is false; where NOT c is not true, c may be NULL: nothing is known
        return narrow_columns(parts[0], columns, of, holds=False) if holds else columns
    if name in {"and", "or"}:
        return (
            _all(parts, columns, of, holds)
            if (name == "and") is holds
            else (_any(parts, columns, of, holds))
        )
    if name == "in":
        return _within(parts, columns, of) if holds else columns
    operator = name if holds else _OPPOSITE.get(name, "")
    if operator not in _MIRRORED:
        return columns
    left, right = parts
    return _compared(
        right, _MIRRORED[operator], left, _compared(left, operator, right, columns, of), of
    )


def _all(parts: tuple[Scalar, ...], columns: Columns, of: Of, holds: bool) -> Columns:  # noqa: FBT001
    for part in parts:
        columns = narrow_columns(part, columns, of, holds=holds)
    return columns


def _any(parts: tuple[Scalar, ...], columns: Columns, of: Of, holds: bool) -> Columns:  # noqa: FBT001
    each = [narrow_columns(part, columns, of, holds=holds) for part in parts]
    changed = {name for one in each for name, found in one.items() if found != columns.get(name)}
    made = dict(columns)
    for name in changed:
        if all(name in one for one in each):
            made[name] = hull_bounds(one[name] for one in each)
    return made


def _within(parts: tuple[Scalar, ...], columns: Columns, of: Of) -> Columns:
    what, *among = parts
    if not isinstance(what, Ref) or not _comparable(what, *among):
        return columns
    return _with(what, hull_bounds(of(one, columns) for one in among), columns)


def _compared(left: Scalar, operator: str, right: Scalar, columns: Columns, of: Of) -> Columns:
    if not isinstance(left, Ref) or not _comparable(left, right):
        return columns
    other = of(right, columns)
    match operator:
        case "=":
            return _with(left, other, columns)
        case "<" | "<=":
            return _with(left, Bounds(None, other.high), columns)
        case _:
            return _with(left, Bounds(other.low, None), columns)


def _with(column: Ref, found: Bounds, columns: Columns) -> Columns:
    before = columns.get(column.field.id)
    if before is None:
        made = Bounds(found.low, found.high)
    else:
        narrow = meet_bounds(before, found)
        made = Bounds(narrow.low, narrow.high, before.step)
    return {**columns, column.field.id: made}


def _comparable(*scalars: Scalar) -> bool:
    """Whether their ranges are in one measure: not days and microseconds, and no texts."""
    families = {one.type.family for one in scalars}
    numbers = {Family.WHOLE, Family.EXACT, Family.FLOAT}
    return families <= numbers or families in ({Family.DATE}, {Family.TIMESTAMP})


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


def length_id(column: str) -> str:
    """Under which name the bounds of the lengths of a text column stand among those of columns."""
    return f"{column}\0"


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

    def length(self, place: int) -> Bounds:
        part = self.call.parts[place]
        if isinstance(part, Literal) and isinstance(part.value, str):
            return bounds(len(part.value), len(part.value), 1)
        return self.columns.get(length_id(part.field.id), OPEN) if isinstance(part, Ref) else OPEN

    def as_results(self) -> list[Bounds]:
        return [_result(one, self.call.type, self.columns) for one in self.call.parts]

    def grain(self, place: int) -> Fraction | None:
        return grain_of(self.call.parts[place])
