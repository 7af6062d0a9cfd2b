"""Analysis of a release: its measurements and its groups.

An analysis is all that is known of a release before it runs: what is measured, how it is computed, which groups
come back. It depends on the plan, the declared domains and the policy's limits alone; never on data.

Where a unit may have several rows or groups, what it adds is multiplied by a weight (`clip.py`), and measurements are
in parts, `whole` of which are one row, or one unit. Formulas divide them out again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from gateway.catalog.values import Value
from gateway.plan.aggregates import Aggregate
from gateway.sensitivity.choices import Choice, Chosen, Histogram
from gateway.sensitivity.clip import Clips
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear, Quotient
from gateway.sensitivity.measurement import Measurement, Slot


def scale_formula(formula: Formula, wholes: Sequence[int]) -> Formula:
    """The formula over measurements in parts, by place: ends and means stay what they are."""
    match formula:
        case Linear():
            return _linear(formula, wholes)
        case Quotient(above, below, low, high, middle):
            return Quotient(_linear(above, wholes), _linear(below, wholes), low, high, middle)
        case CurveFormula():
            return replace(formula, parts=tuple(_linear(one, wholes) for one in formula.parts))
        case Chosen():  # a place has no parts
            return formula
        case _:
            assert_never(formula)


def _linear(linear: Linear, wholes: Sequence[int]) -> Linear:
    weights = tuple((place, weight / wholes[place]) for place, weight in linear.weights)
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
    a threshold, or the blanking of small groups, needs. With `clips` what a unit adds is weighted, in the histograms of
    `choices` too, and no row of it is cut; of different values so many as their slot says count, in each of G groups.
    Without them R and G are 1. With a `total` what adds up over groups is measured with its total (`Slot.total`).
    """

    plan: Aggregate
    rows: int
    groups_per_unit: int
    slots: tuple[Slot, ...]
    formulas: tuple[Formula, ...]
    groups: Groups
    clips: Clips | None = None
    choices: tuple[Choice, ...] = ()
    total: int = 0

    @property
    def least_count(self) -> int:
        """With which count of units, in its parts, groups are not too small: where that is asked at all."""
        groups = self.groups
        if groups.units is None:
            return 0
        return groups.least * self.measurements[groups.units].whole

    @property
    def choosing_groups(self) -> int:
        """How many times a unit pays for one choice in every group: with weights all of its groups cost one price."""
        return self.groups_per_unit if self.clips is None else 1

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(one for slot in self.slots for one in slot.measurements)

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """What the choices read, each once."""
        return tuple(dict.fromkeys(one.histogram for one in self.choices))
