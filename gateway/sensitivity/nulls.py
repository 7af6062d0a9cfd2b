"""Whether an expression can be NULL, somewhat finer than its operators say: sums of what is there are there."""

from collections.abc import Mapping
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar
from gateway.plan.types import NUMBERS
from gateway.sensitivity.bounds import Bounds
from gateway.sensitivity.expressions import bounds_of, of_type

_KEEPING: Final = frozenset(
    {"+", "-", "*", "negate", "abs", "sign", "floor", "ceil", "ceiling", "round", "trunc"}
    | {"width_bucket", "extract", "date_trunc", "and", "or", "not"}
)
_DIVIDING: Final = frozenset({"/", "%", "mod"})


def can_be_null(  # noqa: PLR0911 - one answer for each kind of expression
    scalar: Scalar, columns: Mapping[str, Bounds]
) -> bool:
    """False only where no row can make it NULL; then there is no group for NULL."""
    if not scalar.nullable:
        return False
    match scalar:
        case Call(function, parts) if function in _KEEPING | _DIVIDING:
            if function in _DIVIDING and not _never_zero(parts[1]):
                return True
            return any(can_be_null(one, columns) for one in parts) or not _fits(scalar, columns)
        case Cast(what) if what.type.family in NUMBERS and scalar.type.family in NUMBERS:
            narrower = scalar.type.bound is not None and not _within(what, scalar, columns)
            return can_be_null(what, columns) or narrower
        case Cast(what) if what.type.family in {Family.DATE, Family.TIMESTAMP, Family.BOOLEAN}:
            return can_be_null(what, columns)
        case Case():
            return any(can_be_null(one, columns) for one in scalar.results)
        case _:
            return True


def _never_zero(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is not None and scalar.value != 0


def _fits(call: Call, columns: Mapping[str, Bounds]) -> bool:
    """A result that does not fit its type is NULL."""
    return call.type.family is not Family.WHOLE or _within(call, call, columns)


def _within(what: Scalar, typed: Scalar, columns: Mapping[str, Bounds]) -> bool:
    found, bound = bounds_of(what, columns).range, typed.type.bound
    if found is None or bound is None:
        return False
    whole = of_type(typed.type).range
    if whole is not None:
        return whole.low <= found.low and found.high <= whole.high
    return -bound < found.low and found.high < bound - 1
