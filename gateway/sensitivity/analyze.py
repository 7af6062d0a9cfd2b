"""From a plan to all that is known of its release before it runs."""

from dataclasses import replace

from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected
from gateway.plan.node import BrokenPlan
from gateway.ranges.relations import inner_columns
from gateway.sensitivity.aggregates import MeasurementBuilder
from gateway.sensitivity.analysis import (
    Analysis,
    EnumeratedGroups,
    Groups,
    GroupWeights,
    ThresholdGroups,
    can_be_weighted,
    scale_formula,
    scale_slot,
)
from gateway.sensitivity.choice_aggregates import CHOSEN, ChoiceBuilder
from gateway.sensitivity.formulas import Formula
from gateway.sensitivity.grouping_sets import constant_per_unit, enumerate_groups, groups_per_unit
from gateway.sensitivity.measurement import Rows, Units
from gateway.sensitivity.summands import check_operands

_LEAST_UNITS = 2  # what one unit alone has is never shown, however lucky its noise


def analyze_release(
    plan: Aggregate,
    *,
    pairs: bool,
    enumerated_groups: int,
    min_units: int,
    suppress_small: bool = False,
) -> Analysis:
    """What is measured, and which groups come back; or the refusal. `plan` has one grouping set: see `rolled`.

    `pairs`: noise is Laplace's. `enumerated_groups` is the most groups that are listed. Groups that are found
    in the data need `min_units` units; with `suppress_small` those that are listed are counted, too, so that
    the aggregates of small ones can be blanked.
    """
    label = plan.child.label
    if not isinstance(label, Protected) or label.rows is None:
        raise BrokenPlan("a release of what nothing bounds")
    if plan.sets != (tuple(range(len(plan.keys))),):
        raise BrokenPlan("several grouping sets, which are analysed one by one")
    check_operands(plan)
    columns = inner_columns(plan, narrowed=True)
    measuring = MeasurementBuilder(columns, label.rows, pairs=pairs)
    listed = enumerate_groups(plan, columns, enumerated_groups)
    choosing = ChoiceBuilder(columns, label.rows, listed)
    formulas = _formulas(plan, measuring, choosing)
    groups: Groups
    if listed is None:
        groups = ThresholdGroups(_units(measuring, label.rows), max(_LEAST_UNITS, min_units))
    elif suppress_small and plan.measures:  # without aggregates there is nothing to blank
        groups = replace(listed, units=_units(measuring, label.rows), least=min_units)
    else:
        groups = listed
    most = groups_per_unit(plan, listed)
    weights = _weights(plan, most, listed, pairs=pairs)
    if weights is None:
        return Analysis(
            plan, label.rows, most, measuring.slots, formulas, groups, choices=choosing.choices
        )
    whole = weights.whole
    slots = tuple(scale_slot(one, whole) for one in measuring.slots)
    formulas = tuple(scale_formula(one, whole) for one in formulas)
    return Analysis(plan, label.rows, most, slots, formulas, groups, weights, choosing.choices)


def _formulas(
    plan: Aggregate, measuring: MeasurementBuilder, choosing: ChoiceBuilder
) -> tuple[Formula, ...]:
    """One for each aggregate: those that are no choice are measured together, so that they share counts."""
    measures = [one for _, one in plan.measures]
    measured = iter(measuring.formulas([one for one in measures if one.function not in CHOSEN]))
    return tuple(
        choosing.formula(one) if one.function in CHOSEN else next(measured) for one in measures
    )


def _weights(
    plan: Aggregate, most: int, listed: EnumeratedGroups | None, *, pairs: bool
) -> GroupWeights | None:
    """Where groups are listed and a unit may be in more than it counts in."""
    if listed is None or len(listed.keys) <= most or constant_per_unit(plan):
        return None
    if not all(can_be_weighted(one) for _, one in plan.measures):
        return None
    return GroupWeights(most, len(listed.keys), squared=not pairs)


def _units(measuring: MeasurementBuilder, rows: int) -> int:
    """The place of the count of units: one that was asked, or one of its own."""
    if (asked := measuring.place_of(Units())) is not None:
        return asked
    if rows == 1 and (counted := measuring.place_of(Rows())) is not None:
        return counted
    return measuring.measure(Units(), 1)
