"""Choices with what their price buys, and their draws: one place of a histogram for every group that leaves.

INVARIANT: counts leave as a chosen place alone, drawn here by the selection that was paid for, once for every group
that leaves. A group that was not found has a histogram of zeros and is drawn for like any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.catalog.values import Value
from gateway.exact import ExactHistogram
from gateway.noise.entropy import Entropy
from gateway.noise.quantile import (
    Question,
    drawn_buckets,
    in_order,
    parts_beside,
    rank_error,
    rank_from_end,
)
from gateway.noise.selection import Choice as Selecting
from gateway.noise.selection import PureSelection, selection_for, selection_within
from gateway.sensitivity.choices import Binned, Choice, End, Frequent, Histogram, Limit
from gateway.sensitivity.ranks import Lowest

Key = tuple[Value | None, ...]
Span: TypeAlias = tuple[Fraction, Fraction]
_LIMIT: Final = Fraction(5, 100)


@dataclass(frozen=True, slots=True)
class Bought:
    """A choice in every group, and the selection that its share of the price buys."""

    choice: Choice
    selection: Selecting

    def cost(self, groups: int) -> Fraction:
        """In the currency of the selection: a unit is in at most so many groups."""
        spread = self.choice.spread
        if isinstance(self.selection, PureSelection):
            return groups * self.selection.eta_for(spread)
        return groups * self.selection.rho_for(spread)

    @property
    def away(self) -> int:
        """How many parts of a rank from what is sought is aimed, so that the draw hardly ever lies on its wrong side.

        That is in 5 of 100 draws for the smallest and the largest value, in half of that for each end of an interval.
        """
        many = self.choice.histogram.candidates
        match self.choice.sought:
            case End():
                return int(rank_from_end(self.selection, many, _LIMIT) * Lowest.per_rank)
            case Limit(of, high):
                return parts_beside(self.selection, of, many, _LIMIT / 2, above=high)
            case _:
                return 0

    @property
    def question(self) -> Question:
        """At which rank is aimed."""
        return Question(self.choice.aim(self.away), self.selection)

    @property
    def rank_error(self) -> int:
        """By how many ranks, or rows, 95 of 100 answers are away from what is sought, at most.

        The ends are aimed at from a little inside, which is a part of it.
        """
        many = self.choice.histogram.candidates
        if isinstance(self.choice.sought, Frequent):
            return max(self.selection.shortfall(many, _LIMIT) - 1, 0)
        question = self.question
        inside = Fraction(self.away, question.aim.per_rank)
        return ceil(inside + rank_error(question, many, _LIMIT))

    def span(self, place: int) -> Span | None:
        """From where to where what is sought lies, on one side of what was drawn, in 95 of 100 draws, or 97.5.

        INVARIANT: it is computed from the drawn place and the candidates alone. None of a quantile itself, of what is
        most frequent, and of dates: an interval is one of numbers.
        """
        histogram = self.choice.histogram
        if not isinstance(histogram, Binned):
            return None
        match self.choice.sought:
            case End.LOWEST | Limit(high=True):
                return histogram.span(0, place)
            case End.HIGHEST | Limit(high=False):
                return histogram.span(place, histogram.candidates - 1)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Drawn:
    """One column for each choice, of one value for each group; and one of spans, empty where a choice tells none."""

    values: tuple[tuple[Value, ...], ...]
    spans: tuple[tuple[Span, ...], ...]


def pure(choice: Choice, epsilon: Fraction, groups: int) -> Bought:
    """What a share of the price buys in the pure currency."""
    return Bought(choice, selection_for(epsilon / groups, choice.spread))


def concentrated(choice: Choice, rho: Fraction, groups: int) -> Bought:
    """What a share of the price buys in zCDP."""
    return Bought(choice, selection_within(rho / groups, choice.spread))


def drawn(
    keys: Sequence[Key],
    histograms: Mapping[Histogram, ExactHistogram],
    bought: Sequence[Bought],
    entropy: Entropy,
) -> Drawn:
    """A candidate for each choice, in every group.

    What is answered is in order; what a draw tells of a span is told by the draw itself.
    """
    places: list[list[int]] = [[0] * len(keys) for _ in bought]
    answered: list[list[int]] = [[0] * len(keys) for _ in bought]
    for histogram in dict.fromkeys(one.choice.histogram for one in bought):
        mine = [place for place, one in enumerate(bought) if one.choice.histogram == histogram]
        ordered = _Ordered([bought[place] for place in mine])
        found = histograms[histogram]
        for row, key in enumerate(keys):
            chosen = ordered.choose(_counts(found, key, histogram.candidates), entropy)
            for place, own, candidate in zip(mine, chosen, ordered.answered(chosen), strict=True):
                places[place][row] = own
                answered[place][row] = candidate
    return Drawn(
        tuple(
            tuple(one.choice.histogram.answer(place) for place in column)
            for one, column in zip(bought, answered, strict=True)
        ),
        tuple(
            tuple(span for place in column if (span := one.span(place)) is not None)
            for one, column in zip(bought, places, strict=True)
        ),
    )


class _Ordered:
    """The choices that read one histogram: quantiles in the order of their aims, frequent values one after the other."""

    def __init__(self, bought: Sequence[Bought]) -> None:
        self._bought = bought
        places = {
            one.choice.sought.place: at
            for at, one in enumerate(bought)
            if isinstance(one.choice.sought, Frequent)
        }
        # INVARIANT: a place is among those that all places before it have left, so these are all there
        if sorted(places) != list(range(1, len(places) + 1)):
            raise ValueError("a place without those before it")
        self._frequent = [places[place] for place in sorted(places)]
        self._ranked = [at for at in range(len(bought)) if at not in places.values()]
        self._questions = [bought[at].question for at in self._ranked]

    def choose(self, counts: NDArray[np.int64], entropy: Entropy) -> list[int]:
        """A candidate for each."""
        found = [0] * len(self._bought)
        if self._ranked:
            chosen = drawn_buckets(counts, self._questions, entropy)
            for at, bucket in zip(self._ranked, chosen, strict=True):
                found[at] = bucket
        left = np.arange(len(counts))
        for at in self._frequent:
            place = self._bought[at].selection.choose(counts[left], entropy)
            found[at] = int(left[place])
            left = np.delete(left, place)
        return found

    def answered(self, chosen: Sequence[int]) -> list[int]:
        """What was chosen, quantiles put into order."""
        answered = list(chosen)
        drawn = [chosen[at] for at in self._ranked]
        ordered = in_order([one.aim for one in self._questions], drawn)
        for at, bucket in zip(self._ranked, ordered, strict=True):
            answered[at] = bucket
        return answered


def _counts(found: ExactHistogram, key: Key, candidates: int) -> NDArray[np.int64]:
    counts = np.zeros(candidates, dtype=np.int64)
    there = found.counts.get(key)
    if there is not None:
        places, rows = there
        counts[list(places)] = rows
    return counts
