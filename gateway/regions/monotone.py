"""Solver for comparisons of a monotone expression of one column with a constant.

INVARIANT: the result is exact. An expression is solved only if its value is the same on every source, it is
NULL exactly where the column is, and the bound does not split a cell; otherwise there is no result.
"""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from gateway.catalog.types import Family, Kind
from gateway.catalog.values import Value
from gateway.functions.calendar import DAY, Civil, days_from
from gateway.functions.exact_values import NotComputed, exact_number
from gateway.functions.table import function_of
from gateway.functions.thresholds import Threshold, Unsolved
from gateway.plan.fields import Field
from gateway.plan.scalars import Call, Cast, Ref, Scalar, Shift
from gateway.ranges.enumerate import evaluate_at
from gateway.regions.axis import FIRST, LAST, RegionAxis
from gateway.regions.cells import Cells, StepCells, intersection, union
from gateway.regions.grid import clamp_cell, grid_of, is_distinct, value_at

_CALENDAR: Final = (days_from(Civil(2, 1, 1)) * DAY, days_from(Civil(9998, 12, 31)) * DAY)
_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})


def solve_comparison(
    scalar: Scalar, field: Field, axis: RegionAxis, operator: str, bound: Value
) -> Cells:
    """The cells in which the expression over the column is `operator` the bound; NULL is not among them."""
    given = _bound(scalar, bound)
    _check(scalar, field, axis)
    if operator == "=":
        low = _solve(scalar, Threshold(">=", given), axis)
        return intersection(low, _solve(scalar, Threshold("<=", given), axis))
    if operator == "<>":
        low = _solve(scalar, Threshold("<", given), axis)
        return union(low, _solve(scalar, Threshold(">", given), axis))
    return _solve(scalar, Threshold(operator, given), axis)


def _bound(scalar: Scalar, bound: Value) -> Fraction:
    """The constant in the unit of the expression: days for a date, microseconds for a timestamp."""
    found = exact_number(bound)
    if found is None:
        raise Unsolved
    if scalar.type.family is Family.DATE and isinstance(bound, datetime):
        return found / DAY
    if scalar.type.family is Family.TIMESTAMP and not isinstance(bound, datetime):
        return found * DAY
    return found


def _check(scalar: Scalar, field: Field, axis: RegionAxis) -> None:
    """Require that no value of the column makes the expression NULL. It is monotone, so both ends suffice."""
    if not _can_fail(scalar):
        return
    if axis.low is None or axis.high is None:
        raise Unsolved
    for end in (axis.low, axis.high):
        value = value_at(end, field.type)
        if isinstance(scalar, Shift):
            _check_shift(scalar, field, value)
            continue
        try:
            found = evaluate_at(scalar, Ref(field), value)
        except NotComputed as error:
            raise Unsolved from error
        if found is None:
            raise Unsolved


def _check_shift(shift: Shift, field: Field, value: Value) -> None:
    try:
        found = evaluate_at(shift.moved, Ref(field), value)
    except NotComputed as error:
        raise Unsolved from error
    there = None if found is None else exact_number(found)
    if there is None:
        raise Unsolved
    if shift.moved.type.family is Family.DATE:
        there *= DAY
    moved = there + shift.days * DAY + shift.microseconds
    if not _CALENDAR[0] <= moved <= _CALENDAR[1]:
        raise Unsolved


def _can_fail(scalar: Scalar) -> bool:
    """Whether the expression is NULL for some values of its type."""
    match scalar:
        case Ref():
            return False
        case Call():
            monotone = function_of(scalar).monotone
            place = None if monotone is None else monotone.null_with(scalar)
            return place is None or _can_fail(scalar.parts[place])
        case Cast(what) if what.type.family in _TIMES:
            return _can_fail(what)
        case _:
            return True


def _solve(scalar: Scalar, test: Threshold, axis: RegionAxis) -> Cells:
    match scalar:
        case Ref(field):
            return _cells(field, test, axis)
        case Cast():
            return _solve(scalar.what, _through_cast(scalar, test), axis)
        case Shift(months=0):
            return _solve_shift(scalar, test, axis)
        case Call():
            return _solve_call(scalar, test, axis)
        case _:
            raise Unsolved


def _cells(field: Field, test: Threshold, axis: RegionAxis) -> Cells:
    grid = grid_of(field.type)
    if grid is None or not is_distinct(test.bound, field.type):
        raise Unsolved
    # above the bound is what is not below it
    last = grid.last(test.bound, inclusive=test.inclusive is test.below)
    kept = None if last is None else clamp_cell(last, axis)
    if kept is None:
        raise Unsolved
    if test.below:
        return StepCells(((FIRST, kept),)) if kept > FIRST else StepCells(())
    return StepCells(((kept + 1, LAST),)) if kept < LAST else StepCells(())


def _through_cast(cast: Cast, test: Threshold) -> Threshold:
    of, to = cast.what.type, cast.type
    match of.family, to.family:
        case (Family.DATE, Family.TIMESTAMP) if to.kind is Kind.TIMESTAMP:
            return Threshold(test.operator, test.bound / DAY)
        case (Family.TIMESTAMP, Family.DATE) if of.kind is Kind.TIMESTAMP:
            return test.of_floor().divided_by(Fraction(1, DAY))
        case (Family.WHOLE, Family.WHOLE | Family.EXACT) if to.precision is None:
            return test
        case (Family.EXACT, Family.EXACT) if to.precision is None:
            return test
        case (Family.DATE, Family.DATE):
            return test
        case _:
            raise Unsolved


def _solve_shift(shift: Shift, test: Threshold, axis: RegionAxis) -> Cells:
    back = test.plus(Fraction(-shift.days * DAY - shift.microseconds))
    if shift.moved.type.family is Family.DATE:
        back = Threshold(back.operator, back.bound / DAY)
    return _solve(shift.moved, back, axis)


def _solve_call(call: Call, test: Threshold, axis: RegionAxis) -> Cells:
    monotone = function_of(call).monotone
    if monotone is None:
        raise Unsolved
    found = monotone.solve(call, test, _Digits(axis))
    if isinstance(found, bool):
        return StepCells(((FIRST, LAST),) if found else ())
    place, threshold = found
    return _solve(call.parts[place], threshold, axis)


@dataclass(frozen=True, slots=True)
class _Digits:
    """The size of the column's values, in steps of its type."""

    axis: RegionAxis

    def largest(self, scalar: Scalar) -> int | None:
        grid = grid_of(scalar.type) if isinstance(scalar, Ref) else None
        if grid is None or grid.halves or self.axis.low is None or self.axis.high is None:
            return None
        return max(abs(self.axis.low), abs(self.axis.high)) * grid.unit.numerator
