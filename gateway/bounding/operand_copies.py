"""How often the SQL of an expression names each of its operands.

An engine's expressions are total because guards stand around what they guard, and a guard names its operand again; an
engine may compute it each time. Takes an expression with the ranges of columns, gives one number for each part.

INVARIANT: at least as often as `gateway/engines/scalars*.py` name a part in either dialect;
`tests/engines/test_copies.py` counts. Nothing is assumed of what an engine computes once.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from gateway.catalog.types import Family, Kind
from gateway.plan.like_pattern import read_pattern, words
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar, Shift
from gateway.ranges.granularity import grain_of
from gateway.ranges.relations import Range, range_of

_COMFORTABLE: Final = 2**62
_LEAST: Final = Fraction(1, 10**300)
_MOST_DIGITS: Final = 38
_NARROWED: Final = 3  # `CASE WHEN x BETWEEN low AND high THEN x END`
_PRODUCT: Final = 4
_DIVIDEND, _DIVISOR = 4, 6
_BASE, _EXPONENT = 11, 13
_WHOLE: Final = frozenset({"+", "-", "*", "/", "%", "mod", "negate", "abs"})
_ONE_GUARD: Final = frozenset({"sqrt", "ln", "log"})
_MEETING: Final = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"}
    | {"coalesce", "nullif", "greatest", "least", "in"}
)


def copies(scalar: Scalar, ranges: Mapping[str, Range]) -> tuple[int, ...]:
    """How often each part is named."""
    match scalar:
        case Call():
            return _of_call(scalar, ranges)
        case Cast():
            return (_of_cast(scalar),)
        case Shift():
            return (4,)
        case Case():
            return (_mixed(scalar.results),) * len(scalar.parts)
        case _:
            return (1,) * len(scalar.parts)


def needs_ranges(scalar: Scalar) -> bool:
    """Whether it depends on ranges how often the parts are named."""
    return isinstance(scalar, Call) and scalar.function in _WHOLE


def _of_call(call: Call, ranges: Mapping[str, Range]) -> tuple[int, ...]:  # noqa: PLR0911
    name, parts = call.function, call.parts
    many = len(parts)
    times = any(one.type.family in {Family.DATE, Family.TIMESTAMP} for one in parts)
    if name in _MEETING:
        return (_mixed(parts),) * many
    if name in _WHOLE and times:
        return tuple(9 if one.type.family is Family.WHOLE else 3 for one in parts)
    if name in _WHOLE and call.type.family is Family.WHOLE:
        return (1 if _fits(call, ranges) else _NARROWED,) * many
    if name in _WHOLE:
        return _fractions(call, ranges)
    if name in _ONE_GUARD:
        return (2,)
    match name:
        case "exp" | "width_bucket":
            return (4,) * many
        case "power" | "^":
            return (_BASE, _EXPONENT)
        case "make_date":
            return (9, 9, 5)
        case "like" | "ilike" | "not like" | "not ilike":
            return (_of_pattern(call), 0)
    return (1,) * many


def _mixed(parts: tuple[Scalar, ...]) -> int:
    """A decimal that meets a double is made one, within the range of doubles."""
    families = {one.type.family for one in parts}
    return 3 if {Family.EXACT, Family.FLOAT} <= families else 1


def _fits(call: Call, ranges: Mapping[str, Range]) -> bool:
    bound = call.type.bound or 0
    found = range_of(call, ranges)
    operands = [range_of(one, ranges) for one in call.parts]
    if found is None or any(one is None for one in operands):
        return False
    reach = max(max(abs(one.low), abs(one.high)) for one in (found, *operands) if one is not None)
    return reach < _COMFORTABLE and -bound <= found.low and found.high < bound


def _fractions(call: Call, ranges: Mapping[str, Range]) -> tuple[int, ...]:
    """Decimals that DuckDB cannot hold are doubles there; doubles are guarded where they may vanish."""
    name, parts = call.function, call.parts
    if name not in {"*", "/", "%", "mod"}:
        return (1,) * len(parts)
    if call.type.family is Family.EXACT and name != "/" and _is_decimal(parts):
        return (1,) * len(parts)
    if name in {"%", "mod"}:
        return (1, 2)
    near = [_nearest_to_zero(one, ranges) for one in parts]
    if name == "*":
        safe = near[0] * near[1] >= _LEAST
        return (1, 1) if safe else (_PRODUCT, _PRODUCT)
    found = [range_of(one, ranges) for one in parts]
    if any(one is None for one in found) or not near[1]:
        return (_DIVIDEND, _DIVISOR)
    reach = [max(abs(one.low), abs(one.high)) for one in found if one is not None]
    safe = reach[0] / near[1] <= 1 / _LEAST and near[0] / max(reach[1], Fraction(1)) >= _LEAST
    return (1, 1) if safe else (_DIVIDEND, _DIVISOR)


def _is_decimal(parts: tuple[Scalar, ...]) -> bool:
    """Whether the types alone say that DuckDB computes a decimal."""
    before = behind = 0
    for one in parts:
        if isinstance(one, Literal) and isinstance(one.value, int | Fraction):
            scale = 0
            while (one.value * 10**scale) % 1 and scale <= _MOST_DIGITS:
                scale += 1
            before, behind = before + len(str(abs(int(one.value)))), behind + scale
        elif one.type.family is Family.WHOLE:
            before += 19
        elif one.type.precision is not None:
            scale = one.type.scale or 0
            before, behind = before + one.type.precision - scale, behind + scale
        else:
            return False
    return before + behind <= _MOST_DIGITS and behind <= _MOST_DIGITS // 2 - 1


def _nearest_to_zero(scalar: Scalar, ranges: Mapping[str, Range]) -> Fraction:
    found = range_of(scalar, ranges)
    if found is not None and found.low > 0:
        return found.low
    if found is not None and found.high < 0:
        return -found.high
    return grain_of(scalar) or Fraction(0)


def _of_cast(cast: Cast) -> int:
    of, to = cast.what.type.family, cast.type.family
    single = 3 if cast.type.kind is Kind.REAL else 1
    if of is Family.TEXT:
        if to is Family.WHOLE:
            return 2 * _NARROWED
        return 1 if to is Family.TEXT else 3 if to is Family.DATE else 2 * single
    if of is Family.WHOLE and to is Family.WHOLE:
        return _NARROWED
    return single * (3 if of is Family.EXACT and to is Family.FLOAT else 1)


def _of_pattern(call: Call) -> int:
    pattern = call.parts[1]
    found = read_pattern(str(pattern.value) if isinstance(pattern, Literal) else "")
    anchored = sum(1 for piece in (found.start, found.end or ()) for _ in words(piece))
    return 4 + anchored
