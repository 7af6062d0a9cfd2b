"""From what is known of a release to what engines render: every rewrite, in order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from gateway.bounding.bound_joins import bound_joins
from gateway.bounding.bounded import BoundedRelease
from gateway.bounding.complete_window_order import complete_window_order
from gateway.bounding.drop_unused import drop_unused, read_by
from gateway.bounding.fold_moments import fold_moments, folded
from gateway.bounding.licences import Licences, ProvenTable
from gateway.bounding.replacing import in_histogram, in_quantity, of_histogram, of_quantity
from gateway.bounding.work_bound import check_bounded_work
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.rebuilding import with_columns
from gateway.plan.scalars import Scalar
from gateway.sensitivity.analysis import Analysis, Enumerated, Thresholded


@dataclass(frozen=True, slots=True)
class Around:
    """What rewrites may know besides the plan; `wanted` are the columns that the release reads."""

    now: datetime
    licences: Licences
    wanted: frozenset[str]


Rule: TypeAlias = Callable[[Node, Around], Node]

RULES: Final[tuple[Rule, ...]] = (
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
        scalars += of_quantity(one.quantity)
    for histogram in analysis.histograms:
        scalars += of_histogram(histogram)
    rows = plan.child
    for rule in RULES:
        rows = rule(rows, Around(now, licences, read_by(scalars)))
    check_bounded_work(plan, rows)
    there = {one.id: one for one in rows.fields}

    def again(scalar: Scalar) -> Scalar:
        return with_columns(folded(scalar, now), there)

    by_unit = analysis.rows != 1 or not licences.unit_has_one_row(rows)
    return BoundedRelease(
        rows=rows,
        keys=tuple(again(key) for _, key in plan.keys),
        measurements=tuple(
            replace(one, quantity=in_quantity(one.quantity, again)) for one in analysis.measurements
        ),
        rows_per_unit=analysis.rows,
        by_unit=by_unit,
        groups_per_unit=_cap(analysis) if by_unit else None,
        least_units=analysis.groups.least if isinstance(analysis.groups, Thresholded) else None,
        weights=analysis.weights,
        histograms=tuple(in_histogram(one, again) for one in analysis.histograms),
    )


def _cap(analysis: Analysis) -> int | None:
    """G, where a unit can be in more groups than that."""
    if not analysis.plan.keys:
        return None
    groups = analysis.groups
    if isinstance(groups, Enumerated) and len(groups.keys) <= analysis.groups_per_unit:
        return None
    return analysis.groups_per_unit
