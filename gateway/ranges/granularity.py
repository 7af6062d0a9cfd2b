"""How near to zero a number can come without being zero, where types alone say so.

A declared step does not: a domain clamps a value to its ends, not onto its steps. A type does: there is no
whole number between 0 and 1.
"""

from fractions import Fraction

from gateway.catalog.types import Family
from gateway.functions.grains import common_grain
from gateway.functions.table import function_of
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar


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
            return common_grain(scalar.results, grain_of)
        case Call():
            grain = function_of(scalar).grain
            return None if grain is None else grain(scalar, grain_of)
        case _:
            return None
