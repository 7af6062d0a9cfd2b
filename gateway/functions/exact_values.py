"""The value of a call, exactly: the formulas that the rows of the table name.

Takes a call with the values of its operands and gives the one value that every source gives.

INVARIANT: what is not known to be the same everywhere is `NotComputed`, never a guess. NULL is None.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import WHOLE_BOUNDS, ColumnType, Family
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
from gateway.plan.scalars import Call, Scalar

_MOST_DIGITS: Final = 10**30
_EXACT_FLOAT: Final = 2**40
_FIRST: Final = days_from(Civil(1, 1, 1)) * DAY
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
    if value is not None and one.type.family is not among.type.family:
        numbers = {Family.WHOLE, Family.EXACT}
        if not {one.type.family, among.type.family} <= numbers:
            raise NotComputed
    return value


def as_first_type(call: Call, values: Sequence[Known]) -> list[Known]:
    """The operands, as values of the type of the first."""
    first = call.parts[0]
    return [as_type_of(value, one, first) for value, one in zip(values, call.parts, strict=True)]


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
