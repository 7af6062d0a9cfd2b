"""How often the SQL of a call names each of its operands: the formulas that the rows of the table name.

An engine's expressions are total because guards stand around what they guard, and a guard names its operand again; an
engine may compute it each time. Takes a call with what is known of ranges, gives one number for each operand.

INVARIANT: at least as often as `gateway/engines/sql` names an operand in either dialect;
`tests/functions/test_copy_counts.py` counts. Nothing is assumed of what an engine computes once.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from gateway.catalog.types import Family
from gateway.functions.range_arithmetic import Range
from gateway.plan.like_pattern import piece_texts, read_pattern
from gateway.plan.scalars import Call, Literal, Scalar

NARROWED: Final = 3  # `CASE WHEN x BETWEEN low AND high THEN x END`
_COMFORTABLE: Final = 2**62
_LEAST: Final = Fraction(1, 10**300)
_MOST_DIGITS: Final = 38
_PRODUCT: Final = 4
_DIVIDEND, _DIVISOR = 4, 6
_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})


class KnownRanges(Protocol):
    """What is known of the values of expressions."""

    def range(self, scalar: Scalar) -> Range | None: ...

    def grain(self, scalar: Scalar) -> Fraction | None: ...


Copies: TypeAlias = Callable[[Call, KnownRanges], tuple[int, ...]]


def times(*many: int) -> Copies:
    """As often as it is said for each operand."""
    return lambda _, __: many


def times_each(many: int) -> Copies:
    return lambda call, _: (many,) * len(call.parts)


once: Final = times_each(1)


def conversion(call: Call, _: KnownRanges) -> tuple[int, ...]:
    """Values that are brought into one type."""
    return (conversion_of(call.parts),) * len(call.parts)


def conversion_of(parts: tuple[Scalar, ...]) -> int:
    """A decimal that meets a double is made one, within the range of doubles."""
    families = {one.type.family for one in parts}
    return 3 if {Family.EXACT, Family.FLOAT} <= families else 1


def pattern(call: Call, _: KnownRanges) -> tuple[int, ...]:
    sign = call.parts[1]
    found = read_pattern(str(sign.value) if isinstance(sign, Literal) else "")
    anchored = sum(1 for piece in (found.start, found.end or ()) for _ in piece_texts(piece))
    return 4 + anchored, 0


def arithmetic(of_fractions: Copies = once) -> Copies:
    """Of whole numbers, which are narrowed to their type, of days, and of other numbers as it is said."""

    def copies(call: Call, known: KnownRanges) -> tuple[int, ...]:
        if any(one.type.family in _TIMES for one in call.parts):
            return tuple(9 if one.type.family is Family.WHOLE else 3 for one in call.parts)
        if call.type.family is Family.WHOLE:
            return (1 if _fits(call, known) else NARROWED,) * len(call.parts)
        return of_fractions(call, known)

    return copies


def _fits(call: Call, known: KnownRanges) -> bool:
    bound = call.type.bound or 0
    found = known.range(call)
    operands = [known.range(one) for one in call.parts]
    if found is None or any(one is None for one in operands):
        return False
    reach = max(max(abs(one.low), abs(one.high)) for one in (found, *operands) if one is not None)
    return reach < _COMFORTABLE and -bound <= found.low and found.high < bound


def product(call: Call, known: KnownRanges) -> tuple[int, ...]:
    """Decimals that DuckDB cannot hold are doubles there; doubles are guarded where they may vanish."""
    if _is_decimal(call):
        return (1, 1)
    near = [_nearest_to_zero(one, known) for one in call.parts]
    return (1, 1) if near[0] * near[1] >= _LEAST else (_PRODUCT, _PRODUCT)


def remainder(call: Call, _: KnownRanges) -> tuple[int, ...]:
    return (1, 1) if _is_decimal(call) else (1, 2)


def quotient(call: Call, known: KnownRanges) -> tuple[int, ...]:
    near = [_nearest_to_zero(one, known) for one in call.parts]
    found = [known.range(one) for one in call.parts]
    if any(one is None for one in found) or not near[1]:
        return (_DIVIDEND, _DIVISOR)
    reach = [max(abs(one.low), abs(one.high)) for one in found if one is not None]
    safe = reach[0] / near[1] <= 1 / _LEAST and near[0] / max(reach[1], Fraction(1)) >= _LEAST
    return (1, 1) if safe else (_DIVIDEND, _DIVISOR)


def _is_decimal(call: Call) -> bool:
    """Whether the types alone say that DuckDB computes a decimal."""
    if call.type.family is not Family.EXACT:
        return False
    before = behind = 0
    for one in call.parts:
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


def _nearest_to_zero(scalar: Scalar, known: KnownRanges) -> Fraction:
    found = known.range(scalar)
    if found is not None and found.low > 0:
        return found.low
    if found is not None and found.high < 0:
        return -found.high
    return known.grain(scalar) or Fraction(0)
