"""With how many digits every source computes a decimal number exactly, and which expressions some source cannot.

PostgreSQL's numerics hold everything. DuckDB's decimals have 38 digits, and what does not fit is a double there. The
rendering for DuckDB and the reading of conditions take the digits from here, so nothing is read as an exact number
that DuckDB computes as a double. docs/proofs/total.md, Numbers.

INVARIANT: what is not known to be exact on every source is None, or False.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.domains import Domain, Interval, Values
from gateway.catalog.types import Family
from gateway.functions.range_arithmetic import Bounds, bounds
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, walk_scalar
from gateway.plan.sql_text import decimal_sql
from gateway.ranges.expressions import bounds_of, grain_of
from gateway.ranges.relations import domain_bounds

Size: TypeAlias = tuple[int, int]
"""The digits before and behind the point."""

MOST_DIGITS: Final = 38
MOST_BEHIND: Final = 30
"""A result with more digits behind the point leaves too little room before it."""
UNSCALED: Final = 10
"""The digits behind the point with which DuckDB's decimals of a `numeric` column are read."""
ARITHMETIC: Final = frozenset({"+", "-", "*", "%", "mod", "negate"})
_BEFORE: Final = 18
_REACH: Final = bounds(-(10**_BEFORE) + 1, 10**_BEFORE - 1)
_COMPARING: Final = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "in", "is distinct from", "is not distinct from", "nullif"}
)
_CHOOSING: Final = frozenset({"coalesce", "greatest", "least"})
_ROUNDING: Final = frozenset({"abs", "sign", "floor", "ceil", "ceiling", "round", "trunc"})


def fits(size: Size) -> bool:
    return sum(size) <= MOST_DIGITS


def digits_before(*numbers: Fraction) -> int:
    """How many digits the largest of them has before the point."""
    return len(str(int(max(abs(one) for one in numbers))))


def scale_of(step: Fraction | None, most: int = MOST_BEHIND) -> int | None:
    """How many digits behind the point show every multiple of the step."""
    if step is None:
        return None
    return next((one for one in range(most + 1) if (step * 10**one).denominator == 1), None)


def stored_size(domain: Domain) -> Size | None:
    """The digits with which a `numeric` column of this domain is read on DuckDB; None: as it is stored."""
    match domain:
        case Interval(low, high):
            ends = [low, high]
        case Values(values):
            ends = [one for one in values if isinstance(one, int | Fraction)]
        case _:
            return None
    numbers = [Fraction(one) for one in ends if isinstance(one, int | Fraction)]
    if not numbers or any(scale_of(one, UNSCALED) is None for one in numbers):
        return None
    size = (digits_before(*numbers), UNSCALED)
    return size if fits(size) else None


def common_size(sizes: Sequence[Size]) -> Size:
    """The digits in which all of them can be compared."""
    return max(one[0] for one in sizes), max(one[1] for one in sizes)


def result_size(call: Call, found: Bounds, sizes: Sequence[Size]) -> Size | None:
    """The digits of what arithmetic gives, by its range and by its operands, or its grain where that has fewer."""
    if found.range is None:
        return None
    behind = (sum if call.function == "*" else max)(one[1] for one in sizes)
    grain = scale_of(grain_of(call))
    behind = behind if grain is None else min(behind, grain)
    return digits_before(found.range.low, found.range.high), behind


def computed_size(name: str, result: Size, sizes: Sequence[Size]) -> Size | None:
    """The digits that DuckDB computes with before the result is cut to its own; None: it has not as many.

    INVARIANT: DuckDB raises where a decimal needs more, so these are at most what a decimal has. A product has the digits of
    both factors behind the point, whatever its grain. For the others both operands are brought to the digits of one.
    """
    if name == "*":
        made = result[0], max(result[1], sum(one[1] for one in sizes))
    else:
        made = common_size([result, *sizes])
    return made if fits(made) and made[1] <= MOST_BEHIND else None


def exact_size(  # noqa: C901, PLR0911 - one answer for each kind of expression
    scalar: Scalar, columns: Mapping[str, Bounds]
) -> Size | None:
    """The digits with which every source has the number; None: some source may have a double."""
    kind = scalar.type
    match scalar:
        case Literal(None):
            return 0, 0
        case Literal(value) if isinstance(value, int | Fraction) and not isinstance(value, bool):
            before, _, behind = decimal_sql(abs(Fraction(value))).partition(".")
            size = len(before.lstrip("0")), len(behind)
            return size if fits(size) else None
        case _ if kind.family is Family.WHOLE:
            return digits_before(_bound(scalar, columns)), 0
        case _ if kind.family is not Family.EXACT:
            return None
        case Ref() | Cast() if kind.precision is not None:
            size = kind.precision - (kind.scale or 0), kind.scale or 0
            return size if fits(size) and _is_exact_below(scalar, columns) else None
        case Ref(field):
            of_person = columns.get(field.id) is _REACH
            return (_BEFORE, UNSCALED) if of_person else stored_size(field.domain)
        case Cast(what):
            return exact_size(what, columns)
        case Case():
            return _common(scalar.results, columns)
        case Call(name, parts) if name in ARITHMETIC:
            return _computed(scalar, parts, columns)
        case Call(name, parts) if name in _CHOOSING or name == "nullif":
            return _common(parts, columns)
        case Call(name, parts) if name in _ROUNDING:
            return exact_size(parts[0], columns)
    return None


def _is_exact_below(scalar: Scalar, columns: Mapping[str, Bounds]) -> bool:
    return not isinstance(scalar, Cast) or exact_size(scalar.what, columns) is not None


def _bound(scalar: Scalar, columns: Mapping[str, Bounds]) -> Fraction:
    most = scalar.type.bound or Fraction(2**63)
    found = bounds_of(scalar, columns).range
    return most if found is None else min(most, max(abs(found.low), abs(found.high)))


def _common(scalars: Sequence[Scalar], columns: Mapping[str, Bounds]) -> Size | None:
    sizes = [exact_size(one, columns) for one in scalars]
    known = [one for one in sizes if one is not None]
    size = common_size(known) if known and len(known) == len(sizes) else None
    return size if size is not None and fits(size) else None


def _computed(call: Call, parts: Sequence[Scalar], columns: Mapping[str, Bounds]) -> Size | None:
    sizes = [exact_size(one, columns) for one in parts]
    known = [one for one in sizes if one is not None]
    if not known or len(known) != len(sizes):
        return None
    result = result_size(call, bounds_of(call, columns), known)
    if result is None or computed_size(call.function, result, known) is None:
        return None
    return result


def is_exact(scalar: Scalar, *, of_person: bool = False) -> bool:
    """Whether every source computes and compares the decimal numbers of an expression exactly.

    A quotient is not decided here: what reads one argues for it (`of_quotient`). `of_person`: the column was computed from rows
    of a person. On DuckDB it is cast to a decimal with as many digits behind the point as a stored one.
    """
    computed = [one for one in walk_scalar(scalar) if isinstance(one, Call) and _is_decimal(one)]
    if not computed:
        return True
    fields = (one.field for one in walk_scalar(scalar) if isinstance(one, Ref))
    columns = {
        one.id: _REACH if of_person else domain_bounds(one.domain, one.type) for one in fields
    }
    return all(_is_exact(one, columns) for one in computed)


def _is_decimal(call: Call) -> bool:
    families = {one.type.family for one in (call, *call.parts)}
    return Family.EXACT in families and families.isdisjoint({Family.FLOAT})


def _is_exact(call: Call, columns: Mapping[str, Bounds]) -> bool:
    if call.function in ARITHMETIC:
        return exact_size(call, columns) is not None
    if call.function not in _COMPARING | _CHOOSING:
        return True
    sizes = [exact_size(one, columns) for one in call.parts]
    if any(
        size is None and isinstance(one, Literal)
        for one, size in zip(call.parts, sizes, strict=True)
    ):
        return False
    known = [one for one in sizes if one is not None]
    return not known or fits(common_size(known))
