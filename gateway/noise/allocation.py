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

from gateway.noise.combined_noise import AnyNoise
from gateway.noise.drawn_choices import Bought, concentrated, pure
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

    `shown_from` is the threshold, where there is one. Of what is handed on together with earlier releases, the noise
    may have been added up or mixed; such is never drawn for.
    """

    analysis: Analysis
    noises: tuple[AnyNoise, ...]
    shown_from: int | None = None
    choices: tuple[Bought, ...] = ()

    @property
    def drawn(self) -> tuple[Mechanism, ...]:
        """The noises as they are drawn and paid for; a bug of ours where one was drawn before."""
        found = tuple(one for one in self.noises if isinstance(one, Mechanism))
        if len(found) != len(self.noises):
            raise Overspent("noise that was drawn before is drawn again")
        return found


@dataclass(frozen=True, slots=True)
class Shares:
    """What each slot and each choice of a release costs; None where it is there already, and nothing is drawn."""

    slots: tuple[Fraction | None, ...]
    choices: tuple[Fraction | None, ...]

    @property
    def cost(self) -> Fraction:
        return sum((one for one in (*self.slots, *self.choices) if one is not None), Fraction(0))

    def bought(self, analysis: Analysis) -> Analysis | None:
        """What of the release is measured; its formulas stay with the whole."""
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
        if isinstance(analysis.groups, Thresholded):
            raise Overspent("a part of what is measured in groups that are found in the data")
        return replace(analysis, slots=slots, choices=choices, formulas=())

    def part(self, of: Fraction) -> "Shares":
        """The same where one is `of`: from shares of a whole to amounts, or back."""
        return Shares(
            tuple(None if one is None else one * of for one in self.slots),
            tuple(None if one is None else one * of for one in self.choices),
        )


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


def purchased(
    analyses: Sequence[Analysis],
    costs: Sequence[Shares],
    noise: Noise,
    price: Fraction,
    delta: Fraction,
) -> tuple[Priced | None, ...]:
    """The noise of what is bought of each release, at these costs, which come to `price`; None of what is all there."""
    found = [one.bought(each) for each, one in zip(analyses, costs, strict=True)]
    hidden = sum(one is not None and isinstance(one.groups, Thresholded) for one in found)
    made = tuple(
        None if one is None else _thresholded(_at(one, noise, cost), delta / max(hidden, 1))
        for one, cost in zip(found, costs, strict=True)
    )
    _check(cost_of([one for one in made if one is not None]), price)
    return made


def unshown(analyses: Sequence[Analysis], noise: Noise, price: Fraction) -> tuple[Priced, ...]:
    """The same noise without thresholds, which do not change it: to try a price. Nothing is shown by it."""
    parts = slots_of(analyses)
    return tuple(_at(each, noise, _equal(each, price / parts)) for each in analyses)


def cost_of(releases: Sequence[Priced]) -> Fraction:
    """What the noise costs, in the currency of its kind: recomputed from the noise alone."""
    return sum((cost for one in releases for cost in _costs(one)), Fraction(0))


def _one(analysis: Analysis, noise: Noise, share: Fraction, delta: Fraction) -> Priced:
    return _thresholded(_at(analysis, noise, _equal(analysis, share)), delta)


def _equal(analysis: Analysis, share: Fraction) -> Shares:
    return Shares((share,) * len(analysis.slots), (share,) * len(analysis.choices))


def _thresholded(made: Priced, delta: Fraction) -> Priced:
    analysis, groups = made.analysis, made.analysis.groups
    if not isinstance(groups, Thresholded):
        return made
    counted = made.drawn[groups.units]
    shown_from = threshold(counted, analysis.groups_per_unit, delta, groups.least)
    return replace(made, shown_from=max(shown_from, groups.least))


def _at(analysis: Analysis, noise: Noise, costs: Shares) -> Priced:
    """What is bought of a release, at these costs."""
    if noise is Noise.LAPLACE and analysis.weights is not None and analysis.weights.squared:
        raise Overspent("weights that bound squares do not bound what Laplace's noise is for")
    noises: list[Mechanism] = []
    paid = [one for one in costs.slots if one is not None]
    for slot, share in zip(analysis.slots, paid, strict=True):
        made = _noise(slot, analysis.groups_per_unit, noise, share)
        noises += [made] * len(slot.measurements)
    buy = pure if noise is Noise.LAPLACE else concentrated
    shares = [one for one in costs.choices if one is not None]
    choices = tuple(
        buy(one, share, analysis.groups_per_unit)
        for one, share in zip(analysis.choices, shares, strict=True)
    )
    return Priced(analysis, tuple(noises), None, choices)


def _noise(slot: Slot, groups: int, noise: Noise, share: Fraction) -> Mechanism:
    if noise is Noise.LAPLACE:
        return laplace_for(share, slot.delta1(groups))
    return gaussian_for(share, slot.delta2_squared(groups))


def _costs(release: Priced) -> Iterable[Fraction]:
    noises = release.drawn
    place, groups = 0, release.analysis.groups_per_unit
    for slot in release.analysis.slots:
        noise = noises[place]
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
