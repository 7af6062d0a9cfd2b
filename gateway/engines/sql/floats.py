"""Doubles: no overflow, no underflow, no infinity, no NaN.

PostgreSQL raises where a product or quotient of doubles is too large or vanishes. What is too large is NULL
here; what would vanish is zero. Guards are left out where the ranges prove that they cannot be needed.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sqlalchemy import case, func, null

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.number_types import as_double, as_number, largest_magnitude, require_range
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    Render,
    Rendering,
    Type,
    between,
    compare,
    double,
    exact,
    infix,
    null_of,
    when,
)
from gateway.errors import Code, Unbounded
from gateway.plan.scalars import Call, Literal, Scalar
from gateway.ranges.granularity import grain_of
from gateway.ranges.relations import Range

LARGEST: Final = Fraction(10**300)
_LEAST: Final = Fraction(1, 10**300)
_MOST_EXPONENT: Final = 709
_LEAST_EXPONENT: Final = -745
_MOST_POWER: Final = 690


def float_arithmetic(rendering: Rendering, name: str, parts: tuple[Scalar, ...]) -> Sql:
    given = [as_double(rendering, one) for one in parts]
    ranges = [require_range(rendering, one) for one in parts]
    if name == "negate":
        return infix(double(0.0), "-", given[0], DOUBLE)
    left, right = given
    match name:
        case "+" | "-":
            _need_below(largest_magnitude(ranges[0]) + largest_magnitude(ranges[1]))
            return infix(left, name, right, DOUBLE)
        case "*":
            _need_below(largest_magnitude(ranges[0]) * largest_magnitude(ranges[1]))
            if (
                least_magnitude(parts[0], ranges[0]) * least_magnitude(parts[1], ranges[1])
                >= _LEAST
            ):
                return infix(left, "*", right, DOUBLE)
            return multiply_floats(left, right)
        case _:
            least_below = least_magnitude(parts[1], ranges[1])
            safe = least_below > 0 and largest_magnitude(ranges[0]) / least_below <= LARGEST
            safe = (
                safe
                and least_magnitude(parts[0], ranges[0])
                / max(largest_magnitude(ranges[1]), Fraction(1))
                >= _LEAST
            )
            below = func.nullif(right, double(0.0), type_=DOUBLE)
            return infix(left, "/", below, DOUBLE) if safe else _divided(left, right, below)


def _need_below(size: Fraction) -> None:
    if size > LARGEST:
        raise Unbounded(
            Code.FUNCTION_UNSUPPORTED,
            "a number can be larger than 1e300",
            "clamp it with LEAST and GREATEST",
        )


def least_magnitude(scalar: Scalar, found: Range) -> Fraction:
    """How near to zero the number can come without being zero; 0: as near as it likes."""
    if found.low > 0:
        return found.low
    if found.high < 0:
        return -found.high
    grain = grain_of(scalar)
    return Fraction(0) if grain is None else grain


def multiply_floats(left: Sql, right: Sql) -> Sql:
    """Zero where the product would vanish; a factor below 1e-307 counts as zero."""
    sizes = func.abs(left, type_=DOUBLE), func.abs(right, type_=DOUBLE)
    larger = func.greatest(*sizes, type_=DOUBLE)
    smaller = func.least(*sizes, type_=DOUBLE)
    held = func.least(func.greatest(larger, double(1e-150)), double(1e7), type_=DOUBLE)
    vanishes = compare(smaller, "<", infix(double(1e-300), "/", held, DOUBLE))
    nothing = infix(infix(double(0.0), "*", left, DOUBLE), "*", right, DOUBLE)
    return case((vanishes, nothing), else_=infix(left, "*", right, DOUBLE))


def _divided(left: Sql, right: Sql, below: Sql) -> Sql:
    """NULL where the quotient would be beyond 1e300, zero where it would vanish."""
    size, by = func.abs(left, type_=DOUBLE), func.abs(right, type_=DOUBLE)
    one = double(1.0)
    # neither product can vanish or overflow: a divisor is not below 5e-324
    low = func.least(by, one, type_=DOUBLE)
    high = func.greatest(by, one, type_=DOUBLE)
    too_large = compare(size, ">", infix(low, "*", double(1e300), DOUBLE))
    vanishes = compare(size, "<", infix(high, "*", double(1e-300), DOUBLE))
    zero = infix(
        double(0.0), "*", infix(left, "+", infix(right, "-", right, DOUBLE), DOUBLE), DOUBLE
    )
    zero = when(compare(right, "<>", double(0.0)), zero)
    return case((too_large, null()), (vanishes, zero), else_=infix(left, "/", below, DOUBLE))


@dataclass(frozen=True, slots=True)
class _Real:
    """The operands of a function of real numbers, decimals where the result is one."""

    operands: list[Sql]
    ranges: list[Range]
    exactly: bool

    @property
    def kind(self) -> Type:
        return EXACT if self.exactly else DOUBLE

    @property
    def zero(self) -> Sql:
        return exact(0) if self.exactly else double(0.0)


def _real(rendering: Rendering, call: Call) -> _Real:
    exactly = call.type.family is Family.EXACT and rendering.dialect == "postgresql"
    ranges = [require_range(rendering, one) for one in call.parts]
    kind = EXACT if exactly else DOUBLE
    return _Real([as_number(rendering, one, kind) for one in call.parts], ranges, exactly)


def square_root(rendering: Rendering, call: Call) -> Sql:
    real = _real(rendering, call)
    made = func.sqrt(real.operands[0], type_=real.kind)
    there = compare(real.operands[0], ">=", real.zero)
    return made if real.ranges[0].low >= 0 else when(there, made)


def logarithm(*, ten: bool) -> Render:
    def render(rendering: Rendering, call: Call) -> Sql:
        real = _real(rendering, call)
        # log of a double is the natural logarithm in some dialects: of base ten is meant
        named = func.ln if not ten else func.log if real.exactly else func.log10
        made: Sql = named(real.operands[0], type_=real.kind)
        there = compare(real.operands[0], ">", real.zero)
        return made if real.ranges[0].low > 0 else when(there, made)

    return render


def exponential(rendering: Rendering, call: Call) -> Sql:
    real = _real(rendering, call)
    return _exponential(real.operands[0], real.ranges[0], exactly=real.exactly)


def power(rendering: Rendering, call: Call) -> Sql:
    real = _real(rendering, call)
    doubles = [as_double(rendering, one) for one in call.parts]
    return _power(call, real.operands, doubles, exactly=real.exactly)


def _exponential(x: Sql, found: Range, *, exactly: bool) -> Sql:
    number = exact if exactly else double
    made = func.exp(x, type_=x.type)
    if found.low >= _LEAST_EXPONENT and found.high <= _MOST_EXPONENT:
        return made
    ends = number(Fraction(_LEAST_EXPONENT)), number(Fraction(_MOST_EXPONENT))
    return case(
        (between(x, *ends), made), (compare(x, "<", ends[0]), number(Fraction(0))), else_=null()
    )


def _power(call: Call, given: list[Sql], doubles: list[Sql], *, exactly: bool) -> Sql:
    """Zero to a negative power, roots of negatives and what is beyond 1e299 are NULL; what vanishes is zero."""
    number = exact if exactly else double
    zero, one = number(Fraction(0)), number(Fraction(1))
    base, by = given
    kind = base.type
    exponent = call.parts[1]
    fixed = exponent.value if isinstance(exponent, Literal) else None
    if isinstance(fixed, int | Fraction) and fixed == 0:
        return when(base.is_not(None), one)
    sizes = func.ln(func.abs(func.nullif(doubles[0], double(0.0)), type_=DOUBLE), type_=DOUBLE)
    grown = multiply_floats(sizes, doubles[1])
    most = double(_MOST_POWER)
    made = func.power(base, by, type_=kind)
    whole_power = isinstance(fixed, int | Fraction) and Fraction(fixed).denominator == 1
    of_zero = case((compare(by, ">", zero), zero), (compare(by, "=", zero), one), else_=null())
    whens: list[tuple[Sql, Sql]] = [(compare(doubles[0], "=", double(0.0)), of_zero)]
    if not whole_power:
        broken = compare(by, "<>", func.floor(by, type_=kind))
        whens.append((compare(base, "<", zero) & broken, null_of(kind)))
    whens.append((compare(grown, ">", most), null_of(kind)))
    whens.append((compare(grown, "<", double(-_MOST_POWER)), zero))
    return case(*whens, else_=made)
