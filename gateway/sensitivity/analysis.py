"""Analysis of a release: its measurements and groups, and the weights of units in many groups.

An analysis is all that is known of a release before it runs: what is measured, how it is computed, which groups
come back. It depends on the plan, the declared domains and the policy's limits alone; never on data.

A unit in more than G of the groups that are listed counts in all of them, in each by less. What it adds to a group
is multiplied by a whole number that its own k groups decide: 2^f while k is at most G, then `floor(2^f * G / k)`
where noise is Laplace's, `isqrt(floor(4^f * G / k))` where it is Gaussian. So all that is measured is in 2^f-ths:
`whole` of them are one row, or one unit.

INVARIANT: weights never grow with k, and for every k > G either k·w ≤ G·2^f (Laplace) or k·w² ≤ G·4^f (Gaussian):
in the sum of all moves, or of their squares, a unit comes to no more than G groups do. docs/proofs/sensitivity.md.
"""

from dataclasses import dataclass, replace
from math import isqrt
from typing import Final, TypeAlias, assert_never

from gateway.catalog.values import Value
from gateway.plan.aggregates import Aggregate, Measure
from gateway.sensitivity.choices import Choice, Chosen, Histogram
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear, Quotient
from gateway.sensitivity.measurement import Measurement, Slot

BITS: Final = 16  # f: `lattice_of` leaves room for so many


@dataclass(frozen=True, slots=True)
class GroupWeights:
    """Of units in 1, 2, … groups. `groups` is G, `listed` how many groups are listed, which is more.

    `squared`: what one unit moves is bounded in the sum of squares, else in the sum.
    """

    groups: int
    listed: int
    squared: bool

    @property
    def whole(self) -> int:
        """The weight of a unit in at most G groups."""
        return 2**BITS

    def of(self, groups: int) -> int:
        """The weight of a unit in so many groups."""
        if groups <= self.groups:
            return self.whole
        if self.squared:
            return isqrt(4**BITS * self.groups // groups)
        return 2**BITS * self.groups // groups

    @property
    def lowered(self) -> tuple[int, ...]:
        """Of units in G + 1, G + 2, … groups, up to all that are listed.

        More are of groups that are not listed and come to nothing: the last weight holds for them, too.
        """
        return tuple(self.of(many) for many in range(self.groups + 1, self.listed + 1))


def can_be_weighted(measure: Measure) -> bool:
    """Whether contributions of units add up: kept values, multiplied, are no count of different ones."""
    return not measure.distinct or measure.counts_units


def scale_slot(slot: Slot, whole: int) -> Slot:
    """The same measurements, in parts of which `whole` are one."""
    each = tuple(Measurement(one.quantity, one.most * whole) for one in slot.measurements)
    return Slot(each, slot.most * whole)


def scale_formula(formula: Formula, whole: int) -> Formula:
    """The formula over such measurements: ends and means stay what they are."""
    match formula:
        case Linear():
            return _linear(formula, whole)
        case Quotient(above, below, low, high, middle):
            return Quotient(_linear(above, whole), _linear(below, whole), low, high, middle)
        case CurveFormula():
            return replace(formula, parts=tuple(_linear(one, whole) for one in formula.parts))
        case Chosen():  # weights are for what is added up
            return formula
        case _:
            assert_never(formula)


def _linear(linear: Linear, whole: int) -> Linear:
    weights = tuple((place, weight / whole) for place, weight in linear.weights)
    return Linear(weights, linear.least)


@dataclass(frozen=True, slots=True)
class EnumeratedGroups:
    """The groups are known before anything is read: every one comes back, the empty ones too.

    `keys` has one tuple of values for each group, sorted; None is NULL. Without keys it is one empty tuple.
    `units` is the place of the count of units where the aggregates of small groups are to be blanked: of those
    in which the noisy count is below `least`.
    """

    keys: tuple[tuple[Value | None, ...], ...]
    units: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class ThresholdGroups:
    """Groups are found in the data: those of fewer than `least` units are dropped where they lie, the others
    come back when their noisy count of units reaches a threshold. `units` is the place of that count.
    """

    units: int
    least: int


Groups: TypeAlias = EnumeratedGroups | ThresholdGroups


@dataclass(frozen=True, slots=True)
class Analysis:
    """One release. `rows` is R, `groups_per_unit` is G (1 where a unit can be in one group alone).

    `formulas` go with the plan's measures, one by one; the last slot may be the hidden count of units that
    a threshold, or the blanking of small groups, needs. With `weights` what is measured is in parts, `whole` of
    which are one; slots and formulas speak of these parts. Without them a unit is cut to G of its groups, and so it is
    in the histograms of `choices` in any case.
    """

    plan: Aggregate
    rows: int
    groups_per_unit: int
    slots: tuple[Slot, ...]
    formulas: tuple[Formula, ...]
    groups: Groups
    weights: GroupWeights | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def whole(self) -> int:
        """How many parts of what is measured are one row, or one unit."""
        return 1 if self.weights is None else self.weights.whole

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(one for slot in self.slots for one in slot.measurements)

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """What the choices read, each once."""
        return tuple(dict.fromkeys(one.histogram for one in self.choices))
