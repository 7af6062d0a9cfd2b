"""How near to zero a number can come without being zero, where types alone say so.

A declared step does not: a domain clamps a value to its ends, not onto its steps. A type does: there is no
whole number between 0 and 1.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar
from gateway.ranges.range import common_divisor

_ROUNDING: Final = frozenset({"floor", "ceil", "ceiling", "sign", "extract", "age_in"})
_KEEPING: Final = frozenset(
    {"+", "-", "negate", "abs", "coalesce", "greatest", "least", "%", "mod", "nullif"}
)
_WITH_FRACTIONS: Final = frozenset({"second", "epoch"})


def is_whole(scalar: Scalar) -> bool:
    grain = grain_of(scalar)
    return grain is not None and grain.denominator == 1


def grain_of(scalar: Scalar) -> Fraction | None:  # noqa: PLR0911 - one answer for each kind
    """A number of which all values are whole multiples, whatever the data are; None: not known."""
    if scalar.type.family is Family.WHOLE:
        return Fraction(1)
    match scalar:
        case Literal(value) if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return abs(Fraction(value)) or Fraction(1)
        case Ref(field) if field.type.family is Family.EXACT:
            return field.type.resolution
        case Cast(what, kind) if kind.family is Family.EXACT:
            return kind.resolution if kind.resolution is not None else grain_of(what)
        case Cast(what, kind) if kind.family is Family.FLOAT and what.type.family is Family.WHOLE:
            return Fraction(1)
        case Case():
            return _shared(case for case in scalar.results if not _is_null(case))
        case Call(function, parts):
            return _of_call(function, parts)
        case _:
            return None


def _of_call(  # noqa: PLR0911 - one answer for each kind of function
    function: str, parts: tuple[Scalar, ...]
) -> Fraction | None:
    if function in {"extract", "age_in"}:
        field = parts[0]
        cut = isinstance(field, Literal) and field.value in _WITH_FRACTIONS
        return Fraction(1, 1_000_000) if cut else Fraction(1)
    if function in _ROUNDING or (function in {"round", "trunc"} and len(parts) == 1):
        return Fraction(1)
    if any(one.type.family is Family.FLOAT for one in parts):
        # sums of floats are rounded, and what should be zero may be a little more
        return None
    if function == "nullif":
        return grain_of(parts[0])
    if function in _KEEPING:
        return _shared(one for one in parts if not _is_null(one))
    if function == "*":
        one, other = grain_of(parts[0]), grain_of(parts[1])
        return None if one is None or other is None else one * other
    return None


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is None


def _shared(scalars: Iterable[Scalar]) -> Fraction | None:
    found: Fraction | None = None
    for one in scalars:
        grain = grain_of(one)
        if grain is None:
            return None
        found = grain if found is None else common_divisor(found, grain)
    return found
