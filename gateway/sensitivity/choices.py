"""Choices of a value instead of measurements: histograms, the candidates of a quantile, and target ranks.

What is chosen is a place among candidates that are known beforehand, in every group. A choice reads a histogram:
how many rows of persons have each candidate. Several choices read the same one.

Quantiles and extremes are ranks that are aimed at. Rows lie in buckets, c_b of them in bucket b and L_b in all
before it; N in all. An aim is at a rank t, and the score of a bucket is how deep t lies within its ranks, from L_b
to L_b + c_b, below 0 when t is outside:

    u_b = min(t - d·L_b, d·(L_b + c_b) - t),    all in units of a d-th part of a rank.

An aim that may lie before or behind all rows is *open* on that side: the bucket at that end has no beginning, or
no end, so that t is always within one, however few rows there are.

INVARIANT: candidates depend on declared domains and on limits of ours, never on rows. After bounding, one unit
adds whole numbers ≥ 0 to the counts of a group, in sum at most R: `spread` rests on it. With weights counts are in
parts of rows, and R bounds the norm of what the unit adds to all groups together.
INVARIANT: buckets depend on the declared domain and on a limit of the policy, never on rows. Every point of the
lattice is in exactly one bucket, and buckets are in the order of their values.
INVARIANT: a unit adds whole numbers ≥ 0 to the c_b, in sum at most `rows` (R). Then no u_b moves by more than
`sensitivity(R)`; the proof is in docs/proofs/selection.md.
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
from gateway.ranges.lattice import Lattice

MOST_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Buckets:
    """Each of `width` points of the lattice, the last one perhaps of fewer."""

    lattice: Lattice
    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError("a bucket has at least one point")

    @property
    def count(self) -> int:
        return self.lattice.width // self.width + 1

    def bucket(self, point: int) -> int:
        """In which one a point of the lattice is; the source computes the same."""
        return (point - self.lattice.low) // self.width

    def ends(self, bucket: int) -> tuple[int, int]:
        """Its first and its last point."""
        if not 0 <= bucket < self.count:
            raise ValueError("there is no such bucket")
        first = self.lattice.low + bucket * self.width
        return first, min(first + self.width - 1, self.lattice.high)

    def value(self, bucket: int) -> Fraction:
        """What is answered for it: its middle point, so the true value is half a bucket away at most."""
        first, last = self.ends(bucket)
        return (first + last) // 2 * self.lattice.step


def buckets_of(lattice: Lattice, most: int = MOST_BUCKETS) -> Buckets:
    """As many buckets as there may be, or one for each point where there are fewer points."""
    if most < 1:
        raise ValueError("there is at least one bucket")
    points = lattice.width + 1
    return Buckets(lattice, -(-points // most))


@dataclass(frozen=True, slots=True)
class QuantileLevel:
    """The quantile p/d: t = p·N."""

    share: Fraction
    open_before = open_behind = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError("a quantile is between 0 and 1")

    @property
    def per_rank(self) -> int:
        """d: how many units of a score a rank has."""
        return self.share.denominator

    def target(self, total: int) -> int:
        return self.share.numerator * total

    def sensitivity(self, rows: int) -> int:
        """R·max(p, d - p)."""
        over, under = self.share.numerator, self.share.denominator
        return _checked(rows) * max(over, under - over)


@dataclass(frozen=True, slots=True)
class Lowest:
    """The row of this rank from the beginning: t = 2·rank, d = 2."""

    rank: int | Fraction
    per_rank = 2
    open_before, open_behind = False, True

    def __post_init__(self) -> None:
        _check_rank(self.rank)

    def target(self, total: int) -> int:
        del total
        return int(2 * self.rank)

    def sensitivity(self, rows: int) -> int:
        return 2 * _checked(rows)


@dataclass(frozen=True, slots=True)
class Highest:
    """The row of this rank from the end: t = 2·N - 2·rank, d = 2."""

    rank: int | Fraction
    per_rank = 2
    open_before, open_behind = True, False

    def __post_init__(self) -> None:
        _check_rank(self.rank)

    def target(self, total: int) -> int:
        return 2 * total - int(2 * self.rank)

    def sensitivity(self, rows: int) -> int:
        return 2 * _checked(rows)


@dataclass(frozen=True, slots=True)
class BesideQuantile:
    """A place that lies so many d-th parts of a rank below the quantile p/d, or above it: t = p·N ∓ away."""

    level: QuantileLevel
    away: int
    above: bool

    @property
    def per_rank(self) -> int:
        return self.level.per_rank

    @property
    def open_before(self) -> bool:
        return not self.above

    @property
    def open_behind(self) -> bool:
        return self.above

    def target(self, total: int) -> int:
        return self.level.target(total) + (self.away if self.above else -self.away)

    def sensitivity(self, rows: int) -> int:
        """That of the quantile: the same number comes to t whatever the rows are."""
        return self.level.sensitivity(rows)


Aim: TypeAlias = QuantileLevel | Lowest | Highest | BesideQuantile


def score_sensitivity(aim: Aim, rows: int) -> int:
    """How far one unit can move the difference of two scores."""
    return 2 * aim.sensitivity(rows)


def _checked(rows: int) -> int:
    if rows < 1:
        raise ValueError("a unit has at least one row")
    return rows


def _check_rank(rank: int | Fraction) -> None:
    """Half a rank is the middle of a row, which a whole one lies behind."""
    if rank < 0 or (2 * rank) % 1:
        raise ValueError("a rank is whole or a half, and not negative")


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
    """One candidate per group. `rows` is R, in parts, `whole` of which are one row.

    INVARIANT: each is paid for by itself, those that come after others too: k places cost k choices.
    """

    histogram: Histogram
    sought: Sought
    rows: int
    whole: int = 1

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
