"""The decision of the cache for one slot: use an entry, top it up, or measure anew.

An entry is good enough for a named price or accuracy if its noise is no wider than what that price would buy. At the
default price the analyst named no accuracy. Then an entry is good enough if it was bought at the default price or more;
if it is filtered or rolled up, its variance may be at most 16 times as large (4 times the margin).

An entry that is not exact enough is topped up if a price was named and the same groups were measured before: a second
measurement is made, and the two are combined by the inverse of their variances. In zCDP this costs the difference of the
prices. In the pure currency variances are 2·(Δ1/ε)², so squares of epsilons add up: it costs the least e with
e² ≥ ε_new² - ε_old², rounded up to a short fraction. Choices are no numbers and are never topped up; nor are groups
that were measured with their total, whose noises are not independent.

INVARIANT: only queries, policies, prices and noises decide; released values do not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final, TypeAlias

from gateway.budget.account import Currency
from gateway.noise.allocation import Distribution, slot_noise
from gateway.noise.combined_noise import variance_of
from gateway.noise.drawn_choices import pure_choice, zcdp_choice
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.matching import Match, MeasurementRequest, frequent_together, matches
from gateway.requests.request import CacheUse
from gateway.sensitivity.choices import Choice
from gateway.sensitivity.measurement import Slot
from gateway.units import Epsilon

WIDER: Final = 16
"""How much more variance is well enough at the default price."""
_NEARLY: Final = 1 + Fraction(1, 2**20)  # scales and weights are rounded: so much wider is not seen
_ABOVE: Final = 1 + Fraction(1, 2**40)  # the scale of what is bought is rounded up by less
_BITS: Final = 40


@dataclass(frozen=True, eq=False, slots=True)
class UseCached:
    """Use the cached value as it is."""

    match: Match


@dataclass(frozen=True, eq=False, slots=True)
class TopUp:
    """Measure once more at this cost, and combine the result with the cached value."""

    match: Match
    cost: Fraction


@dataclass(frozen=True, slots=True)
class Buy:
    """Measure anew for the whole share."""


Verdict: TypeAlias = UseCached | TopUp | Buy
BUY: Final = Buy()


@dataclass(frozen=True, slots=True)
class ReuseDecision:
    """The decision for each slot and each choice of a part."""

    slots: tuple[Verdict, ...]
    choices: tuple[Verdict, ...]


def decide_reuse(
    wanted: MeasurementRequest,
    entries: Iterable[CacheEntry],
    share: Fraction,
    default: Epsilon | None,
) -> ReuseDecision:
    """Decide for each slot and each choice. For `entries` see `matches`.

    `share` is the cost of each slot and choice, in the ledger's currency. `default` is the default price of a
    statement where none was asked for; None where a price or an accuracy was.
    """
    found = matches(wanted, entries)
    slots = tuple(
        decide_slot(wanted, slot, there, share, default)
        for slot, there in zip(wanted.analysis.slots, found.slots, strict=True)
    )
    choices = tuple(
        decide_choice(wanted, choice, there, share, default)
        for choice, there in zip(wanted.analysis.choices, found.choices, strict=True)
    )
    if not wanted.listed:
        return _all_of_one(ReuseDecision(slots, choices))
    return ReuseDecision(slots, _in_a_row(wanted, choices))


def decide_slot(
    wanted: MeasurementRequest,
    slot: Slot,
    found: Sequence[Match],
    share: Fraction,
    default: Epsilon | None,
) -> Verdict:
    """Decide for one slot; `found` are its matches, the best first."""
    fresh = _fresh_variance(wanted, slot, share)
    for one in found:
        if _good_enough(one, fresh / slot.most**2, default):
            return UseCached(one)
    same = next((one for one in found if one.how is CacheUse.SAME and one.entry.listed), None)
    if same is None or default is not None or slot.total:
        return BUY
    cost = _top_up(wanted, slot, same, share)
    return TopUp(same, cost) if 0 < cost < share else BUY


def decide_choice(
    wanted: MeasurementRequest,
    choice: Choice,
    found: Sequence[Match],
    share: Fraction,
    default: Epsilon | None,
) -> Verdict:
    """The same for a choice; its scale stands for the deviation."""
    buy = pure_choice if wanted.currency is Currency.PURE else zcdp_choice
    bought = buy(choice, share, wanted.analysis.choosing_groups)
    fresh = (bought.selection.scale / choice.spread) ** 2
    return next((UseCached(one) for one in found if _good_enough(one, fresh, default)), BUY)


def _good_enough(match: Match, fresh: Fraction, default: Epsilon | None) -> bool:
    if default is None:
        return match.variance <= fresh * _NEARLY
    if match.entry.asked_at < default:
        return False
    return match.how is CacheUse.SAME or match.variance <= fresh * WIDER


def _fresh_variance(wanted: MeasurementRequest, slot: Slot, share: Fraction) -> Fraction:
    pure = wanted.currency is Currency.PURE
    noise = Distribution.LAPLACE if pure else Distribution.GAUSSIAN
    return variance_of(slot_noise(wanted.analysis, slot, noise, share))


def _top_up(wanted: MeasurementRequest, slot: Slot, match: Match, share: Fraction) -> Fraction:
    """The cost of a second measurement that brings the cached noise down to that of a new one."""
    if wanted.currency is not Currency.PURE:
        return share - match.entry.slots[match.place].cost
    delta1 = slot.delta1(wanted.analysis.groups_per_unit)
    fresh = _fresh_variance(wanted, slot, share)
    there = max(map(variance_of, match.noises))
    return short_root(2 * delta1**2 * (1 / fresh - 1 / there) * _ABOVE)


def short_root(square: Fraction) -> Fraction:
    """The least number of 40 bits, times a power of two, of which the square is not below."""
    # with the power, the root has 40 bits before the point, or 39
    power = (square.numerator.bit_length() - square.denominator.bit_length()) // 2 - _BITS + 1
    grid = Fraction(4) ** power
    steps = -(-square // grid)
    return (isqrt(steps - 1) + 1) * Fraction(2) ** power


def _in_a_row(wanted: MeasurementRequest, choices: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Of what is drawn one after the other all is taken from one entry, or all is drawn anew."""
    made = list(choices)
    for several in frequent_together(wanted.analysis):
        if not _from_one([choices[place] for place in several]):
            for place in several:
                made[place] = BUY
    return tuple(made)


def _all_of_one(found: ReuseDecision) -> ReuseDecision:
    """Groups that were found in the data are those of one entry, or are looked for anew."""
    if _from_one([*found.slots, *found.choices]):
        return found
    return ReuseDecision(tuple(BUY for _ in found.slots), tuple(BUY for _ in found.choices))


def _from_one(verdicts: Sequence[Verdict]) -> bool:
    entries = {one.match.entry.release for one in verdicts if isinstance(one, UseCached)}
    return len(entries) == 1 and all(isinstance(one, UseCached) for one in verdicts)
