"""Quantiles and extremes as ranks that are aimed at, and how far one unit can move the scores of buckets.

Rows lie in buckets, c_b of them in bucket b and L_b in all before it; N in all. An aim is at a rank t, and
the score of a bucket is how deep t lies within its ranks, from L_b to L_b + c_b, below 0 when t is outside:

    u_b = min(t - d·L_b, d·(L_b + c_b) - t),    all in units of a d-th part of a rank.

An aim that may lie before or behind all rows is *open* on that side: the bucket at that end has no beginning, or no
end, so that t is always within one, however few rows there are.

INVARIANT: a unit adds whole numbers ≥ 0 to the c_b, in sum at most `rows` (R). Then no u_b moves by more than
`sensitivity(R)`; the proof is in docs/proofs/selection.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


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
