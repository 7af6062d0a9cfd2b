"""Choices and their draws: for every released group, one place of a histogram per choice.

INVARIANT: of the counts, only a chosen place is released. It is drawn here by the selection that was charged,
once for every released group. A group that the source did not find has a histogram of zeros and is drawn for
like any other.
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
from gateway.noise.exponential import Choice as Selecting
from gateway.noise.exponential import PureSelection, selection_for, selection_within
from gateway.noise.quantile import (
    RankQuestion,
    draw_buckets,
    order_buckets,
    parts_beside,
    rank_error,
    rank_from_end,
)
from gateway.sensitivity.choices import BinnedRows, Choice, End, Frequent, Histogram, Limit, Lowest

Key = tuple[Value | None, ...]
Span: TypeAlias = tuple[Fraction, Fraction]
_LIMIT: Final = Fraction(5, 100)


@dataclass(frozen=True, slots=True)
class PricedChoice:
    """A choice in every group, and the selection mechanism that its share of the price pays for."""

    choice: Choice
    selection: Selecting

    def cost(self, groups: int) -> Fraction:
        """The cost in the currency of the selection: a unit pays for so many groups in full, or for less in more."""
        spread = self.choice.spread
        if isinstance(self.selection, PureSelection):
            return groups * self.selection.eta_for(spread)
        return groups * self.selection.rho_for(spread)

    @property
    def away(self) -> int:
        """The distance between the aim and the wanted rank, in parts of a rank, so that a draw rarely lies on
        its wrong side.

        "Rarely" is in 5 of 100 draws for the smallest and the largest value, and in half of that for each end
        of an interval.
        """
        many = self.choice.histogram.candidates
        match self.choice.sought:
            case End():
                return int(rank_from_end(self.selection, many, _LIMIT) * Lowest.per_rank)
            case Limit(of, high):
                row = self.choice.whole
                return parts_beside(self.selection, of, many, _LIMIT / 2, above=high, row=row)
            case _:
                return 0

    @property
    def question(self) -> RankQuestion:
        """The rank that the draw aims at."""
        return RankQuestion(self.choice.aim(self.away), self.selection)

    @property
    def rank_error(self) -> int:
        """The largest distance, in ranks or rows, between 95 of 100 answers and the wanted rank.

        The ends are aimed at from a little inside; that distance is included. Of weighted counts a row is one that
        counts in full.
        """
        many, whole = self.choice.histogram.candidates, self.choice.whole
        if isinstance(self.choice.sought, Frequent):
            return ceil(Fraction(max(self.selection.shortfall(many, _LIMIT) - 1, 0), whole))
        question = self.question
        inside = Fraction(self.away, question.aim.per_rank)
        return ceil((inside + rank_error(question, many, _LIMIT)) / whole)

    def span(self, place: int) -> Span | None:
        """An interval on one side of the drawn value that contains the wanted value in 95 of 100 draws, or in
        97.5.

        INVARIANT: it is computed from the drawn place and the candidates alone. There is none for a quantile
        itself, for the most frequent value, and for dates, because an interval is one of numbers.
        """
        histogram = self.choice.histogram
        if not isinstance(histogram, BinnedRows):
            return None
        match self.choice.sought:
            case End.LOWEST | Limit(high=True):
                return histogram.span(0, place)
            case End.HIGHEST | Limit(high=False):
                return histogram.span(place, histogram.candidates - 1)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class DrawnChoices:
    """For each choice, a column with one value per group, and a column of spans, which is empty where a choice
    has none.
    """

    values: tuple[tuple[Value, ...], ...]
    spans: tuple[tuple[Span, ...], ...]


def pure_choice(choice: Choice, epsilon: Fraction, groups: int) -> PricedChoice:
    """The mechanism that a share of the price pays for, in pure epsilon."""
    return PricedChoice(choice, selection_for(epsilon / groups, choice.spread))


def zcdp_choice(choice: Choice, rho: Fraction, groups: int) -> PricedChoice:
    """The mechanism that a share of the price pays for, in zCDP."""
    return PricedChoice(choice, selection_within(rho / groups, choice.spread))


def draw_choices(
    keys: Sequence[Key],
    histograms: Mapping[Histogram, ExactHistogram],
    bought: Sequence[PricedChoice],
    entropy: Entropy,
) -> DrawnChoices:
    """A candidate for each choice, in every group.

    Released quantiles are put in order; spans are computed from the draws themselves.
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
    return DrawnChoices(
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
    """The choices that read one histogram: quantiles in the order of their aims, frequent values one after
    another.
    """

    def __init__(self, bought: Sequence[PricedChoice]) -> None:
        self._bought = bought
        places = {
            one.choice.sought.place: at
            for at, one in enumerate(bought)
            if isinstance(one.choice.sought, Frequent)
        }
        # INVARIANT: each place is drawn from the candidates that all places before it have left, so these exist
        if sorted(places) != list(range(1, len(places) + 1)):
            raise ValueError("a place without those before it")
        self._frequent = [places[place] for place in sorted(places)]
        self._ranked = [at for at in range(len(bought)) if at not in places.values()]
        self._questions = [bought[at].question for at in self._ranked]

    def choose(self, counts: NDArray[np.int64], entropy: Entropy) -> list[int]:
        """A candidate for each choice."""
        found = [0] * len(self._bought)
        if self._ranked:
            chosen = draw_buckets(counts, self._questions, entropy)
            for at, bucket in zip(self._ranked, chosen, strict=True):
                found[at] = bucket
        left = np.arange(len(counts))
        for at in self._frequent:
            place = self._bought[at].selection.choose(counts[left], entropy)
            found[at] = int(left[place])
            left = np.delete(left, place)
        return found

    def answered(self, chosen: Sequence[int]) -> list[int]:
        """The released places: the chosen ones, with quantiles in order."""
        answered = list(chosen)
        drawn = [chosen[at] for at in self._ranked]
        ordered = order_buckets([one.aim for one in self._questions], drawn)
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
