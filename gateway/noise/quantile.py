"""Quantiles, MIN and MAX from bucket counts: exact scores, one draw each, and bounds of the rank error.

INVARIANT: `counts` are whole numbers ≥ 0 to which one unit adds at most R in sum, and each draw has the scale
that its price gives for `spread(aim, R)`. Weighted counts are in parts of rows; so are the ranks here. Answers are made increasing with their aims after the draws, from the
chosen buckets alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.entropy import Entropy
from gateway.noise.exponential import Choice, Scores
from gateway.sensitivity.choices import Aim, BesideQuantile, Highest, Lowest, QuantileLevel

_LONGEST = 1 << 61
_OUTSIDE = Fraction(1, 20)

Counts: TypeAlias = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankQuestion:
    """A rank to aim at, with the selection that its price pays for."""

    aim: Aim
    selection: Choice


def draw_buckets(counts: Counts, questions: Sequence[RankQuestion], entropy: Entropy) -> list[int]:
    """A bucket for each aim: independent draws from the same counts."""
    ranked = _ranked(counts)
    return [one.selection.choose(ranked.scores(one.aim), entropy) for one in questions]


def bucket_scores(counts: Counts, aim: Aim) -> Scores:
    """The score u_b of every bucket: see `gateway.sensitivity.choices`."""
    return _ranked(counts).scores(aim)


def order_buckets(aims: Sequence[Aim], drawn: Sequence[int]) -> list[int]:
    """The smallest draw for the lowest aim, and so on: a larger quantile is never smaller.

    An aim beside a quantile, by a number of ranks, has no place among shares, so its draw stays as it is.
    """
    answers = [
        (_place(aim), place)
        for place, aim in enumerate(aims)
        if not isinstance(aim, BesideQuantile)
    ]
    buckets = sorted(drawn[place] for _, place in answers)
    ordered = list(drawn)
    for (_, place), bucket in zip(sorted(answers), buckets, strict=True):
        ordered[place] = bucket
    return ordered


def rank_from_end(selection: Choice, buckets: int, outside: Fraction = _OUTSIDE) -> Fraction:
    """The rank that MIN and MAX aim at, so that a bucket beyond all rows is drawn with no more than this
    probability.

    It is (2R/eta)·ln(buckets/outside), rounded up to half a rank, or one more; a little less for pure choices.
    """
    return Fraction(selection.shortfall(buckets, outside), Lowest.per_rank)


def parts_beside(
    selection: Choice,
    level: QuantileLevel,
    buckets: int,
    missing: Fraction,
    *,
    above: bool,
    row: int = 1,
) -> int:
    """The distance of an aim from a quantile, in d-th parts of a rank, so that the drawn bucket lies wholly on
    its other side with no more than this probability. A row has so many ranks: `row`.

    A quantile between two rows is within a row of the quantile at a row: that is the last part, up to a row.
    """
    within = level.per_rank - level.share.numerator if above else level.share.numerator
    return selection.shortfall(buckets, missing) + within * row


def rank_error(question: RankQuestion, buckets: int, limit: Fraction) -> int:
    """The largest distance in ranks between the drawn bucket and the aim, except with probability `limit`. It
    needs no counts.
    """
    short = question.selection.shortfall(buckets, limit) - 1  # of whole numbers, P(≥ k) ≤ limit
    return -(-max(short, 0) // question.aim.per_rank)


@dataclass(frozen=True, slots=True)
class _Words:
    """Counts cumulated in 64-bit words."""

    before: NDArray[np.int64]
    upto: NDArray[np.int64]
    total: int

    def scores(self, aim: Aim) -> Scores:
        d, t = aim.per_rank, aim.target(self.total)
        if max(d * self.total, abs(t)) > _LONGEST:
            return _Long(self.before.tolist(), self.upto.tolist(), self.total).scores(aim)
        begun: NDArray[np.int64] = t - d * self.before
        left: NDArray[np.int64] = d * self.upto - t
        if aim.open_before:
            begun[0] = left[0]
        if aim.open_behind:
            left[-1] = begun[-1]
        return np.minimum(begun, left)


@dataclass(frozen=True, slots=True)
class _Long:
    """The same, in integers of any size."""

    before: list[int]
    upto: list[int]
    total: int

    def scores(self, aim: Aim) -> Scores:
        d, t = aim.per_rank, aim.target(self.total)
        begun = [t - d * low for low in self.before]
        left = [d * high - t for high in self.upto]
        if aim.open_before:
            begun[0] = left[0]
        if aim.open_behind:
            left[-1] = begun[-1]
        return list(map(min, begun, left))


def _ranked(counts: Counts) -> _Words | _Long:
    if len(counts) == 0:
        raise ValueError("there is at least one bucket")
    if isinstance(counts, np.ndarray) and counts.dtype != np.int64:
        raise TypeError("counts are a sequence of whole numbers or a row of 64-bit words")
    if isinstance(counts, np.ndarray) and int(counts.max()) * len(counts) <= _LONGEST:
        upto = np.cumsum(counts)
        return _Words(upto - counts, upto, int(upto[-1]))
    before, upto_, total = [], [], 0
    for count in counts:
        before.append(total)
        total += int(count)
        upto_.append(total)
    return _Long(before, upto_, total)


def _place(aim: QuantileLevel | Lowest | Highest) -> Fraction:
    match aim:
        case Lowest():
            return Fraction(-1)
        case QuantileLevel(share):
            return share
        case Highest():
            return Fraction(2)
