"""From the price of a statement to the noise of every measurement, and back.

The price is split in equal parts over the slots and the choices of all releases. A slot with two measurements (the
totals from both ends of a domain) pays once for both: what one unit moves is bounded for the two together.

INVARIANT: `cost_of`, computed from the noise that will be drawn, is never above the price that was charged,
and below it by less than a part in 2^40. The pipeline checks it before anything is drawn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from gateway.noise.chosen import Bought, concentrated, pure
from gateway.noise.mechanism import DiscreteLaplace, Mechanism, gaussian_for, laplace_for
from gateway.noise.threshold import threshold
from gateway.sensitivity.analysis import Analysis, Thresholded
from gateway.sensitivity.measurement import Slot


class Noise(Enum):
    """Which distribution a ledger's currency goes with."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True)
class Priced:
    """A release with the noise of each of its measurements, and with its choices as they were paid for.

    `shown_from` is the threshold, where there is one.
    """

    analysis: Analysis
    noises: tuple[Mechanism, ...]
    shown_from: int | None = None
    choices: tuple[Bought, ...] = ()


class Overspent(Exception):
    """A bug of ours: the noise costs more than was charged, or much less. Nothing may be drawn."""


def slots_of(analyses: Iterable[Analysis]) -> int:
    """Into how many parts the price is split."""
    return sum(len(one.slots) + len(one.choices) for one in analyses)


def priced(
    analyses: Sequence[Analysis], noise: Noise, price: Fraction, delta: Fraction
) -> tuple[Priced, ...]:
    """The noise that all of `price` buys; `delta` is split over the releases that have a threshold."""
    parts = slots_of(analyses)
    found = sum(isinstance(one.groups, Thresholded) for one in analyses)
    made = tuple(_one(each, noise, price / parts, delta / max(found, 1)) for each in analyses)
    _check(cost_of(made), price)
    return made


def unshown(analyses: Sequence[Analysis], noise: Noise, price: Fraction) -> tuple[Priced, ...]:
    """The same noise without thresholds, which do not change it: to try a price. Nothing is shown by it."""
    parts = slots_of(analyses)
    return tuple(_unshown(each, noise, price / parts) for each in analyses)


def cost_of(releases: Sequence[Priced]) -> Fraction:
    """What the noise costs, in the currency of its kind: recomputed from the noise alone."""
    return sum((cost for one in releases for cost in _costs(one)), Fraction(0))


def _one(analysis: Analysis, noise: Noise, share: Fraction, delta: Fraction) -> Priced:
    made = _unshown(analysis, noise, share)
    groups = analysis.groups
    if not isinstance(groups, Thresholded):
        return made
    counted = made.noises[groups.units]
    shown_from = threshold(counted, analysis.groups_per_unit, delta, groups.least)
    return replace(made, shown_from=max(shown_from, groups.least))


def _unshown(analysis: Analysis, noise: Noise, share: Fraction) -> Priced:
    if noise is Noise.LAPLACE and analysis.weights is not None and analysis.weights.squared:
        raise Overspent("weights that bound squares do not bound what Laplace's noise is for")
    noises: list[Mechanism] = []
    for slot in analysis.slots:
        made = _noise(slot, analysis.groups_per_unit, noise, share)
        noises += [made] * len(slot.measurements)
    buy = pure if noise is Noise.LAPLACE else concentrated
    choices = tuple(buy(one, share, analysis.groups_per_unit) for one in analysis.choices)
    return Priced(analysis, tuple(noises), None, choices)


def _noise(slot: Slot, groups: int, noise: Noise, share: Fraction) -> Mechanism:
    if noise is Noise.LAPLACE:
        return laplace_for(share, slot.delta1(groups))
    return gaussian_for(share, slot.delta2_squared(groups))


def _costs(release: Priced) -> Iterable[Fraction]:
    place, groups = 0, release.analysis.groups_per_unit
    for slot in release.analysis.slots:
        noise = release.noises[place]
        place += len(slot.measurements)
        if isinstance(noise, DiscreteLaplace):
            yield noise.epsilon_for(slot.delta1(groups))
        else:
            # a slot of several measurements bounds the sum of their moves, and so the sum of squares
            yield noise.rho_for(slot.delta2_squared(groups))
    for one in release.choices:
        yield one.cost(groups)


def _check(cost: Fraction, price: Fraction) -> None:
    if not price * (1 - Fraction(1, 2**40)) <= cost <= price:
        raise Overspent("the noise does not cost what was charged")
