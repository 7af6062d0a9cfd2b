"""All that is known of a release before it runs: what is measured, how it is computed, which groups come back.

Depends on the plan, the declared domains and the policy's limits alone; never on data.
"""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.catalog.values import Value
from gateway.plan.aggregates import Aggregate
from gateway.sensitivity.choices import Choice, Histogram
from gateway.sensitivity.formulas import Formula
from gateway.sensitivity.group_weights import GroupWeights
from gateway.sensitivity.measurement import Measurement, Slot


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
