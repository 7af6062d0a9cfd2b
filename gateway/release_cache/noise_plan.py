"""The noise of every part of a query: measured, cached, or both combined.

INVARIANT: the noise of what is measured costs what is charged. Nothing is drawn here.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from gateway.noise.allocation import CostShares, ReleaseNoise
from gateway.noise.combined_noise import AnyNoise, combine_draws
from gateway.noise.drawn_choices import PricedChoice
from gateway.pricing.price import by_release, delta_of_each, purchases
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry
from gateway.release_cache.matching import Match
from gateway.release_cache.query_plan import PlannedPart, QueryPlan, ReuseContext
from gateway.sensitivity.analysis import ThresholdGroups
from gateway.sensitivity.choices import Choice


def plan_noise(plan: QueryPlan, touched: tuple[str, ...] | None) -> tuple[PlannedRelease, ...]:
    """What there is to do, release by release; `touched` are the cells that what is bought is confined to."""
    context, whole, cost = plan.context, plan.bought, plan.cost
    query = context.query
    bought = purchases(query, plan.shares, cost)
    measurements = []
    for part, purchase in zip(plan.parts, bought, strict=True):
        costs = part.shares.part(cost / whole) if whole else part.shares
        made = _Making(part, purchase, costs)
        entry = None
        if purchase is not None:
            delta = delta_of_each(query) if _is_hidden(part) else Fraction(0)
            entry = made.entry(context, touched, delta)
        measurements.append(
            PlannedMeasurement(
                part.name, made.whole, purchase, costs, part.slots, part.choices, entry
            )
        )
    waiting = iter(measurements)
    return tuple(
        PlannedRelease(priced, tuple(next(waiting) for _ in priced.parts))
        for priced in by_release(query, [one.whole for one in measurements])
    )


def _is_hidden(part: PlannedPart) -> bool:
    return isinstance(part.analysis.groups, ThresholdGroups)


class _Making:
    """One part: its noises, from those that are bought and those that are there."""

    def __init__(self, part: PlannedPart, purchase: ReleaseNoise | None, costs: CostShares) -> None:
        self._part = part
        self._costs = costs
        self._purchase = purchase
        noises = iter(() if purchase is None else purchase.noises)
        self._slots = [
            _together(len(slot.measurements), match, noises if cost is not None else iter(()))
            for slot, match, cost in zip(part.analysis.slots, part.slots, costs.slots, strict=True)
        ]
        bought = iter(() if purchase is None else purchase.choices)
        self._choices = [
            _chosen(choice, match) if match is not None else next(bought)
            for choice, match in zip(part.analysis.choices, part.choices, strict=True)
        ]

    @property
    def whole(self) -> ReleaseNoise:
        shown_from = None if self._purchase is None else self._purchase.shown_from
        noises = tuple(noise for slot in self._slots for noise in slot)
        return ReleaseNoise(self._part.analysis, noises, shown_from, tuple(self._choices))

    def entry(
        self, context: ReuseContext, touched: tuple[str, ...] | None, delta: Fraction
    ) -> CacheEntry:
        """What is written down of the purchase."""
        wanted, costs = self._part.wanted, self._costs
        slots = [
            CachedSlot(digest, noises, cost + _before(match), slot.most)
            for digest, slot, noises, cost, match in zip(
                wanted.slots,
                wanted.analysis.slots,
                self._slots,
                costs.slots,
                self._part.slots,
                strict=True,
            )
            if cost is not None
        ]
        choices = [
            CachedChoice(digest, one.selection, cost)
            for digest, one, cost in zip(wanted.choices, self._choices, costs.choices, strict=True)
            if cost is not None
        ]
        return CacheEntry(
            release=self._part.name,
            query_id=context.query.question.query_id,
            at=context.now,
            epoch=context.basis.seen.epoch,
            scope=wanted.scope,
            bounding=wanted.bounding,
            additive=wanted.additive,
            plain=wanted.plain,
            listed=wanted.listed,
            slots=tuple(slots),
            choices=tuple(choices),
            asked_at=context.price,
            delta=delta,
            touched=self._touched(touched),
            extra_scopes=self._part.extra_scopes,
        )

    def _touched(self, touched: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """INVARIANT: a later recipient is charged for everything that went into it, where that was charged.

        What is topped up may have been charged in other cells than what is bought now: then it counts for everybody.
        """
        before = {
            match.entry.touched
            for match, cost in zip(self._part.slots, self._costs.slots, strict=True)
            if match is not None and cost is not None
        }
        return touched if before <= {touched} else None


def _together(width: int, match: Match | None, bought: Iterator[AnyNoise]) -> tuple[AnyNoise, ...]:
    """Of one slot: what is there, what is bought, or both in one."""
    new = list(islice(bought, width))
    if match is None:
        return tuple(new)
    if not new:
        return match.noises
    return tuple(
        combine_draws((), old, (), one)[1] for old, one in zip(match.noises, new, strict=True)
    )


def _chosen(choice: Choice, match: Match) -> PricedChoice:
    """A choice that was bought before, as it is."""
    return PricedChoice(choice, match.entry.choices[match.place].selection)


def _before(match: Match | None) -> Fraction:
    """What was given for a slot that is topped up."""
    return Fraction(0) if match is None else match.entry.slots[match.place].cost
