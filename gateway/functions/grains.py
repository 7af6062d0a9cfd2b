"""How near to zero a number can come without being zero: the formulas that the rows of the table name.

A grain is a number of which all values are whole multiples, whatever the data are; None: not known. A declared step is
none: a domain clamps a value to its ends, not onto its steps.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import Family
from gateway.functions.range_arithmetic import common_divisor
from gateway.plan.scalars import Call, Literal, Scalar

GrainOf: TypeAlias = Callable[[Scalar], Fraction | None]
Grain: TypeAlias = Callable[[Call, GrainOf], Fraction | None]


def whole_number(_: Call, __: GrainOf) -> Fraction | None:
    return Fraction(1)


def whole_number_alone(call: Call, _: GrainOf) -> Fraction | None:
    """Of rounding to a whole number; to so many digits nobody has said."""
    return Fraction(1) if len(call.parts) == 1 else None


def unless_float(grain: Grain) -> Grain:
    """Not of floats: their sums are rounded, and what should be zero may be a little more."""
    return lambda call, of: (
        None if any(one.type.family is Family.FLOAT for one in call.parts) else grain(call, of)
    )


def common_grain(scalars: Iterable[Scalar], of: GrainOf) -> Fraction | None:
    """Of a value that is made of all of these, or is one of them; NULL is a multiple of everything."""
    found: Fraction | None = None
    for one in scalars:
        if isinstance(one, Literal) and one.value is None:
            continue
        grain = of(one)
        if grain is None:
            return None
        found = grain if found is None else common_divisor(found, grain)
    return found


def _product(call: Call, of: GrainOf) -> Fraction | None:
    one, other = (of(part) for part in call.parts)
    return None if one is None or other is None else one * other


common: Final = unless_float(lambda call, of: common_grain(call.parts, of))
of_first: Final = unless_float(lambda call, of: of(call.parts[0]))
product: Final = unless_float(_product)
