"""MIN and MAX of a function of a time that rises or falls with it, as that function of the least or the greatest time.

`MIN(date_trunc('month', came_at))` is `date_trunc('month', MIN(came_at))`, and `MIN(DATE '2026-03-01' - came_on)` is
`DATE '2026-03-01' - MAX(came_on)`. So the number of the person is the time itself, and conditions on it are conditions on a time.

INVARIANT: the result has the value of the input for every set of rows. A function is taken out only if it is NULL for NULL
alone, and never falls, or never rises, over all times. The clock of a zone other than UTC may go back, so it stays inside.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gateway.catalog.types import Family, Kind
from gateway.functions.times import TRUNCATED
from gateway.plan.aggregates import Measure
from gateway.plan.fields import TIMES
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar

_OPPOSITE: Final = {"min": "max", "max": "min"}

Around = Callable[[Scalar], Scalar]


def least_time(measure: Measure) -> tuple[Measure, Around] | None:
    """The least or the greatest time itself, and what the measure is of it; None if it is of no function of a time."""
    if measure.function not in _OPPOSITE:
        return None
    [argument] = measure.arguments
    function, around = measure.function, list[Around]()
    while (found := _inside(argument)) is not None:
        argument, falls, one = found
        function = _OPPOSITE[function] if falls else function
        around.append(one)
    if not around or not isinstance(argument, Ref) or argument.type.family not in TIMES:
        return None

    def again(time: Scalar) -> Scalar:
        for one in reversed(around):
            time = one(time)
        return time

    return replace(measure, function=function, arguments=(argument,), type=argument.type), again


def _inside(  # noqa: PLR0911 - one answer for each function
    scalar: Scalar,
) -> tuple[Scalar, bool, Around] | None:
    """What the function is of, whether it falls, and the function; None for any other expression."""
    match scalar:
        case Call("date_trunc", (Literal(part), of)) if part in TRUNCATED and _is_plain(of):
            return of, False, lambda one: replace(scalar, parts=(scalar.parts[0], one))
        case Call("extract", (Literal("year"), of)) if _is_plain(of):
            return of, False, lambda one: replace(scalar, parts=(scalar.parts[0], one))
        case Call("timezone", (Literal("UTC"), of)) if of.type.family is Family.TIMESTAMP:
            return of, False, lambda one: replace(scalar, parts=(scalar.parts[0], one))
        case Call("-", (Literal(), of)) if _is_of_days(scalar):
            return of, True, lambda one: replace(scalar, parts=(scalar.parts[0], one))
        case Call("-", (of, Literal())) if _is_of_days(scalar):
            return of, False, lambda one: replace(scalar, parts=(one, scalar.parts[1]))
        case Cast(of) if _is_plain(of) and _is_plain(scalar):
            return of, False, lambda one: replace(scalar, what=one)
        case _:
            return None


def _is_plain(scalar: Scalar) -> bool:
    """Whether it is a date, or a time without a zone."""
    return scalar.type.family in TIMES and scalar.type.kind is not Kind.TIMESTAMPTZ


def _is_of_days(difference: Call) -> bool:
    """Whether it is the number of days between two dates: no constant leaves the calendar there."""
    return all(one.type.family is Family.DATE for one in difference.parts)
