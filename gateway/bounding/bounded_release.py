"""A release whose exact answer one unit cannot move by more than its analysis says: what engines render.

    rows      every row of persons, with its unit, domains enforced, every expression total
    by unit   for each unit and group: n and s of every measurement
    capped    where groups are found in the data: at most G groups of a unit
    weighted  where a unit may have several rows or groups: times the weight that its norm leaves it; else cut to one
    summed    for each group: the sums over its units

INVARIANT: an engine renders what stands here and adds nothing; every clamp, guard and cut that the calculus
asks for is in these values.

From what is known of a release to what engines render: every rewrite, in order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from gateway.bounding.bound_joins import bound_joins
from gateway.bounding.licences import Licences, ProvenTable, require_unit_paths
from gateway.bounding.rewrites import complete_window_order
from gateway.bounding.time_zone import fold_moments, fold_scalar
from gateway.bounding.work_bound import check_bounded_work
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.rewrite import replace_columns
from gateway.plan.scalars import Scalar, column_ids
from gateway.plan.unused_columns import drop_unused
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.choices import Histogram, histogram_scalars, map_histogram
from gateway.sensitivity.clip import Clips
from gateway.sensitivity.measurement import Measurement, map_quantity, scalars_of


@dataclass(frozen=True, slots=True)
class BoundedRelease:
    """`rows` are protected rows over enforced scans; `keys` are canonical expressions over their columns.

    `rows_per_unit` is R. `by_unit` is false only where a constraint of the source proves that a unit has
    one row at most in `rows`: nothing has to be cut, and every weight is 1. `groups_per_unit` is G where a unit
    has to be cut to G groups, None where it cannot be in more. `least_units` drops groups with fewer
    units where they lie; None where all groups are enumerated. With `clips` what a unit adds is multiplied by its
    weights, over the first `weighted_groups` of its groups, or over all of them. Different values are counted in G
    groups of a unit in any case, as many in each as the measurement moves it; `histograms` are asked for one by one,
    each over the same rows, weighted or cut as the measurements are.
    """

    rows: Node
    keys: tuple[Scalar, ...]
    measurements: tuple[Measurement, ...]
    rows_per_unit: int
    by_unit: bool
    groups_per_unit: int | None
    least_units: int | None
    clips: Clips | None = None
    weighted_groups: int | None = None
    histograms: tuple[Histogram, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseContext:
    """What rewrites may know besides the plan; `wanted` are the columns that the release reads."""

    now: datetime
    licences: Licences
    wanted: frozenset[str]


Rule: TypeAlias = Callable[[Node, ReleaseContext], Node]

RULES: Final[tuple[Rule, ...]] = (
    lambda plan, around: require_unit_paths(plan, around.licences),
    lambda plan, around: fold_moments(plan, around.now),
    lambda plan, around: bound_joins(plan, around.licences),
    # unused columns go first: an order is completed by what is left
    lambda plan, around: drop_unused(plan, around.wanted),
    lambda plan, _: complete_window_order(plan),
)


def bound_release(
    analysis: Analysis, *, now: datetime, proven: Mapping[str, ProvenTable]
) -> BoundedRelease:
    """The release with everything that the calculus asks of an engine."""
    plan = analysis.plan
    if plan.sets != (tuple(range(len(plan.keys))),):
        raise BrokenPlan("several grouping sets in one release")
    licences = Licences(proven)
    scalars = [key for _, key in plan.keys]
    for one in analysis.measurements:
        scalars += scalars_of(one.quantity)
    for histogram in analysis.histograms:
        scalars += histogram_scalars(histogram)
    rows = plan.child
    around = ReleaseContext(now, licences, column_ids(*scalars))
    for rule in RULES:
        rows = rule(rows, around)
    check_bounded_work(plan, rows)
    there = {one.id: one for one in rows.fields}

    def again(scalar: Scalar) -> Scalar:
        return replace_columns(fold_scalar(scalar, now), there)

    by_unit = not licences.unit_has_one_row(rows)
    found = isinstance(analysis.groups, ThresholdGroups)
    most = _cap(analysis) if by_unit else None
    return BoundedRelease(
        rows=rows,
        keys=tuple(again(key) for _, key in plan.keys),
        measurements=tuple(
            replace(one, quantity=map_quantity(one.quantity, again))
            for one in analysis.measurements
        ),
        rows_per_unit=analysis.rows,
        by_unit=by_unit,
        groups_per_unit=most,
        least_units=analysis.groups.least if isinstance(analysis.groups, ThresholdGroups) else None,
        clips=analysis.clips,
        weighted_groups=most if found else None,
        histograms=tuple(map_histogram(one, again) for one in analysis.histograms),
    )


def _cap(analysis: Analysis) -> int | None:
    """G, where a unit can be in more groups than that."""
    if not analysis.plan.keys:
        return None
    groups = analysis.groups
    if isinstance(groups, EnumeratedGroups) and len(groups.keys) <= analysis.groups_per_unit:
        return None
    return analysis.groups_per_unit
