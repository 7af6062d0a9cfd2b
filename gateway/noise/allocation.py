"""Allocation of a statement's price to its measurements, the threshold of their groups, and the price computed back.

The price is split in equal parts over the slots and the choices of all releases. A slot with two measurements (the
totals from both ends of a domain) pays once, because the effect of one unit is bounded for the two together.

Groups that are measured with their total are one vector with one price: `Slot.delta2_squared` bounds both together, and
the total has `Slot.total` times the variance of a group. docs/proofs/levels.md.

The threshold τ on the noisy unit count of a group is computed from that count's own noise distribution. Groups
with fewer than `floor` units are dropped in SQL. One unit more or less is in at most `groups_per_unit` groups, and
of those only a group with floor - 1 other units appears or disappears with it: it then has `floor` units, and is
released when floor + X ≥ threshold. In all other groups the noise alone protects the unit. So the threshold is
floor + k, with the smallest k for which

groups_per_unit · P(X ≥ k) ≤ delta.

A count that is weighted is in parts, `whole` of which are one unit, and no unit adds more than that. So the group
that appears has a count of at most `floor` units, and `floor` is in parts in the formula above.

INVARIANT: `cost_of`, computed from the noise that will be drawn, is never above the charged price, and below it by
less than a part in 2^40. The pipeline checks this before it draws anything.
INVARIANT: a unit adds no more to the count that is compared than to the count by which SQL drops groups, and X is
this mechanism's noise. The threshold is proven, never estimated: see `tail_bounds` and docs/proofs/noise.md. A
caller may raise it, never lower it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from gateway.noise.combined_noise import AnyNoise
from gateway.noise.drawn_choices import PricedChoice, pure_choice, zcdp_choice
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import (
    DiscreteLaplace,
    Mechanism,
    gaussian_for,
    laplace_for,
)
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.measurement import Slot

FLOOR = 2
Drawn: TypeAlias = Mechanism | FittedNoise
"""What is drawn for a measurement: the noise of each group, or that of all groups and of their total."""


def threshold(
    mechanism: Mechanism, groups_per_unit: int, delta: Fraction, floor: int = FLOOR
) -> int:
    """The smallest noisy count of units with which a group is released."""
    if groups_per_unit < 1:
        raise ValueError("a unit is in at least one group")
    if floor < 1:
        raise ValueError("a group that is shown has at least one unit")
    if not 0 < delta < 1:
        raise ValueError("a delta for thresholds is between 0 and 1")
    return floor + mechanism.reach(delta / groups_per_unit)


class Distribution(Enum):
    """The distribution of the noise: Laplace for the currency `pure`, Gaussian for `zcdp`."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True)
class ReleaseNoise:
    """A release with the noise of each measurement, and with its choices at their price.

    `shown_from` is the threshold, where there is one, in the parts of the count of units. If a release was assembled with cached measurements, its
    noise may be a sum or a mixture; such noise is never drawn.
    """

    analysis: Analysis
    noises: tuple[AnyNoise, ...]
    shown_from: int | None = None
    choices: tuple[PricedChoice, ...] = ()

    @property
    def shown_units(self) -> int | None:
        """About how many units a group needs to be shown, where there is a threshold."""
        groups = self.analysis.groups
        if self.shown_from is None or groups.units is None:
            return None
        return -(-self.shown_from // self.analysis.measurements[groups.units].whole)

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """The mechanisms to draw from and to charge for; an internal error if a measurement was already drawn."""
        found = tuple(one for one in self.noises if isinstance(one, Drawn))
        if len(found) != len(self.noises):
            raise PriceExceeded("noise that was drawn before is drawn again")
        return found


@dataclass(frozen=True, slots=True)
class CostShares:
    """Cost of each slot and each choice of a release. None marks a cached one, for which nothing is drawn."""

    slots: tuple[Fraction | None, ...]
    choices: tuple[Fraction | None, ...]

    @property
    def cost(self) -> Fraction:
        return sum((one for one in (*self.slots, *self.choices) if one is not None), Fraction(0))

    def bought(self, analysis: Analysis) -> Analysis | None:
        """The part of the release that is measured; the formulas stay with the whole release."""
        slots = tuple(
            one for one, cost in zip(analysis.slots, self.slots, strict=True) if cost is not None
        )
        choices = tuple(
            one
            for one, cost in zip(analysis.choices, self.choices, strict=True)
            if cost is not None
        )
        if (slots, choices) == (analysis.slots, analysis.choices):
            return analysis
        if not slots and not choices:
            return None
        if isinstance(analysis.groups, ThresholdGroups):
            raise PriceExceeded("a part of what is measured in groups that are found in the data")
        return replace(analysis, slots=slots, choices=choices, formulas=())

    def part(self, of: Fraction) -> "CostShares":
        """The same in another unit, of which `of` is one: from shares of a whole to amounts, or back."""
        return CostShares(
            tuple(None if one is None else one * of for one in self.slots),
            tuple(None if one is None else one * of for one in self.choices),
        )


class PriceExceeded(Exception):
    """Internal error: the noise costs more than was charged, or much less. Nothing may be drawn."""


def slots_of(analyses: Iterable[Analysis]) -> int:
    """The number of parts that the price is split into."""
    return sum(len(one.slots) + len(one.choices) for one in analyses)


def price_noise(
    analyses: Sequence[Analysis], noise: Distribution, price: Fraction, delta: Fraction
) -> tuple[ReleaseNoise, ...]:
    """The noise that the whole `price` pays for. `delta` is split over the releases that have a threshold."""
    parts = slots_of(analyses)
    found = sum(isinstance(one.groups, ThresholdGroups) for one in analyses)
    made = tuple(_one(each, noise, price / parts, delta / max(found, 1)) for each in analyses)
    _check(cost_of(made), price)
    return made


def purchase_noise(
    analyses: Sequence[Analysis],
    costs: Sequence[CostShares],
    noise: Distribution,
    price: Fraction,
    delta: Fraction,
) -> tuple[ReleaseNoise | None, ...]:
    """The noise of the measured parts of each release at these costs, which sum to `price`; None if all parts
    are cached.
    """
    found = [one.bought(each) for each, one in zip(analyses, costs, strict=True)]
    hidden = sum(one is not None and isinstance(one.groups, ThresholdGroups) for one in found)
    made = tuple(
        None if one is None else _thresholded(_at(one, noise, cost), delta / max(hidden, 1))
        for one, cost in zip(found, costs, strict=True)
    )
    _check(cost_of([one for one in made if one is not None]), price)
    return made


def noise_without_thresholds(
    analyses: Sequence[Analysis], noise: Distribution, price: Fraction
) -> tuple[ReleaseNoise, ...]:
    """The same noise without thresholds, which do not change it. It is used to try a price; nothing is released
    with it.
    """
    parts = slots_of(analyses)
    return tuple(_at(each, noise, _equal(each, price / parts)) for each in analyses)


def cost_of(releases: Sequence[ReleaseNoise]) -> Fraction:
    """The cost of the noise in its currency, recomputed from the noise alone."""
    return sum((cost for one in releases for cost in _costs(one)), Fraction(0))


def _one(analysis: Analysis, noise: Distribution, share: Fraction, delta: Fraction) -> ReleaseNoise:
    return _thresholded(_at(analysis, noise, _equal(analysis, share)), delta)


def _equal(analysis: Analysis, share: Fraction) -> CostShares:
    return CostShares((share,) * len(analysis.slots), (share,) * len(analysis.choices))


def _thresholded(made: ReleaseNoise, delta: Fraction) -> ReleaseNoise:
    analysis, groups = made.analysis, made.analysis.groups
    if not isinstance(groups, ThresholdGroups):
        return made
    counted, least = made.drawn[groups.units], analysis.least_count
    if isinstance(counted, FittedNoise):
        raise PriceExceeded("a total of groups that are found in the data")
    shown_from = threshold(counted, analysis.groups_per_unit, delta, least)
    return replace(made, shown_from=max(shown_from, least))


def _at(analysis: Analysis, noise: Distribution, costs: CostShares) -> ReleaseNoise:
    """The measured part of a release at these costs."""
    if noise is Distribution.LAPLACE and analysis.clips is not None and analysis.clips.rows.squares:
        raise PriceExceeded("weights that bound squares do not bound what Laplace's noise is for")
    noises: list[Drawn] = []
    paid = [one for one in costs.slots if one is not None]
    for slot, share in zip(analysis.slots, paid, strict=True):
        made = slot_noise(analysis, slot, noise, share)
        noises += [made] * len(slot.measurements)
    buy = pure_choice if noise is Distribution.LAPLACE else zcdp_choice
    shares = [one for one in costs.choices if one is not None]
    choices = tuple(
        buy(one, share, analysis.choosing_groups)
        for one, share in zip(analysis.choices, shares, strict=True)
    )
    return ReleaseNoise(analysis, tuple(noises), None, choices)


def slot_noise(analysis: Analysis, slot: Slot, noise: Distribution, share: Fraction) -> Drawn:
    """The noise of a slot for this share of the price."""
    groups, listed = analysis.groups_per_unit, analysis.groups
    if noise is Distribution.LAPLACE:
        return laplace_for(share, slot.delta1(groups))
    of_cells = gaussian_for(share, slot.delta2_squared(groups))
    if not slot.total:
        return of_cells
    if not isinstance(listed, EnumeratedGroups):
        raise PriceExceeded("a total of groups that are found in the data")
    return FittedNoise(of_cells, slot.total, len(listed.keys))


def _costs(release: ReleaseNoise) -> Iterable[Fraction]:
    noises = release.drawn
    place, groups = 0, release.analysis.groups_per_unit
    for slot in release.analysis.slots:
        noise = noises[place]
        place += len(slot.measurements)
        if isinstance(noise, DiscreteLaplace):
            yield noise.epsilon_for(slot.delta1(groups))
        elif isinstance(noise, FittedNoise):
            yield noise.rho_for(slot.delta2_squared(groups), slot.total)
        else:
            # a slot of several measurements bounds the sum of their changes, and so the sum of squares
            yield noise.rho_for(slot.delta2_squared(groups))
    for one in release.choices:
        yield one.cost(release.analysis.choosing_groups)


def _check(cost: Fraction, price: Fraction) -> None:
    if not price * (1 - Fraction(1, 2**40)) <= cost <= price:
        raise PriceExceeded("the noise does not cost what was charged")
