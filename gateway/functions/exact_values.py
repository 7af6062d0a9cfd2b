"""The value of a call, exactly: the formulas that the rows of the table name.

Takes a call with the values of its operands and gives the one value that every source gives.

INVARIANT: what is not known to be the same everywhere is `NotComputed`, never a guess. NULL is None.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import WHOLE_BOUNDS, ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions.calendar import (
    DAY,
    Civil,
    days_from,
    days_of,
    microseconds_of,
    moment_at,
    months_later,
)
from gateway.plan.fields import NUMBERS, TIMES
from gateway.plan.narrowed_domains import is_short
from gateway.plan.scalars import Call, Scalar

_MOST_DIGITS: Final = 10**30
_EXACT_FLOAT: Final = 2**40
_FIRST: Final = days_from(Civil(1, 1, 1)) * DAY
_NEVER_MIXED: Final = frozenset({Kind.TIMESTAMPTZ, Kind.REAL})
"""A moment shows another time on each clock, and a real other digits as a double."""
_LAST: Final = days_from(Civil(10_000, 1, 1)) * DAY - 1


class NotComputed(Exception):
    """Nobody has argued that the value is the same everywhere."""


Known: TypeAlias = Value | None
Evaluate: TypeAlias = Callable[[Call, Sequence[Known]], Known]
Number: TypeAlias = int | Fraction


def as_type(value: Known, kind: ColumnType) -> Known:
    """The value as the catalog has values of the type; what does not fit is for others to say."""
    if value is None or isinstance(value, bool | str):
        return value
    most: int | None = WHOLE_BOUNDS.get(kind.kind)
    if isinstance(value, int) and most is not None:
        # the common case, in which fractions would take most of the time
        if not -most <= value < most:
            raise NotComputed
        return value
    if isinstance(value, int | Fraction):
        if not -_MOST_DIGITS <= value <= _MOST_DIGITS:
            raise NotComputed
        if kind.family is not Family.WHOLE:
            return Fraction(value)
        bound = kind.bound
        if value != int(value) or (bound is not None and not -bound <= value < bound):
            raise NotComputed
        return int(value)
    return value


def as_type_of(value: Known, one: Scalar, among: Scalar) -> Known:
    """A value that stands where values of another type stand."""
    if value is None:
        return value
    kinds = {one.type.kind, among.type.kind}
    families = {kind.family for kind in kinds}
    if len(kinds) > 1 and kinds & _NEVER_MIXED:
        raise NotComputed
    if len(families) > 1 and not families <= {Family.WHOLE, Family.EXACT}:
        raise NotComputed
    return value


def as_compared(call: Call, values: Sequence[Known]) -> list[Known]:
    """The operands as values of the type in which a source compares them.

    Equality and order of what is given here are those of every source. INVARIANT: a row that compares or mixes its
    operands takes them from here. Python compares values of two types by rules of its own: no date equals a
    timestamp, and 0.1 is another number than the float.
    """
    kinds = {one.type.kind for one in call.parts}
    families = {kind.family for kind in kinds}
    if len(kinds) > 1 and Kind.TIMESTAMPTZ in kinds:
        raise NotComputed
    if families == TIMES:
        return [None if one is None else timestamp(one) for one in values]
    if families == {Family.WHOLE}:
        return list(values)
    if families <= NUMBERS:
        if not all(map(_is_told_apart, values, call.parts)):
            raise NotComputed
        return list(values)
    if len(families) > 1:
        raise NotComputed
    return list(values)


def _is_told_apart(value: Known, of: Scalar) -> bool:
    """Whether a source that compares doubles tells the number from its neighbours, and a real is what it says."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not is_short(value):
        return False
    if of.type.kind is not Kind.REAL:
        return True
    [single] = struct.unpack("<f", struct.pack("<f", float(value)))
    return Fraction(single) == value


def timestamp(value: Known) -> datetime:
    """A date or timestamp as a timestamp."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    raise NotComputed


def shifted_time(value: Known, months: int, days: int, microseconds: int) -> Known:
    """A date or timestamp moved by an interval: months first, to the end of a shorter month, then days and the rest.

    NULL outside of the calendar, as the engines have it.
    """
    if value is None:
        return None
    if not isinstance(value, date) or (isinstance(value, datetime) and value.tzinfo is not None):
        raise NotComputed
    moved = microseconds_of(timestamp(value))
    for by, rest in ((months, 0), (0, days * DAY + microseconds)):
        whole, within = divmod(moved, DAY)
        moved = months_later(whole, by) * DAY + within + rest
        if not _FIRST <= moved <= _LAST:
            return None
    return moment_at(moved)


def exact_number(value: Value) -> Fraction | None:
    """A number as it is, a date in days, a timestamp in microseconds."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, datetime):
        return Fraction(microseconds_of(value))
    if isinstance(value, date):
        return Fraction(days_of(value))
    return None


def of_numbers(compute: Callable[..., Number]) -> Evaluate:
    """Arithmetic, where it is exact: whole floats are added and multiplied exactly, others are rounded."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        small = [one for one in values if type(one) is int and abs(one) < _EXACT_FLOAT]
        if len(small) == len(values):
            # exact in every type, and the common case
            return as_type(compute(*small), call.type)
        floats = any(one.type.family is Family.FLOAT for one in call.parts)
        if floats and not all(map(_is_whole, values)):
            raise NotComputed
        numbers = [one for one in values if isinstance(one, int | Fraction)]
        if len(numbers) != len(values) or any(isinstance(one, bool) for one in values):
            raise NotComputed
        return as_type(compute(*numbers), call.type)

    return evaluate


def of_whole_numbers(compute: Callable[[Fraction, Fraction], Number]) -> Evaluate:
    """Division, which is exact for whole numbers alone."""
    exactly = of_numbers(lambda left, right: compute(Fraction(left), Fraction(right)))

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        if not values[1] or any(one.type.family is not Family.WHOLE for one in call.parts):
            raise NotComputed
        return exactly(call, values)

    return evaluate


def _is_whole(value: Known) -> bool:
    return (
        isinstance(value, int | Fraction)
        and value == int(value)
        and abs(Fraction(value)) < _EXACT_FLOAT
    )
