"""The visible loss of a total: how far its interval reaches beyond what noise alone explains, where weights take rows away.

Units with many rows count with less weight, so a count or a sum estimates the *weighted* total, and its interval is one
of that total. Where a histogram of norms speaks of the very rows and keys that are weighted, the share r of the rows that
weights take is known, up to noise. Then the interval is extended by it:

    upward        what a row adds is never below 0: the upper end by r/(1 - r) of itself
    downward      it is never above 0: the lower end, in the same way
    to both ends  it may be either

A sum of such totals is extended if all of them reach to one side: it is again a total of which no row adds anything to the
other side. Means, quotients, deviations and choices are never extended: less weight moves them to either side or not at all.

INVARIANT: all of this follows from the analysis of a query, and from a histogram that its subject was charged for.
The extension is an estimate of the rows that weights take on average over all groups: docs/proofs/clip_choice.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from gateway.columnar.intervals import IntervalEnds
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.sensitivity.formulas import Formula, Linear
from gateway.sensitivity.measurement import DistanceOrigin, Measurement, Rows, Total


class LossSide(Enum):
    """To which side of a weighted total the total without weights lies."""

    ABOVE = "above"
    BELOW = "below"
    EITHER = "either"


_TURNED = {LossSide.ABOVE: LossSide.BELOW, LossSide.BELOW: LossSide.ABOVE}


@dataclass(frozen=True, slots=True)
class VisibleLoss:
    """Weights take the `share` of the rows of a total, and with them what they add on this side."""

    share: float
    side: LossSide

    def extended(self, column: IntervalEnds) -> IntervalEnds:
        """The intervals, extended by the share."""
        times = self.share / (1 - self.share)
        low, high = column.low, column.high
        match self.side:
            case LossSide.ABOVE:
                high = high + times * np.maximum(high, 0)
            case LossSide.BELOW:
                low = low + times * np.minimum(low, 0)
            case LossSide.EITHER:
                low, high = low - times * np.abs(low), high + times * np.abs(high)
        return IntervalEnds(low, high, column.there & np.isfinite(low) & np.isfinite(high))


def formula_losses(
    formulas: Sequence[Formula], measurements: Sequence[Measurement], shares: Sequence[float]
) -> tuple[VisibleLoss | None, ...]:
    """The loss of each formula; `shares` says of each measurement which share of its rows weights take."""
    return tuple(_of_formula(one, measurements, shares) for one in formulas)


def form_loss(form: Form, losses: Sequence[VisibleLoss | None]) -> VisibleLoss | None:
    """The loss of what is computed from formulas with these; None where its interval is not extended."""
    match form:
        case AggregateRef(place):
            return losses[place] if losses else None
        case Times(NumberForm(number), of) | Times(of, NumberForm(number)):
            return _scaled(form_loss(of, losses), number)
        case Over(of, NumberForm(number)):
            return _scaled(form_loss(of, losses), number)
        case Plus(left, right):
            one, other = form_loss(left, losses), form_loss(right, losses)
            # what is lost of a difference may be far more than a share of it
            return one if one == other and one and one.side is not LossSide.EITHER else None
        case _:
            return None


def _scaled(loss: VisibleLoss | None, number: Fraction) -> VisibleLoss | None:
    if loss is None or not number:
        return None
    return loss if number > 0 else replace(loss, side=_TURNED.get(loss.side, loss.side))


def _of_formula(
    formula: Formula, measurements: Sequence[Measurement], shares: Sequence[float]
) -> VisibleLoss | None:
    if not isinstance(formula, Linear) or not formula.weights:
        return None
    lost = {shares[place] for place, _ in formula.weights}
    side = _side(formula, measurements)
    if side is None or len(lost) != 1 or not (share := lost.pop()):
        return None
    return VisibleLoss(share, side)


def _side(linear: Linear, measurements: Sequence[Measurement]) -> LossSide | None:
    """Where the rows of a count or a sum add something; None for other measurements, which no row adds to alone."""
    low = high = Fraction(0)
    totals: dict[object, tuple[Fraction, Fraction]] = {}
    for place, weight in linear.weights:
        one = measurements[place]
        each = weight * one.whole
        match one.quantity:
            case Rows():
                low, high = low + each, high + each
            case Total(value, lattice, where=where) as total:
                first, last = (each * away for away in _ends(total))
                key = (value, lattice, where)
                before = totals.get(key, (Fraction(0), Fraction(0)))
                totals[key] = (before[0] + first, before[1] + last)
            case _:
                return None
    # what a row adds is linear in its value, so it lies between what the two ends of the domain add
    low += sum(map(min, totals.values()), Fraction(0))
    high += sum(map(max, totals.values()), Fraction(0))
    if low >= 0:
        return LossSide.ABOVE
    return LossSide.BELOW if high <= 0 else LossSide.EITHER


def _ends(total: Total) -> Iterator[int]:
    """What a row of the lowest value adds to a total, and one of the highest."""
    lattice = total.lattice
    for number in (lattice.low, lattice.high):
        match total.origin:
            case DistanceOrigin.MIDDLE:
                yield number - lattice.middle
            case DistanceOrigin.LOW:
                yield number - lattice.low
            case DistanceOrigin.HIGH:
                yield lattice.high - number
