"""Choices between values, written as CASE, and functions of a choice, written as a choice.

INVARIANT: the result has the value of the input for every row, NULL included.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gateway.catalog.types import Family
from gateway.functions.table import function_of
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar

MOST_RESULTS: Final = 64
MOST_NESTED: Final = 5
"""Functions that choose, such as GREATEST, are read as choices up to this depth."""
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})


def as_choice(scalar: Scalar) -> Scalar:
    """The expression as an equivalent CASE, if there is one; otherwise unchanged.

    INVARIANT: choices nested deeper than `MOST_NESTED` stay as they are, and are opaque. The CASE contains the choice's
    argument several times, so reading it takes work that is exponential in the depth.
    """
    match scalar:
        case Cast(what, kind) if what.type.family is Family.BOOLEAN and kind.family in _NUMBERS:
            return of_condition(what, scalar)
        case Call():
            as_case = function_of(scalar).as_case
            if as_case is None or _nesting(scalar) > MOST_NESTED:
                return scalar
            return as_case(scalar)
        case _:
            return scalar


def _nesting(scalar: Scalar) -> int:
    """How deep functions that choose are nested in it."""
    deepest, left = 0, [(scalar, 0)]
    while left:
        one, depth = left.pop()
        if isinstance(one, Call) and function_of(one).as_case is not None:
            depth += 1
            deepest = max(deepest, depth)
        left.extend((part, depth) for part in one.parts)
    return deepest


def of_condition(condition: Scalar, whole: Scalar) -> Case:
    """1 where it is true, 0 where it is false, NULL elsewhere."""
    one, nothing, null = (Literal(value, whole.type) for value in (1, 0, None))
    opposite = Call("not", (condition,), BOOLEAN, condition.nullable)
    return Case(((condition, one), (opposite, nothing)), null, whole.type)


def distribute_choice(scalar: Scalar) -> Scalar:
    """A function of one choice and constants, as a choice of the function's values."""
    if isinstance(scalar, Cast) and not isinstance(scalar.what, Ref | Literal):
        inner = distribute_choice(as_choice(scalar.what))
        if isinstance(inner, Case) and inner.type.family in _NUMBERS:
            return _each(inner, scalar, lambda one: replace(scalar, what=one))
    if isinstance(scalar, Call) and function_of(scalar).is_distributed:
        parts = [distribute_choice(as_choice(one)) for one in scalar.parts]
        places = [place for place, one in enumerate(parts) if isinstance(one, Case)]
        others = [one for one in parts if not isinstance(one, Case)]
        if len(places) == 1 and all(isinstance(one, Literal) for one in others):
            [place] = places
            case = parts[place]
            if isinstance(case, Case) and len(case.results) <= MOST_RESULTS:
                return _each(
                    case,
                    scalar,
                    lambda one: replace(scalar, parts=(*parts[:place], one, *parts[place + 1 :])),
                )
    return as_choice(scalar)


def _each(case: Case, like: Scalar, change: Callable[[Scalar], Scalar]) -> Case:
    branches = tuple((when, change(then)) for when, then in case.branches)
    return Case(branches, change(case.otherwise), like.type)
