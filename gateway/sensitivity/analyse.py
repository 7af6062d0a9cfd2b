"""From a plan to all that is known of its release before it runs."""

from gateway.errors import Code, UnsupportedSql
from gateway.plan.grouping import Aggregate
from gateway.plan.labels import Protected
from gateway.plan.node import BrokenPlan
from gateway.sensitivity.analysis import Analysis, Groups, Thresholded
from gateway.sensitivity.keys import enumerated, groups_per_unit
from gateway.sensitivity.measurement import Rows, Units
from gateway.sensitivity.measuring import Measuring
from gateway.sensitivity.relations import inside
from gateway.sensitivity.unbounded import check_operands

_LEAST_UNITS = 2  # what one unit alone has is never shown, however lucky its noise


def analyse(plan: Aggregate, *, pairs: bool, enumerated_groups: int, min_units: int) -> Analysis:
    """What is measured, and which groups come back; or the refusal.

    `pairs`: noise is Laplace's. `enumerated_groups` is the most groups that are listed. Groups that are found
    in the data need `min_units` units.
    """
    label = plan.child.label
    if not isinstance(label, Protected) or label.rows is None:
        raise BrokenPlan("a release of what nothing bounds")
    if plan.sets != (tuple(range(len(plan.keys))),):
        raise UnsupportedSql(
            Code.NOT_ANSWERED_YET, "several grouping sets", "ask for each grouping by itself"
        )
    check_operands(plan)
    columns = inside(plan, narrowed=True)
    measuring = Measuring(columns, label.rows, pairs=pairs)
    formulas = measuring.formulas([one for _, one in plan.measures])
    listed = enumerated(plan, columns, enumerated_groups)
    groups: Groups = listed or Thresholded(
        _units(measuring, label.rows), max(_LEAST_UNITS, min_units)
    )
    return Analysis(
        plan, label.rows, groups_per_unit(plan, listed), measuring.slots, formulas, groups
    )


def _units(measuring: Measuring, rows: int) -> int:
    """The place of the count of units: one that was asked, or one of its own."""
    if (asked := measuring.place_of(Units())) is not None:
        return asked
    if rows == 1 and (counted := measuring.place_of(Rows())) is not None:
        return counted
    return measuring.measure(Units(), 1)
