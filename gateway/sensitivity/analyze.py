"""From a plan to all that is known of its release before it runs."""

from dataclasses import replace
from typing import Final

from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected
from gateway.plan.node import BrokenPlan
from gateway.ranges.relations import inner_columns
from gateway.sensitivity.aggregates import MeasurementBuilder
from gateway.sensitivity.analysis import (
    Analysis,
    EnumeratedGroups,
    Groups,
    ThresholdGroups,
    scale_formula,
)
from gateway.sensitivity.choice_aggregates import CHOSEN, ChoiceBuilder
from gateway.sensitivity.clip import (
    DECLARED_CLIP,
    Clip,
    ClipRule,
    Clips,
    clip_choice,
    clip_slot,
    total_of,
    units_clip,
    weight_bits,
)
from gateway.sensitivity.formulas import Formula
from gateway.sensitivity.grouping_sets import constant_per_unit, enumerate_groups, groups_per_unit
from gateway.sensitivity.measurement import Different, Rows, Slot, Units
from gateway.sensitivity.summands import check_operands

_LEAST_UNITS: Final = 2  # what one unit alone has is never shown, however lucky its noise


def analyze_release(  # noqa: PLR0913 - a plan, and all that a policy and a question say of it
    plan: Aggregate,
    *,
    pairs: bool,
    enumerated_groups: int,
    min_units: int,
    suppress_small: bool = False,
    clip: ClipRule = DECLARED_CLIP,
    total: bool = False,
) -> Analysis:
    """What is measured, and which groups come back; or the refusal. `plan` has one grouping set: see `rolled`.

    `pairs`: noise is Laplace's. `enumerated_groups` is the most groups that are listed. Groups that are found
    in the data need `min_units` units; with `suppress_small` those that are listed are counted, too, so that
    the aggregates of small ones can be blanked. `clip` says up to which norm the rows of a unit count in full.
    `total`: the total of all groups is asked too, and is measured with them where that gains enough.
    """
    label = plan.child.label
    if not isinstance(label, Protected) or label.usual_rows is None:
        raise BrokenPlan("a release of what nothing bounds")
    rows = label.usual_rows
    if plan.sets != (tuple(range(len(plan.keys))),):
        raise BrokenPlan("several grouping sets, which are analysed one by one")
    check_operands(plan)
    columns = inner_columns(plan, narrowed=True)
    listed = enumerate_groups(plan, columns, enumerated_groups)
    most = groups_per_unit(plan, listed)
    clipped = label.rows != 1 or most != 1
    # INVARIANT: where nothing bounds the rows of a unit, what it adds is weighted, and nothing is cut to these rows
    values = label.values if label.rows is None else min(label.values, rows)
    measuring = MeasurementBuilder(columns, values, pairs=pairs)
    choosing = ChoiceBuilder(columns, rows, listed)
    formulas = _formulas(plan, measuring, choosing)
    groups: Groups
    if listed is None:
        units = _units(measuring, clipped=clipped)
        groups = ThresholdGroups(units, max(_LEAST_UNITS, min_units))
    elif suppress_small and plan.measures:  # without aggregates there is nothing to blank
        groups = replace(listed, units=_units(measuring, clipped=clipped), least=min_units)
    else:
        groups = listed
    # INVARIANT: Gaussian noise alone: a total would take more of Laplace's price than it gains. docs/proofs/levels.md
    ratio = total_of(len(listed.keys), most) if total and not pairs and listed is not None else 0
    made = Analysis(
        plan,
        rows,
        most,
        measuring.slots,
        formulas,
        groups,
        choices=choosing.choices,
        total=0 if choosing.choices else ratio,  # the weights of choices are those of groups alone
    )
    if not clipped:
        slots = tuple(replace(one, total=_total(one, made)) for one in made.slots)
        return replace(made, slots=slots)
    clip_of_rows = clip.of_rows(rows, most, squares=not pairs)
    return _clipped(made, clip_of_rows, most if clip.square is None else None)


def _total(slot: Slot, analysis: Analysis) -> int:
    """The multiple of what adds up over groups; 0 of counts of different values, and of units that may be in several groups."""
    first = slot.measurements[0].quantity
    if isinstance(first, Different):
        return 0
    if isinstance(first, Units) and not constant_per_unit(analysis.plan):
        return 0
    return analysis.total


def _clipped(analysis: Analysis, rows: Clip, declared: int | None) -> Analysis:
    """The analysis with weights: `slots` said what one row moves, or one unit. Choices are from weighted counts.

    Counts of units in so many groups as are `declared` are not weighed down; None: the clip of rows holds for units too.
    """
    own, clips = _families(analysis, rows, declared)
    slots = tuple(clip_slot(one, clips.rows, own) for one in analysis.slots)
    wholes = [one.whole for slot in slots for one in slot.measurements]
    formulas = tuple(scale_formula(one, wholes) for one in analysis.formulas)
    choices = tuple(clip_choice(one, clips.rows) for one in analysis.choices)
    return replace(analysis, slots=slots, formulas=formulas, clips=clips, choices=choices)


def _families(analysis: Analysis, rows: Clip, declared: int | None) -> tuple[Clip, Clips]:
    """The clip of counts of units, and both families; there it is None where it weighs nobody down."""
    groups, most = analysis.groups, analysis.groups_per_unit
    there = len(groups.keys) if isinstance(groups, EnumeratedGroups) else most
    # where a unit is declared to be in one group, that is its norm; whoever is in more weighs less
    own = units_clip(rows, declared or (1 if most == 1 else max(there, 1)))
    own = own.with_total(analysis.total if constant_per_unit(analysis.plan) else 0)
    return own, Clips(rows.with_total(analysis.total), own if own.lowers(there) else None)


def clips_under(analysis: Analysis, square: int) -> Clips:
    """The clips that this weighted analysis would have if c² were chosen to be `square`."""
    if analysis.clips is None:
        raise BrokenPlan("clips of what has no weights")
    rows = Clip(square, analysis.clips.rows.squares, weight_bits(square))
    return _families(analysis, rows, None)[1]


def _formulas(
    plan: Aggregate, measuring: MeasurementBuilder, choosing: ChoiceBuilder
) -> tuple[Formula, ...]:
    """One for each aggregate: those that are no choice are measured together, so that they share counts."""
    measures = [one for _, one in plan.measures]
    measured = iter(measuring.formulas([one for one in measures if one.function not in CHOSEN]))
    return tuple(
        choosing.formula(one) if one.function in CHOSEN else next(measured) for one in measures
    )


def _units(measuring: MeasurementBuilder, *, clipped: bool) -> int:
    """The place of the count of units: one that was asked, or one of its own."""
    if (asked := measuring.place_of(Units())) is not None:
        return asked
    if not clipped and (counted := measuring.place_of(Rows())) is not None:
        return counted  # a unit has one row
    return measuring.measure(Units(), 1)
