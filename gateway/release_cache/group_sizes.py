"""Group sizes for the auditor: how many units one slot of a measurement shows in each group.

A slot is a size only if it counts whole regions: all units, all rows, or the values of a column that no row lacks. A
condition in an aggregate, `COUNT(CASE …)`, COUNT with FILTER or of a nullable column count fewer rows than the region has,
and are no sizes.

INVARIANT: a size is noisy by the deviation that comes with it, and without that noise it is not above the region's size.
`whole` is set only if every unit counts as exactly 1, so only if its weight is 1: without keys, or if its keys are the same
in all of its rows; and, if rows were counted, where a unit has one row and nothing is weighted.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from gateway.catalog.types import Family
from gateway.noise.combined_noise import AnyNoise, variance_of
from gateway.overlap.history import MOST_UNITS
from gateway.release_cache.assemble import PlannedMeasurement
from gateway.release_cache.entry import Content
from gateway.release_cache.events import ContentStored
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.grouping_sets import constant_per_unit
from gateway.sensitivity.measurement import DistanceOrigin, Rows, Slot, Total, Units

MOST_COUNTED: Final = 4_000  # the days of ten years
"""In how many groups the sizes are kept for the auditor."""
# no value of these is made NULL at the scan where the source has one
_ALWAYS_THERE: Final = frozenset({Family.WHOLE, Family.DATE, Family.BOOLEAN})


@dataclass(frozen=True, order=True)
class Counting:
    """The slot that counts, and how far one unit moves it at most; the smallest is the best."""

    from_below: bool
    slot: int
    most: int


def counting_of(analysis: Analysis) -> Counting | None:
    """The slot that counts the units of each group; None if there is none."""
    once = not analysis.plan.keys or constant_per_unit(analysis.plan)
    found = (_counting(place, slot, analysis, once) for place, slot in enumerate(analysis.slots))
    return min((one for one in found if one is not None), default=None)


def _counting(place: int, slot: Slot, analysis: Analysis, once: bool) -> Counting | None:  # noqa: FBT001
    alone = once and analysis.clips is None
    match [one.quantity for one in slot.measurements]:
        case [Units(None)]:
            return Counting(not once, place, slot.most)
        case [Rows((), None)]:
            return Counting(not alone, place, slot.most)
        case [
            Total(value, lattice, DistanceOrigin.LOW, None),
            Total(other, _, DistanceOrigin.HIGH, None),
        ]:
            # each row adds the width of the domain to their sum
            there = not value.nullable and value.type.family in _ALWAYS_THERE
            if value != other or not lattice.width or not there:
                return None
            return Counting(not alone, place, slot.most)
        case _:
            return None


def stored_sizes(release: str, measurement: PlannedMeasurement, content: Content) -> ContentStored:
    """The event that the content is stored, with the number of units in each group as far as a slot shows it.

    Without it where nothing was counted, the groups are too many or were found in the data, or all that there is is noise.
    """
    unknown, purchase = ContentStored(release, None), measurement.purchase
    if purchase is None or not isinstance(purchase.analysis.groups, EnumeratedGroups):
        return unknown
    if len(content.keys) > MOST_COUNTED:
        return unknown
    analysis = purchase.analysis
    counting = counting_of(analysis)
    if counting is None:
        return unknown
    first = sum(len(slot.measurements) for slot in analysis.slots[: counting.slot])
    last = first + len(analysis.slots[counting.slot].measurements)
    summed = map(sum, zip(*content.columns[first:last], strict=True))
    units = tuple(count // counting.most for count in summed)
    if max(map(abs, units), default=0) > MOST_UNITS:
        return unknown
    variance = _variance(purchase.noises[first:last]) / counting.most**2
    return ContentStored(release, units, counting.slot, variance, whole=not counting.from_below)


def _variance(noises: tuple[AnyNoise, ...]) -> Fraction:
    return sum(map(variance_of, noises), Fraction(0))
