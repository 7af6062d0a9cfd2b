"""All values that an expression can have, where they can be listed from declared domains; and its value, exactly.

An expression over one column, or over one whole-numbered part of it, is computed for every value that can have.

INVARIANT: nothing of the data is known here. A value that is missing from a list is dropped where it is found; one
too many is an empty group. Neither tells anything.
INVARIANT: what is not known to be the same everywhere is `NotComputed`, never a guess. NULL is None.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions.calendar import days_of, moment_at
from gateway.functions.exact_values import (
    Known,
    NotComputed,
    as_type,
    as_type_of,
    shifted_time,
    timestamp,
)
from gateway.functions.function import Gaps, Nulls
from gateway.functions.range_arithmetic import OPEN, Bounds
from gateway.functions.table import function_of
from gateway.functions.time_bins import is_in_calendar
from gateway.functions.times import whole_numbers
from gateway.functions.zoned_times import reads_clock
from gateway.plan.fields import NUMBERS
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
    StagedMember,
    StagedValue,
    walk_scalar,
)
from gateway.ranges.expressions import bounds_of, timestamp_bounds, type_bounds, value_bounds


def evaluate_at(  # noqa: PLR0911 - one answer for each kind of expression
    scalar: Scalar, atom: Scalar | None, given: Known
) -> Known:
    """The value where `atom` has the value `given`."""
    if atom is not None and scalar == atom:
        return as_type(given, scalar.type)
    match scalar:
        case Literal(value, kind):
            return as_type(value, kind)
        case Case():
            for when, then in scalar.branches:
                if evaluate_at(when, atom, given) is True:
                    return as_type(
                        as_type_of(evaluate_at(then, atom, given), then, scalar), scalar.type
                    )
            return as_type(
                as_type_of(evaluate_at(scalar.otherwise, atom, given), scalar.otherwise, scalar),
                scalar.type,
            )
        case Cast(what, kind):
            return _cast(evaluate_at(what, atom, given), what.type, kind)
        case Shift(moved, months, days, microseconds):
            return shifted_time(evaluate_at(moved, atom, given), months, days, microseconds)
        case Call():
            return _call(scalar, atom, given)
        case _:
            raise NotComputed


def _cast(  # noqa: PLR0911 - one answer for each pair of types
    value: Known, of: ColumnType, to: ColumnType
) -> Known:
    if value is None:
        return None
    match of.family, to.family:
        case (Family.WHOLE, Family.WHOLE | Family.EXACT) if to.precision is None:
            return as_type(value, to)
        case (Family.EXACT, Family.EXACT) if to.precision is None:
            return value
        case (Family.EXACT, Family.WHOLE) if isinstance(value, Fraction) and value.denominator == 1:
            return as_type(int(value), to)
        case (Family.BOOLEAN, Family.WHOLE):
            return int(value is True)
        case (Family.DATE, Family.TIMESTAMP) if to.kind is Kind.TIMESTAMP:
            return timestamp(value)
        case (Family.TIMESTAMP, Family.DATE) if of.kind is Kind.TIMESTAMP and isinstance(
            value, datetime
        ):
            return value.date()
        case (Family.TEXT, Family.TEXT) if to.length is None:
            return value
        case _:
            raise NotComputed


def _call(call: Call, atom: Scalar | None, given: Known) -> Known:
    function = function_of(call)
    values = [evaluate_at(one, atom, given) for one in call.parts]
    if function.nulls is Nulls.STRICT and None in values:
        return None
    if function.evaluate is None:
        raise NotComputed
    return function.evaluate(call, values)


def can_be_null(  # noqa: PLR0911 - one answer for each kind of expression
    scalar: Scalar, columns: Mapping[str, Bounds]
) -> bool:
    """False only where no row can make it NULL; then there is no group for NULL."""
    if not scalar.nullable:
        return False
    match scalar:
        case Call(_, parts):
            gaps = function_of(scalar).gaps
            if gaps is Gaps.UNKNOWN or (gaps is Gaps.ZERO_DIVISOR and not _never_zero(parts[1])):
                return True
            if gaps is Gaps.CALENDAR and not is_in_calendar(
                scalar, timestamp_bounds(parts[1], columns)
            ):
                return True
            return any(can_be_null(one, columns) for one in parts) or not _fits(scalar, columns)
        case Cast(what) if what.type.family in NUMBERS and scalar.type.family in NUMBERS:
            narrower = scalar.type.bound is not None and not _within(what, scalar, columns)
            return can_be_null(what, columns) or narrower
        case Cast(what) if what.type.family in {Family.DATE, Family.TIMESTAMP, Family.BOOLEAN}:
            return can_be_null(what, columns)
        case Case():
            return any(can_be_null(one, columns) for one in scalar.results)
        case _:
            return True


def _never_zero(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is not None and scalar.value != 0


def _fits(call: Call, columns: Mapping[str, Bounds]) -> bool:
    """A result that does not fit its type is NULL."""
    return call.type.family is not Family.WHOLE or _within(call, call, columns)


def _within(what: Scalar, typed: Scalar, columns: Mapping[str, Bounds]) -> bool:
    found, bound = bounds_of(what, columns).range, typed.type.bound
    if found is None or bound is None:
        return False
    whole = type_bounds(typed.type).range
    if whole is not None:
        return whole.low <= found.low and found.high <= whole.high
    return -bound < found.low and found.high < bound - 1


MOST_VALUES: Final = 20_000
_FEW_VALUES: Final = 400
Listed: TypeAlias = frozenset[Value | None]


def list_values(scalar: Scalar, columns: Mapping[str, Bounds]) -> Listed | None:
    """Every value the expression can have, None for NULL; None when they cannot be listed."""
    if scalar.type.family is Family.BOOLEAN and not isinstance(scalar, Literal):
        return _with_null((False, True), scalar, columns)
    found = _computed(scalar, columns)
    if found is not None or not isinstance(scalar, Case | Call):
        return found
    if isinstance(scalar, Case):
        return _together(scalar.results, scalar.type, columns)
    if function_of(scalar).is_one_of:
        made = _together(scalar.parts, scalar.type, columns)
        return made if made is None or scalar.nullable else made - {None}
    return None


def _together(
    scalars: Iterable[Scalar], kind: ColumnType, columns: Mapping[str, Bounds]
) -> Listed | None:
    """The values of several expressions that give one."""
    found: set[Value | None] = set()
    for one in scalars:
        values = list_values(one, columns)
        if values is None or one.type.family is not kind.family:
            return None
        found |= values
    return frozenset(found) if len(found) <= MOST_VALUES else None


def _computed(scalar: Scalar, columns: Mapping[str, Bounds]) -> Listed | None:
    """Over all values of the one thing it depends on: a column, or a whole-numbered part where that has many."""
    fine = set(_atoms(scalar, columns))
    few = all(values is not None and len(values) <= _FEW_VALUES for _, values in fine)
    if few and (found := _over(scalar, fine)) is not None:
        return found
    found = _over(scalar, set(_atoms(scalar, columns, coarse=True)))
    return _over(scalar, fine) if found is None and not few else found


def _over(scalar: Scalar, atoms: set[tuple[Scalar, Listed | None]]) -> Listed | None:
    if len(atoms) > 1 or any(values is None for _, values in atoms):
        return None
    try:
        if not atoms:
            return frozenset({evaluate_at(scalar, None, None)})
        [(atom, values)] = atoms
        return frozenset(evaluate_at(scalar, atom, value) for value in values or ())
    except NotComputed:
        return None


def _atoms(
    scalar: Scalar,
    columns: Mapping[str, Bounds],
    *,
    coarse: bool = False,
    whole: Scalar | None = None,
) -> Iterator[tuple[Scalar, Listed | None]]:
    """What the value depends on: columns with few values, or whole-numbered parts of other columns.

    `coarse` takes the largest whole-numbered parts there are; `whole` is the expression around.
    """
    if isinstance(scalar, Ref):
        yield scalar, _of_column(scalar, whole, columns)
        return
    if isinstance(scalar, Moment | StagedValue | StagedMember):
        yield scalar, None
        return
    if coarse and (numbers := _parts(scalar, columns)) is not None:
        yield scalar, numbers
        return
    if reads_clock(scalar) and (times := _clock_times(scalar, whole, columns)) is not None:
        yield scalar, times
        return
    around = scalar if whole is None else whole
    below = [
        atom for part in scalar.parts for atom in _atoms(part, columns, coarse=coarse, whole=around)
    ]
    if any(values is None for _, values in below) or len({one for one, _ in below}) > 1:
        numbers = _whole_numbers(scalar, columns)
        if numbers is not None:
            yield scalar, numbers
            return
    yield from below


def _parts(scalar: Scalar, columns: Mapping[str, Bounds]) -> Listed | None:
    """The values of a part that takes few: a whole number, a field of a time, the beginning of a period."""
    looked = function_of(scalar).time_part if isinstance(scalar, Call) else None
    if looked is None or not isinstance(scalar, Call):
        return _whole_numbers(scalar, columns)
    part, of = scalar.parts[:2]
    range_ = bounds_of(scalar, columns).range
    if (
        not isinstance(part, Literal)
        or range_ is None
        or timestamp_bounds(of, columns).range is None
    ):
        return None
    found = looked.values(scalar, range_, MOST_VALUES)
    return None if found is None else _with_null(found, scalar, columns)


def _whole_numbers(scalar: Scalar, columns: Mapping[str, Bounds]) -> Listed | None:
    counts = function_of(scalar).counts if isinstance(scalar, Call) else None
    counting = isinstance(scalar, Call) and counts is not None and counts(scalar)
    cast = isinstance(scalar, Cast) and scalar.type.family is Family.WHOLE
    if not counting and not cast:
        return None
    range_ = bounds_of(scalar, columns).range
    found = None if range_ is None else whole_numbers(range_, MOST_VALUES)
    return None if found is None else _with_null(found, scalar, columns)


def _with_null(values: Iterable[Value], scalar: Scalar, columns: Mapping[str, Bounds]) -> Listed:
    return frozenset([*values, *([None] if can_be_null(scalar, columns) else [])])


def _of_column(column: Ref, whole: Scalar | None, columns: Mapping[str, Bounds]) -> Listed | None:
    domain, family = column.domain, column.type.family
    found: Iterable[Value] | None = None
    if family is Family.BOOLEAN:
        found = (False, True)
    elif isinstance(domain, Values):
        found = domain
    elif family is Family.WHOLE and not isinstance(domain, Interval):
        # computed for each person, or kept between ends by a filter
        range_ = columns.get(column.field.id, OPEN).range
        found = None if range_ is None else whole_numbers(range_, _FEW_VALUES)
    elif isinstance(domain, Interval):
        found = _of_interval(domain, column, whole)
        if found is not None and column.type.family is not Family.TIMESTAMP:
            # where a filter leaves none of them, all are shown, empty
            found = [*_between(found, columns.get(column.field.id, OPEN))] or found
    if found is None:
        return None
    return frozenset([*found, *([None] if column.nullable else [])])


def _of_interval(domain: Interval, column: Ref, whole: Scalar | None) -> Iterable[Value] | None:
    if column.type.family is Family.TIMESTAMP:
        every = _seconds_apart(column, whole)
        return _moments(domain, every) if every is not None else _few(domain)
    if column.type.family is Family.FLOAT and domain.step.denominator != 1:
        # a tenth is no float, and what is declared would never be found
        return None
    return _few(domain)


def _between(values: Iterable[Value], found: Bounds) -> Iterator[Value]:
    """Without those that a filter leaves out: ends of domains are whole steps, those of filters may lie between."""
    if found.low is None and found.high is None:
        yield from values
        return
    least = None if found.low is None else ceil(found.low)
    most = None if found.high is None else floor(found.high)
    for value in values:
        if isinstance(value, date) and not isinstance(value, datetime):
            # thousands of days are compared: whole numbers with whole numbers
            day = days_of(value)
            if (least is None or day >= least) and (most is None or day <= most):
                yield value
            continue
        place = value_bounds(value).low
        below = place is not None and found.low is not None and place < found.low
        above = place is not None and found.high is not None and place > found.high
        if not below and not above:
            yield value


def _few(domain: Interval) -> Iterable[Value] | None:
    return domain if domain.size <= MOST_VALUES else None


def _clock_times(
    scalar: Scalar, whole: Scalar | None, columns: Mapping[str, Bounds]
) -> Listed | None:
    """One time in every day, hour or minute that a clock shows; of hours that it skips, too."""
    every, range_ = _seconds_apart(scalar, whole), bounds_of(scalar, columns).range
    if every is None or range_ is None:
        return None
    length = every * 1_000_000
    first, last = range_.low // length, range_.high // length
    if last - first >= MOST_VALUES:
        return None
    times = (moment_at(place * length) for place in range(first, last + 1))
    return _with_null(times, scalar, columns)


def _seconds_apart(column: Scalar, whole: Scalar | None) -> int | None:
    """How coarsely a time is looked at by all that reads it; None where it is read as it is."""
    if whole is None:
        return None
    finest = 86_400
    for one in walk_scalar(whole):
        if column not in one.parts:
            continue
        seconds = _granularity(one)
        if seconds is None:
            return None
        finest = min(finest, seconds)
    return finest


def _granularity(reader: Scalar) -> int | None:
    if isinstance(reader, Cast):
        return 86_400 if reader.type.family is Family.DATE else None
    looked = function_of(reader).time_part if isinstance(reader, Call) else None
    if looked is None or not isinstance(reader, Call):
        return None
    period = looked.period(reader)
    return None if period is None else period // 1_000_000


def _moments(domain: Interval, every: int) -> Iterable[Value] | None:
    """One time in every day, hour or minute of the interval."""
    low, high = domain.low, domain.high
    if not isinstance(low, datetime) or not isinstance(high, datetime):
        return None
    length = timedelta(seconds=every)
    start = datetime(1, 1, 1, tzinfo=low.tzinfo)
    first, last = (low - start) // length, (high - start) // length
    if last - first >= MOST_VALUES:
        return None
    return [start + place * length for place in range(first, last + 1)]
