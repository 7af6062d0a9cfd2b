"""In which type of the source a number is computed, and arithmetic of doubles that cannot overflow.

A type is wide enough that no operation can overflow. PostgreSQL's numerics hold everything. DuckDB's decimals have
38 digits at most, so a decimal number is one there where its range and its step prove that it fits, and a double
where they do not.

Doubles have no overflow, no underflow, no infinity and no NaN. PostgreSQL raises where a product or quotient of
doubles is too large or vanishes. What is too large is NULL here; what would vanish is zero. Guards are left out
where the ranges prove that they cannot be needed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sqlalchemy import Float, Integer, Numeric, case, cast, func, null, try_cast
from sqlalchemy.types import NullType

from gateway.catalog.types import Family
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    HUGE,
    WHOLE,
    Render,
    Rendering,
    Type,
    between,
    compare,
    constant,
    digits_of,
    double,
    exact,
    infix,
    null_of,
    when,
)
from gateway.errors import Code, Unbounded
from gateway.functions.range_arithmetic import Range
from gateway.plan.fields import DOUBLE as PLAN_DOUBLE
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar
from gateway.ranges.decimal_digits import Size, common_size, digits_before, fits, scale_of
from gateway.ranges.expressions import grain_of

LARGEST_DOUBLE: Final = Fraction(10**300)
_MOST_DIGITS: Final = 38
_COMFORTABLE: Final = 2**62
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
    if scalar.type.family is Family.EXACT:
        return _rendered_digits(rendering, scalar)
    return result_digits(rendering, scalar)


def _rendered_digits(rendering: Rendering, scalar: Scalar) -> Digits | None:
    """Of a decimal without a scale: those of the type that its SQL has, and no more before the point than its range."""
    size = size_of_type(rendering.sql(scalar).type)
    if size is None:
        return None
    found = rendering.range(scalar)
    before = size[0] if found is None else min(size[0], digits_before(found.low, found.high))
    return Digits(before, size[1])


def size_of_type(kind: Type) -> Size | None:
    """The digits of a type of DuckDB that holds numbers exactly; None: a double, or a column as it is stored."""
    if isinstance(kind, Integer):
        return 19, 0
    if not isinstance(kind, Numeric) or isinstance(kind, Float) or kind.precision is None:
        return None
    return kind.precision - (kind.scale or 0), kind.scale or 0


def union_type(kinds: Sequence[Type]) -> Type:
    """DuckDB's type of a column whose rows come from columns of these types; of no type where it may be a double."""
    sizes = [size_of_type(one) for one in kinds]
    known = [one for one in sizes if one is not None]
    if len(known) != len(sizes):
        return NullType()
    size = common_size(known)
    return Numeric(sum(size), size[1]) if fits(size) else NullType()


def result_digits(rendering: Rendering, scalar: Scalar) -> Digits | None:
    """As which decimal DuckDB can hold what an expression gives, by its range and its grain.

    Not by the step of its range: that is the domain's, and a scan does not move values onto it.
    """
    whole = scalar.type.family is Family.WHOLE
    found = require_range(rendering, scalar) if whole else rendering.range(scalar)
    behind = 0 if whole else scale_of(grain_of(scalar))
    if behind is None or found is None:
        return None
    made = Digits(digits_before(found.low, found.high), behind)
    return made if made.type is not None else None


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
