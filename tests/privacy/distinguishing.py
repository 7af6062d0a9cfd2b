"""Tell two databases apart by their answers, and say how sure one is: a lower bound of the privacy loss.

Answers become numbers: every released integer, whether its group is there, how many rows there are. One half
of the answers chooses an event ("this number is at least so much", "this group is there", "this weighted sum
of all numbers is at least so much"); the other half, which had no part in the choice, counts how often it
happens on each side. With p and q for its chances, epsilon is at least ln((p - delta) / q) for whoever claims
(epsilon, delta). Clopper and Pearson bound p from below and q from above, each wrong with a chance of alpha / 2.

INVARIANT: a gateway that keeps (epsilon, delta) is accused with a chance below alpha, whatever event was chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Feature: TypeAlias = tuple[object, ...]
Answers: TypeAlias = Sequence[Mapping[Feature, float]]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

ALPHA = 1e-9
_CHOOSING = 1e-2  # the bound that chooses is no claim, so it may be looser
_CUTS = np.linspace(0.01, 0.99, 33)


@dataclass(frozen=True)
class Loss:
    """What was found: epsilon is at least `epsilon`, by this event."""

    epsilon: float
    event: str


@dataclass(frozen=True)
class _Event:
    """A column of numbers, and where it is cut."""

    column: int
    above: bool
    cut: float

    def happens(self, columns: Floats) -> Bools:
        values = columns[:, self.column]
        return values >= self.cut if self.above else values <= self.cut


def loss(
    one: Answers, other: Answers, *, delta: float = 0.0, train: int, alpha: float = ALPHA
) -> Loss:
    """The larger of the two directions, each with half of alpha."""
    names = sorted({name for answer in (*one, *other) for name in answer}, key=repr)
    first, second = _numbers(one, names), _numbers(other, names)
    first, second = _with_sums(first, second, train)
    described = [*map(repr, names), *(f"there: {name!r}" for name in names), "rows", "weighted sum"]
    found = []
    for left, right in ((first, second), (second, first)):
        event = _chosen(left[:train], right[:train], delta)
        hits = [int(np.count_nonzero(event.happens(side[train:]))) for side in (left, right)]
        bound = _bound(hits, [len(left) - train, len(right) - train], alpha / 2, delta)
        sign = ">=" if event.above else "<="
        found.append(Loss(bound, f"{described[event.column]} {sign} {event.cut:g}: {hits}"))
    return max(found, key=lambda each: each.epsilon)


def _numbers(answers: Answers, names: Sequence[Feature]) -> Floats:
    """Values, then whether they are there, then how many; what is not there is no number, and no event."""
    values = np.full((len(answers), len(names)), np.nan)
    for place, answer in enumerate(answers):
        for column, name in enumerate(names):
            values[place, column] = answer.get(name, np.nan)
    there = (~np.isnan(values)).astype(np.float64)
    return np.hstack([values, there, there.sum(axis=1, keepdims=True)])


def _with_sums(one: Floats, other: Floats, train: int) -> tuple[Floats, Floats]:
    """With the sum that tells the sides apart best if all numbers are independent."""
    left, right = np.nan_to_num(one), np.nan_to_num(other)
    spread = left[:train].var(axis=0) + right[:train].var(axis=0)
    apart = left[:train].mean(axis=0) - right[:train].mean(axis=0)
    sure = np.abs(apart) > 2 * np.sqrt(spread / train)
    weights = np.where(sure & (spread > 0), apart / np.where(spread > 0, spread, 1), 0.0)
    return (
        np.hstack([one, (left @ weights)[:, None]]),
        np.hstack([other, (right @ weights)[:, None]]),
    )


def _chosen(left: Floats, right: Floats, delta: float) -> _Event:
    best, found = -inf, _Event(left.shape[1] - 1, above=True, cut=0.0)
    sizes = (len(left), len(right))
    for column in range(left.shape[1]):
        both = np.concatenate([left[:, column], right[:, column]])
        both = both[~np.isnan(both)]
        if not len(both):
            continue
        for cut in np.unique(np.quantile(both, _CUTS, method="nearest")):
            for above in (True, False):
                event = _Event(column, above=above, cut=float(cut))
                hits = [int(np.count_nonzero(event.happens(side))) for side in (left, right)]
                # a rough bound first: most events say nothing
                if hits[0] <= hits[1] * sizes[0] / sizes[1]:
                    continue
                bound = _bound(hits, sizes, _CHOOSING, delta)
                if bound > best:
                    best, found = bound, event
    return found


def _bound(hits: Sequence[int], sizes: Sequence[int], alpha: float, delta: float) -> float:
    """ln((p - delta) / q), with p as small and q as large as alpha allows."""
    often, seldom = hits
    p = float(beta.ppf(alpha / 2, often, sizes[0] - often + 1)) if often > 0 else 0.0
    q = float(beta.ppf(1 - alpha / 2, seldom + 1, sizes[1] - seldom)) if seldom < sizes[1] else 1.0
    return log((p - delta) / q) if p > delta else -inf
