"""Values that a constant moves, such as `year + 3` or `10 * day`: whether different values stay different.

A number that leaves its type becomes NULL, and so does a day beyond the calendar; a float loses what is small beside it.
Such a move divides the values at a boundary that its constant chooses.

INVARIANT: a move that is not known to keep all values apart divides them.
"""

from datetime import date
from typing import Final

from gateway.catalog.domains import Anything, Domain, Interval
from gateway.catalog.types import Family
from gateway.functions.range_arithmetic import Range
from gateway.plan.affine_forms import AffineForms
from gateway.plan.affine_rounding import NUMBERS, type_form
from gateway.plan.fields import TIMES, Field
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift, map_parts, walk_scalar
from gateway.ranges.expressions import bounds_of
from gateway.ranges.relations import domain_bounds

_MOST_DAYS: Final = 366
_MONTH_DAYS: Final = 31
_DAY: Final = 86_400_000_000
_YEARS: Final = (200, 9_800)
"""Between these years no time leaves the calendar when it is moved by two centuries."""
_MOST_MOVED: Final = 200 * 365


def keeps_values_apart(scalar: Scalar) -> bool:
    """Whether the moves outside of everything else keep different values different; casts may stand between them.

    A time without a declared domain may be moved by a year: nothing is so near to the ends of the calendar.
    """
    moves = list[Scalar]()
    while (inner := _moved(scalar)) is not None:
        moves.append(scalar)
        scalar = inner
    if moves and not _stay_apart(scalar, moves):
        return False
    if isinstance(scalar, Call) and scalar.function == "timezone":
        return keeps_values_apart(scalar.parts[-1])
    if not isinstance(scalar, Cast):
        return True
    return keeps_values_apart(scalar.what) and (_moved(scalar.what) is None or _fits(scalar))


def _moved(scalar: Scalar) -> Scalar | None:
    """What is moved by a constant; None if nothing is."""
    match scalar:
        case Shift(moved):
            return moved
        case Call("negate", (one,)) | Call("+" | "-" | "*", (one, Literal())):
            return one
        case Call("+" | "-" | "*", (Literal(), one)):
            return one
    return None


def _stay_apart(core: Scalar, moves: list[Scalar]) -> bool:
    if core.type.family in TIMES:
        days = [_days(one) for one in moves]
        moved = sum(one for one in days if one is not None)
        return None not in days and moved <= (_MOST_MOVED if _is_inside(core) else _MOST_DAYS)
    if core.type.family not in NUMBERS:
        return False
    made: Scalar = Ref(Field("moved", core.type, _domain(core)))
    for one in reversed(moves):
        made = _beside(one, made)
        if AffineForms({}).form(made).cuts:
            return False
    return True


def _beside(move: Scalar, moved: Scalar) -> Scalar:
    """The move of another value."""
    inner = _moved(move)
    return map_parts(move, lambda one: moved if one is inner else one)


def _days(move: Scalar) -> int | None:
    """By how many days at most a time is moved; None for what is no move of a time."""
    match move:
        case Shift():
            return (
                abs(move.months) * _MONTH_DAYS + abs(move.days) + abs(move.microseconds) // _DAY + 1
            )
        case Call("+" | "-", (_, Literal(int(days)))) if move.type.family is Family.DATE:
            return abs(days)
    return None


def _is_inside(core: Scalar) -> bool:
    """Whether the declared domain of the column is far from the ends of the calendar."""
    domains = [one.field.domain for one in walk_scalar(core) if isinstance(one, Ref)]
    return bool(domains) and all(
        isinstance(one, Interval)
        and isinstance(one.low, date)
        and isinstance(one.high, date)
        and _YEARS[0] <= one.low.year
        and one.high.year <= _YEARS[1]
        for one in domains
    )


def _domain(core: Scalar) -> Domain:
    """The ends between which the values of an expression are, as far as they are known."""
    if isinstance(core, Ref):
        return core.field.domain
    found = _range(core)
    if found is None or found.low == found.high:
        return Anything()
    return Interval(found.low, found.high, found.high - found.low)


def _range(scalar: Scalar) -> Range | None:
    fields = (one.field for one in walk_scalar(scalar) if isinstance(one, Ref))
    return bounds_of(scalar, {one.id: domain_bounds(one.domain, one.type) for one in fields}).range


def _fits(cast: Cast) -> bool:
    """Whether no number leaves the type that it is cast to."""
    ends = type_form(cast.type).ends
    if cast.type.family is not Family.WHOLE or ends is None:
        return True
    found = _range(cast.what)
    return found is not None and ends[0] <= found.low and found.high <= ends[1]
