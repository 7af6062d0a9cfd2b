"""In which type of the source a number is computed: wide enough that no operation can overflow.

PostgreSQL's numerics hold everything. DuckDB's decimals have 38 digits at most, so a decimal number is one
there where its range and its step prove that it fits, and a double where they do not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sqlalchemy import Numeric, cast, func, try_cast

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Dialect, Sql
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    HUGE,
    WHOLE,
    Rendering,
    Type,
    between,
    constant,
    digits_of,
    exact,
    when,
)
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Cast, Literal, Ref, Scalar
from gateway.plan.types import DOUBLE as PLAN_DOUBLE
from gateway.ranges.granularity import grain_of
from gateway.ranges.relations import Range

LARGEST_DOUBLE: Final = Fraction(10**300)
_MOST_DIGITS: Final = 38
_COMFORTABLE: Final = 2**62
_LONGEST_SCALE: Final = 18
_SHORT: Final = 18
_NEAREST: Final = Fraction(1, 10**300)
_PLACES: Final = 300


@dataclass(frozen=True, slots=True)
class Digits:
    """A decimal number of so many digits before and behind the point."""

    before: int
    behind: int

    @property
    def type(self) -> Type | None:
        """DuckDB's type for it; None: it has none."""
        total = self.before + self.behind
        if total > _MOST_DIGITS:
            return None
        if self.behind == 0:
            return WHOLE if total <= _SHORT else Numeric(_MOST_DIGITS, 0)
        return Numeric(max(total, 1), self.behind)

    @property
    def short(self) -> bool:
        """Whether DuckDB computes it in 64 bits."""
        return self.before + self.behind <= _SHORT


def require_range(rendering: Rendering, scalar: Scalar) -> Range:
    """The range of an arithmetic operand. Whole numbers were cut to their type when they were made."""
    found = rendering.range(scalar)
    bound = scalar.type.bound if scalar.type.family is Family.WHOLE else None
    if found is None and bound is None:
        raise BrokenPlan("an arithmetic operand without a range")
    if found is None:
        found = Range(-Fraction(bound or 0), Fraction(bound or 0), Fraction(1))
    if bound is None:
        return found
    low, high = max(found.low, -bound), min(found.high, bound - 1)
    if low > high:
        # nothing of it fits: it is NULL in every row
        return Range(Fraction(0), Fraction(0), Fraction(1))
    return Range(low, high, found.step)


def largest_magnitude(*ranges: Range) -> Fraction:
    """How large a number can be."""
    return max(max(abs(one.low), abs(one.high)) for one in ranges)


def fits_bigint(*ranges: Range) -> bool:
    """Whether BIGINT holds them with room to spare."""
    return largest_magnitude(*ranges) < _COMFORTABLE


def wide_integer(dialect: Dialect) -> Type:
    """What holds products of two BIGINTs."""
    return HUGE if dialect == "duckdb" else EXACT


def decimal_digits(rendering: Rendering, scalar: Scalar) -> Digits | None:
    """As which decimal DuckDB can hold the number; None: as a double only."""
    match scalar:
        case Literal(value) if isinstance(value, int | Fraction) and not isinstance(value, bool):
            size = digits_of(Fraction(value))
            return None if size is None else Digits(max(size[0] - size[1], 0), size[1])
        case Literal():
            return Digits(0, 0)
        case Ref() | Cast() if scalar.type.precision is not None:
            behind = scalar.type.scale or 0
            return Digits(scalar.type.precision - behind, behind)
    return result_digits(rendering, scalar)


def result_digits(rendering: Rendering, scalar: Scalar) -> Digits | None:
    """As which decimal DuckDB can hold what an expression gives, by its range and its grain.

    Not by the step of its range: that is the domain's, and a scan does not move values onto it.
    """
    whole = scalar.type.family is Family.WHOLE
    found = require_range(rendering, scalar) if whole else rendering.range(scalar)
    behind = 0 if whole else _scale(grain_of(scalar))
    if behind is None or found is None:
        return None
    made = Digits(len(str(int(largest_magnitude(found)))), behind)
    return made if made.type is not None else None


def _scale(step: Fraction | None) -> int | None:
    """How many digits behind the point show every multiple of the step."""
    if step is None:
        return None
    for behind in range(_LONGEST_SCALE + 1):
        if (step * 10**behind).denominator == 1:
            return behind
    return None


def common_number(rendering: Rendering, scalars: Iterable[Scalar]) -> Type:
    """The type in which the numbers can be compared and stand beside each other."""
    given = list(scalars)
    families = {one.type.family for one in given}
    if Family.FLOAT in families:
        return DOUBLE
    if families == {Family.WHOLE}:
        return WHOLE
    if rendering.dialect == "postgresql":
        return EXACT
    known = [decimal_digits(rendering, one) for one in given]
    sizes = [one for one in known if one is not None]
    if len(sizes) != len(known):
        return DOUBLE
    both = Digits(max(one.before for one in sizes), max(one.behind for one in sizes))
    return both.type or DOUBLE


def as_number(rendering: Rendering, scalar: Scalar, kind: Type) -> Sql:
    """The number in a type that holds it."""
    if kind is DOUBLE:
        return as_double(rendering, scalar)
    made = rendering.sql(scalar)
    return try_cast(made, kind) if rendering.dialect == "duckdb" else cast(made, kind)


def as_double(rendering: Rendering, scalar: Scalar) -> Sql:
    """The number as a double; PostgreSQL raises where it is too large, or too near to zero."""
    if isinstance(scalar, Literal):
        return constant(rendering.dialect, scalar.value, PLAN_DOUBLE)
    made = rendering.sql(scalar)
    if rendering.dialect == "duckdb" or scalar.type.family is not Family.EXACT:
        return cast(made, DOUBLE)
    found = rendering.range(scalar)
    near = found is None or (found.low < _NEAREST and found.high > -_NEAREST)
    if near and grain_of(scalar) is None:
        made = func.round(made, _PLACES)
    inside = scalar.type.bound if found is None else largest_magnitude(found)
    if inside is None or inside > LARGEST_DOUBLE:
        ends = exact(-LARGEST_DOUBLE), exact(LARGEST_DOUBLE)
        return when(between(rendering.sql(scalar), *ends), cast(made, DOUBLE))
    return cast(made, DOUBLE)
