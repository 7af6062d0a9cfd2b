"""Quantiles, MIN and MAX from the counts of buckets: exact scores, a choice for each, and how far it may miss.

INVARIANT: `counts` are whole numbers ≥ 0 to which one unit adds at most R in sum, and each choice has the
scale that its price gives for `spread(aim, R)`. The answers in the order of their aims are made
rising after the choices, from the chosen buckets alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.candidates import Scores
from gateway.noise.entropy import Entropy
from gateway.noise.selection import Choice
from gateway.sensitivity.ranks import Aim, Highest, Level, Lowest

_LONGEST = 1 << 61
_OUTSIDE = Fraction(1, 20)

Counts: TypeAlias = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """One rank that is aimed at, with the choice that its price buys."""

    aim: Aim
    selection: Choice


def chosen_buckets(counts: Counts, questions: Sequence[Question], entropy: Entropy) -> list[int]:
    """A bucket for each question: independent choices from the same counts, then put into order."""
    ranked = _ranked(counts)
    drawn = [one.selection.choose(ranked.scores(one.aim), entropy) for one in questions]
    return in_order([one.aim for one in questions], drawn)


def scores(counts: Counts, aim: Aim) -> Scores:
    """u_b of every bucket: see `gateway.sensitivity.ranks`."""
    return _ranked(counts).scores(aim)


def in_order(aims: Sequence[Aim], drawn: Sequence[int]) -> list[int]:
    """The smallest of what was drawn for the lowest aim, and so on: a larger quantile is never smaller."""
    rising = sorted(range(len(aims)), key=lambda place: _place(aims[place]))
    ordered = list(drawn)
    for place, bucket in zip(rising, sorted(drawn), strict=True):
        ordered[place] = bucket
    return ordered


def rank_from_end(selection: Choice, buckets: int, outside: Fraction = _OUTSIDE) -> Fraction:
    """At which rank MIN and MAX aim, so that a bucket beyond all rows comes out with no more than this probability.

    It is (2R/eta)·ln(buckets/outside), rounded up to half a rank, or one more; a little less for pure choices.
    """
    return Fraction(selection.shortfall(buckets, outside), Lowest.per_rank)


def rank_error(question: Question, buckets: int, limit: Fraction) -> int:
    """By how many ranks the chosen bucket misses the aim at most, but for a probability of `limit`; without counts."""
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
        depth: NDArray[np.int64] = np.minimum(t - d * self.before, d * self.upto - t)
        return depth


@dataclass(frozen=True, slots=True)
class _Long:
    """The same, in integers of any size."""

    before: list[int]
    upto: list[int]
    total: int

    def scores(self, aim: Aim) -> Scores:
        d, t = aim.per_rank, aim.target(self.total)
        return [
            min(t - d * low, d * high - t) for low, high in zip(self.before, self.upto, strict=True)
        ]


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


def _place(aim: Aim) -> Fraction:
    match aim:
        case Lowest():
            return Fraction(-1)
        case Level(share):
            return share
        case Highest():
            return Fraction(2)
