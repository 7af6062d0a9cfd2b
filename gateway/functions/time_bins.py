"""`date_bin`: the beginning of the bin in which a time lies, where all bins have one length.

A call takes the length as a text, a time, and the place of the bins: the beginning of the bin in which 1970 began or the
next one. So two origins with the same bins make the same expression. A day is 24 hours, as PostgreSQL bins; no clock is
read, so bins of a time with a zone are the same in every session.

INVARIANT: the value depends on the time and the constants of the call alone. A bin that begins before the calendar is NULL.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import ceil, floor
from typing import Final

from gateway.catalog.types import ColumnType
from gateway.catalog.values import Value
from gateway.functions import copy_counts as copies
from gateway.functions import costs, result_sizes
from gateway.functions.calendar import (
    DAY,
    Civil,
    days_from,
    instant_at,
    microseconds_of,
    moment_at,
)
from gateway.functions.exact_values import Known, NotComputed
from gateway.functions.function import Function, Gaps, Nulls, Operands, TimePart
from gateway.functions.range_arithmetic import (
    NOTHING,
    OPEN,
    Bounds,
    Range,
    bounds,
    common_divisor,
)
from gateway.functions.thresholds import ColumnDigits, Monotone, Preimage, Threshold
from gateway.plan.fields import TEXT, TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar

LONGEST: Final = 120_000 * DAY
"""328 years; longer bins would begin outside of the calendar."""
_FIRST: Final = days_from(Civil(1, 1, 1)) * DAY
_UNITS: Final = (DAY, 3_600_000_000, 60_000_000)


@dataclass(frozen=True, slots=True)
class Bins:
    """`length` and `origin` in microseconds; `calendar` is the first moment that a time of the type can be."""

    length: int
    origin: int
    calendar: int

    def begin(self, moment: int) -> int:
        return moment - (moment - self.origin) % self.length

    @property
    def lowest(self) -> int:
        """The beginning of the bin in which the calendar begins: that or before."""
        return self.begin(self.calendar)

    @property
    def first(self) -> int:
        """The first bin that begins in the calendar."""
        return self.lowest if self.lowest == self.calendar else self.lowest + self.length

    @property
    def is_cut(self) -> bool:
        """Whether the calendar begins within a bin, so that times in it have none."""
        return self.lowest < self.calendar


def call_date_bin(length: int, of: Scalar, origin: int) -> Call:
    """The beginning of the bin of a timestamp; length and origin are in microseconds."""
    days, rest = divmod(length, DAY)
    place = _time(origin % length, of.type)
    parts = (Literal(f"{days} days {rest} microseconds", TEXT), of, Literal(place, of.type))
    return Call("date_bin", parts, of.type)


def bins_of(call: Call) -> Bins:
    """The bins that a call names."""
    match call.parts:
        case (Literal(str() as length), of, Literal(datetime() as origin)):
            days, _, rest, _ = length.split(" ")
            calendar = _FIRST + (DAY if of.type == TIMESTAMPTZ else 0)
            return Bins(int(days) * DAY + int(rest), microseconds_of(origin), calendar)
        case _:
            raise BrokenPlan("bins of no length")


def is_in_calendar(call: Call, of: Bounds) -> bool:
    """Whether no time within these bounds, in microseconds, has a bin that begins before the calendar."""
    bins = bins_of(call)
    return not bins.is_cut or (of.low is not None and of.low >= bins.first)


def _time(microseconds: int, kind: ColumnType) -> datetime:
    return (instant_at if kind == TIMESTAMPTZ else moment_at)(microseconds)


def _begin(call: Call, values: Sequence[Known]) -> Known:
    value, bins = values[1], bins_of(call)
    if not isinstance(value, datetime):
        raise NotComputed
    found = bins.begin(microseconds_of(value))
    return None if found < bins.calendar else _time(found, call.type)


def _range(call: Call, operands: Operands) -> Bounds:
    of, bins = operands.in_microseconds(1).range, bins_of(call)
    if of is None:
        return OPEN
    low, high = (bins.begin(floor(end)) for end in (of.low, of.high))
    if high < bins.first:
        return NOTHING
    step = Fraction(bins.length)
    if bins.origin:
        step = common_divisor(step, Fraction(bins.origin))
    return bounds(max(low, bins.first), high, step)


def _bins_between(call: Call, range_: Range, most: int) -> Iterable[Value] | None:
    bins = bins_of(call)
    high = floor(range_.high)
    first = bins.begin(ceil(range_.low) + bins.length - 1)
    if (high - first) // bins.length >= most:
        return None
    return (_time(one, call.type) for one in range(first, high + 1, bins.length))


def _period(call: Call) -> int | None:
    """A day, an hour or a minute, where every bin begins with one."""
    bins = bins_of(call)
    if call.type == TIMESTAMPTZ:
        return None
    return next((one for one in _UNITS if not bins.length % one and not bins.origin % one), None)


def _solve(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    bins = bins_of(call)
    begins = bins.begin(floor(test.bound))
    here, after = Fraction(begins), Fraction(begins + bins.length)
    at = here if begins == test.bound else after
    found = {
        "<": Threshold("<", at),
        "<=": Threshold("<", after),
        ">": Threshold(">=", after),
        ">=": Threshold(">=", at),
    }[test.operator]
    return 1, found


DATE_BIN: Final = Function(
    name="date_bin",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.CALENDAR,
    computes=False,
    range=_range,
    evaluate=_begin,
    monotone=Monotone(_solve, lambda call: None if bins_of(call).is_cut else 1),
    time_part=TimePart(_period, _bins_between),
    cost=costs.constant(2 * costs.MOMENT),
    size=result_sizes.type_size,
    copies=copies.once,
)

BINS: Final = (DATE_BIN,)
