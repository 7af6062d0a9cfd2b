"""Tell two databases apart by their answers, and say how sure one is: a lower bound of the privacy loss.

Answers become numbers: every cell, whether its group is there, how many rows there are. The first answers, the
pilot, choose an event ("this number is at least so much", "this group is there", "this weighted sum of all
numbers is at least so much"); the others, which had no part in the choice, count how often it happens on each
side. Clopper and Pearson bound its chance p on one side from below and its chance q on the other from above,
each wrong with a chance of alpha / 4 in each of the two directions; what p and q prove stands in `claims`.

INVARIANT: a gateway that keeps its claim is accused with a chance below alpha, whatever event was chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from privacy.claims import Claim, Floats
from scipy.stats import beta

Feature: TypeAlias = tuple[object, ...]
Answers: TypeAlias = Sequence[Mapping[Feature, float]]
Bools: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[np.int64]

ALPHA = 1e-9
_CHOOSING = 1e-2  # the bound that chooses is no claim, so it may be looser
_CUTS = np.linspace(0.01, 0.99, 33)


@dataclass(frozen=True)
class Loss:
    """What was found: the claimed amount is at least `proven`, by this event.

    `epsilon` is ln((p - delta) / q) of the same event, for comparison where the claim is another.
    """

    proven: float
    claimed: float
    epsilon: float
    event: str

    @property
    def accused(self) -> bool:
        """Whether more was given away than claimed; a part in 10^9 is how a claim is rounded when told."""
        return self.proven > self.claimed * (1 + 1e-9)


@dataclass(frozen=True)
class _Event:
    """A column of numbers, and where it is cut."""

    column: int
    above: bool
    cut: float

    def happens(self, columns: Floats) -> Bools:
        values = columns[:, self.column]
        return values >= self.cut if self.above else values <= self.cut


def loss(one: Answers, other: Answers, claim: Claim, *, pilot: int, alpha: float = ALPHA) -> Loss:
    """The larger of the two directions, each with half of alpha."""
    names = sorted({name for answer in (*one, *other) for name in answer}, key=repr)
    first, second = _numbers(one, names), _numbers(other, names)
    first, second = _with_sums(first, second, pilot)
    described = [*map(repr, names), *(f"there: {name!r}" for name in names), "rows", "weighted sum"]
    found = []
    for left, right in ((first, second), (second, first)):
        event = _chosen(left[:pilot], right[:pilot], claim)
        hits = [int(np.count_nonzero(event.happens(side[pilot:]))) for side in (left, right)]
        sign = ">=" if event.above else "<="
        told = f"{described[event.column]} {sign} {event.cut:g}: {hits}"
        sizes = (len(left) - pilot, len(right) - pilot)
        found.append(proven(claim, hits, sizes, alpha / 2, told))
    return max(found, key=lambda each: each.proven)


def proven(
    claim: Claim, hits: Sequence[int], sizes: Sequence[int], alpha: float, event: str = ""
) -> Loss:
    """What so many hits of one event prove, with a chance of at most alpha to be wrong."""
    p, q = counted_bounds(np.array(hits[:1]), np.array(hits[1:]), sizes, alpha)
    epsilon = log((p[0] - claim.delta) / q[0]) if p[0] > claim.delta else 0.0
    return Loss(float(claim.proven(p, q)[0]), claim.amount, max(epsilon, 0.0), event)


def _numbers(answers: Answers, names: Sequence[Feature]) -> Floats:
    """Values, then whether they are there, then how many; what is not there is no number, and no event."""
    values = np.full((len(answers), len(names)), np.nan)
    places = {name: place for place, name in enumerate(names)}
    for row, answer in enumerate(answers):
        for name, value in answer.items():
            values[row, places[name]] = value
    there = (~np.isnan(values)).astype(np.float64)
    return np.hstack([values, there, there.sum(axis=1, keepdims=True)])


def _with_sums(one: Floats, other: Floats, pilot: int) -> tuple[Floats, Floats]:
    """With the sum that tells the sides apart best if all numbers are independent."""
    left, right = np.nan_to_num(one), np.nan_to_num(other)
    spread = left[:pilot].var(axis=0) + right[:pilot].var(axis=0)
    apart = left[:pilot].mean(axis=0) - right[:pilot].mean(axis=0)
    sure = np.abs(apart) > 2 * np.sqrt(spread / pilot)
    weights = np.where(sure & (spread > 0), apart / np.where(spread > 0, spread, 1), 0.0)
    return (
        np.hstack([one, (left @ weights)[:, None]]),
        np.hstack([other, (right @ weights)[:, None]]),
    )


def _chosen(left: Floats, right: Floats, claim: Claim) -> _Event:
    """The event that proves most in the pilot."""
    events: list[_Event] = []
    hits: list[tuple[int, int]] = []
    for column in range(left.shape[1]):
        both = np.concatenate([left[:, column], right[:, column]])
        both = both[~np.isnan(both)]
        if not len(both):
            continue
        cuts = np.unique(np.quantile(both, _CUTS, method="nearest"))
        for above in (True, False):
            for cut, often, seldom in zip(
                cuts,
                *(_hits(side[:, column], cuts, above=above) for side in (left, right)),
                strict=True,
            ):
                events.append(_Event(column, above=above, cut=float(cut)))
                hits.append((int(often), int(seldom)))
    counted = np.array(hits)
    p, q = counted_bounds(counted[:, 0], counted[:, 1], (len(left), len(right)), _CHOOSING)
    found = claim.proven(p, q)
    # where nothing is proven, the event that comes nearest to it
    best = np.argmax(np.where(found > 0, found, p - q - 1))
    return events[int(best)]


def _hits(values: Floats, cuts: Floats, *, above: bool) -> Counts:
    happens = values[:, None] >= cuts if above else values[:, None] <= cuts
    counted: Counts = np.count_nonzero(happens, axis=0).astype(np.int64)
    return counted


def counted_bounds(
    often: Counts, seldom: Counts, sizes: Sequence[int], alpha: float
) -> tuple[Floats, Floats]:
    """P as small and q as large as alpha allows: Clopper and Pearson, each with half of it."""
    with np.errstate(invalid="ignore"):
        low = beta.ppf(alpha / 2, often, sizes[0] - often + 1)
        high = beta.ppf(1 - alpha / 2, seldom + 1, sizes[1] - seldom)
    return np.where(often > 0, low, 0.0), np.where(seldom < sizes[1], high, 1.0)
