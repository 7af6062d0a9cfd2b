"""What is chosen instead of measured: a place among candidates that are known beforehand, in every group.

A choice reads a histogram: how many rows of persons have each candidate. Several choices read the same one.

INVARIANT: candidates depend on declared domains and on limits of ours, never on rows. After bounding, one unit adds
whole numbers ≥ 0 to the counts of a group, in sum at most R, in at most G groups: `spread` rests on it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import Family
from gateway.catalog.values import Value
from gateway.functions.calendar import days_of, microseconds_of
from gateway.plan.scalars import Change, Scalar
from gateway.sensitivity.buckets import Buckets
from gateway.sensitivity.ranks import (
    Aim,
    BesideQuantile,
    Highest,
    Lowest,
    QuantileLevel,
    score_sensitivity,
)

_EPOCH: Final = date(1970, 1, 1)
_EPOCH_MOMENT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_LAST_MOMENT: Final = datetime.max  # noqa: DTZ901 - without zone
_FIRST_MOMENT: Final = datetime.min  # noqa: DTZ901 - without zone


@dataclass(frozen=True, slots=True)
class BinnedRows:
    """Rows by buckets of their values, where `where` is true and the value is not NULL."""

    value: Scalar
    buckets: Buckets
    where: Scalar | None = None

    @property
    def candidates(self) -> int:
        return self.buckets.count

    def answer(self, place: int) -> Value:
        """What is answered for a bucket: as the catalog has values of this type."""
        found = self.buckets.value(place)
        match self.value.type.family:
            case Family.DATE:
                days = min(max(round(found), days_of(date.min)), days_of(date.max))
                return _EPOCH + timedelta(days=days)
            case Family.TIMESTAMP:
                first, last = microseconds_of(_FIRST_MOMENT), microseconds_of(_LAST_MOMENT)
                since = timedelta(microseconds=min(max(round(found), first), last))
                return (_EPOCH_MOMENT + since).replace(tzinfo=None)
            case _:
                return found

    def span(self, lowest: int, highest: int) -> tuple[Fraction, Fraction] | None:
        """From the first point of one bucket to the last of another; None of what is no number."""
        if self.value.type.family not in _NUMBERS:
            return None
        (first, _), (_, last) = self.buckets.ends(lowest), self.buckets.ends(highest)
        step = self.buckets.lattice.step
        return first * step, last * step


@dataclass(frozen=True, slots=True)
class ListedRows:
    """Rows by their values, where `where` is true: of those that are listed."""

    value: Scalar
    values: tuple[Value, ...]
    where: Scalar | None = None

    @property
    def candidates(self) -> int:
        return len(self.values)

    def answer(self, place: int) -> Value:
        return self.values[place]


Histogram: TypeAlias = BinnedRows | ListedRows


def histogram_scalars(histogram: Histogram) -> tuple[Scalar, ...]:
    """The expressions that a histogram reads."""
    return (histogram.value, *(() if histogram.where is None else (histogram.where,)))


def map_histogram(histogram: Histogram, change: Change) -> Histogram:
    """The histogram with `change` of each of these."""
    where = None if histogram.where is None else change(histogram.where)
    return replace(histogram, value=change(histogram.value), where=where)


class End(Enum):
    """The smallest value or the largest."""

    LOWEST = "lowest"
    HIGHEST = "highest"


@dataclass(frozen=True, slots=True)
class Frequent:
    """The most frequent value, where `place` is 1; else the most frequent of those left by all places before."""

    place: int = 1


@dataclass(frozen=True, slots=True)
class Limit:
    """The low end of the interval of a quantile, or the high one."""

    of: QuantileLevel
    high: bool


Sought: TypeAlias = QuantileLevel | End | Limit | Frequent


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate per group. `rows` is R.

    INVARIANT: each is paid for by itself, those that come after others too: k places cost k choices.
    """

    histogram: Histogram
    sought: Sought
    rows: int

    @property
    def spread(self) -> int:
        """How far one unit moves the difference of two scores; counts all move in one direction."""
        if isinstance(self.sought, Frequent):
            return self.rows
        return score_sensitivity(self.aim(0), self.rows)

    def aim(self, away: int) -> Aim:
        """The rank that a quantile aims at; the ends so many parts of a rank from theirs, the limits from the quantile."""
        match self.sought:
            case QuantileLevel():
                return self.sought
            case End.LOWEST:
                return Lowest(Fraction(away, Lowest.per_rank))
            case End.HIGHEST:
                return Highest(Fraction(away, Highest.per_rank))
            case Limit(of, high):
                return BesideQuantile(of, away, high)
            case Frequent():
                raise ValueError("the most frequent value has no rank")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The aggregate is what the choice at this place gives; `limits` are the places of the ends of its interval."""

    place: int
    limits: tuple[int, ...] = ()
