"""Expressions with other columns in the place of theirs."""

from collections.abc import Callable
from dataclasses import replace

from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.scalars import Call, Case, Cast, Scalar, Shift, StagedMember

Change = Callable[[Scalar], Scalar | None]


def scalar_with(scalar: Scalar, change: Change) -> Scalar:
    """The expression with `change` of each part; None leaves the part and goes on inside it."""
    made = change(scalar)
    if made is not None:
        return made
    match scalar:
        case Call():
            return replace(scalar, parts=tuple(scalar_with(one, change) for one in scalar.parts))
        case Shift():
            return replace(scalar, moved=scalar_with(scalar.moved, change))
        case Cast() | StagedMember():
            return replace(scalar, what=scalar_with(scalar.what, change))
        case Case():
            branches = tuple(
                (scalar_with(when, change), scalar_with(then, change))
                for when, then in scalar.branches
            )
            return replace(
                scalar, branches=branches, otherwise=scalar_with(scalar.otherwise, change)
            )
        case _:
            return scalar


def measure_with(measure: Measure, change: Change) -> Measure:
    """The measure over other columns."""
    where = None if measure.where is None else scalar_with(measure.where, change)
    arguments = tuple(scalar_with(one, change) for one in measure.arguments)
    return replace(measure, arguments=arguments, where=where)


def window_with(call: WindowCall, change: Change) -> WindowCall:
    """The window function over other columns."""
    return replace(
        call,
        arguments=tuple(scalar_with(one, change) for one in call.arguments),
        partition=tuple(scalar_with(one, change) for one in call.partition),
        order=tuple((scalar_with(one, change), down) for one, down in call.order),
    )
