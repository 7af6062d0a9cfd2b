"""The functions that give one of their arguments, a row for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from gateway.catalog.types import Kind
from gateway.functions import copy_counts as copies
from gateway.functions import costs, grains, result_sizes
from gateway.functions.exact_values import Known, NotComputed, as_first_type, as_type, timestamp
from gateway.functions.function import Function, Nulls, Operands
from gateway.functions.range import NOTHING, Bounds, hull_bounds
from gateway.functions.signature import ANY, Nullable, Signature, common_result
from gateway.plan.scalars import Call, Case, Literal, Scalar
from gateway.plan.types import BOOLEAN

_MOST_ARGUMENTS: Final = 32
_ANY_NUMBER_OF_THEM: Final = Signature(
    (ANY,), common_result, 1, _MOST_ARGUMENTS, same_type=True, nullable=Nullable.WITH_ALL
)


def _is_there(scalar: Scalar) -> bool:
    """Whether no state of the source and no enforcement can make it NULL.

    What a column's constraints say is not enough: NaN, infinities and what is outside of a set become NULL.
    """
    return isinstance(scalar, Literal) and scalar.value is not None


def _coalesce_range(call: Call, operands: Operands) -> Bounds:
    given = operands.as_results()
    sure = [place for place, one in enumerate(call.parts) if _is_there(one)]
    if sure:
        given = given[: sure[0] + 1]
    return hull_bounds(one for one in given if one is not NOTHING)


def _extreme_range(pick: Callable[[Bounds, Sequence[Bounds]], Bounds]) -> Callable[..., Bounds]:
    """An argument that is there bounds the result from one side, whatever the others are; NULL is passed over."""

    def find(call: Call, operands: Operands) -> Bounds:
        given = operands.as_results()
        left = [one for one in given if one is not NOTHING]
        found = hull_bounds(left)
        if not left:
            return found
        firm = [
            each
            for each, one in zip(given, call.parts, strict=True)
            if each is not NOTHING and _is_there(one)
        ]
        return pick(found, firm)

    return find


def _not_below(found: Bounds, firm: Sequence[Bounds]) -> Bounds:
    lows = [one.low for one in firm if one.low is not None]
    return Bounds(max(lows) if lows else found.low, found.high, found.step)


def _not_above(found: Bounds, firm: Sequence[Bounds]) -> Bounds:
    highs = [one.high for one in firm if one.high is not None]
    return Bounds(found.low, min(highs) if highs else found.high, found.step)


def _result(value: Known, call: Call) -> Known:
    """The value that is chosen: a date among timestamps is one."""
    if isinstance(value, date) and call.type.kind is Kind.TIMESTAMP:
        return timestamp(value)
    return value


def _coalesce(call: Call, values: Sequence[Known]) -> Known:
    there = [one for one in as_first_type(call, values) if one is not None]
    return as_type(_result(there[0], call), call.type) if there else None


def _nullif(call: Call, values: Sequence[Known]) -> Known:
    first, second = as_first_type(call, values)
    return None if first is not None and first == second else _result(first, call)


def _extreme(pick: Callable[..., Known]) -> Callable[[Call, Sequence[Known]], Known]:
    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        there = [one for one in as_first_type(call, values) if one is not None]
        if any(isinstance(one, str | bool) for one in there):
            raise NotComputed
        return as_type(_result(pick(there), call), call.type) if there else None

    return evaluate


def _coalesce_as_case(call: Call) -> Scalar:
    *first, last = call.parts
    there = tuple((Call("is not null", (one,), BOOLEAN, nullable=False), one) for one in first)
    return Case(there, last, call.type)


def _nullif_as_case(call: Call) -> Scalar:
    one, other = call.parts
    same = Call("=", (one, other), BOOLEAN)
    return Case(((same, Literal(None, call.type)),), one, call.type)


def _extreme_as_case(operator: str) -> Callable[[Call], Scalar]:
    """Of one argument and a constant."""

    def case(call: Call) -> Scalar:
        match call.parts:
            case (one, Literal(value) as other) if value is not None:
                pass
            case (Literal(value) as other, one) if value is not None:
                pass
            case _:
                return call
        missing = Call("is null", (one,), BOOLEAN, nullable=False)
        chosen = Call(operator, (one, other), BOOLEAN)
        return Case(((missing, other), (chosen, one)), other, call.type)

    return case


COALESCE: Final = Function(
    name="coalesce",
    signature=_ANY_NUMBER_OF_THEM,
    nulls=Nulls.OWN,
    computes=False,
    range=_coalesce_range,
    grain=grains.common,
    evaluate=_coalesce,
    as_case=_coalesce_as_case,
    is_one_of=True,
    cost=costs.comparison,
    size=result_sizes.largest_operand,
    copies=copies.conversion,
)
GREATEST: Final = replace(
    COALESCE,
    name="greatest",
    range=_extreme_range(_not_below),
    evaluate=_extreme(max),
    as_case=_extreme_as_case(">="),
    is_one_of=False,
)
LEAST: Final = replace(
    GREATEST,
    name="least",
    range=_extreme_range(_not_above),
    evaluate=_extreme(min),
    as_case=_extreme_as_case("<="),
)
NULLIF: Final = Function(
    name="nullif",
    signature=Signature((ANY,), common_result, 2, 2, same_type=True),
    nulls=Nulls.OWN,
    computes=False,
    range=lambda _, operands: operands.as_results()[0],
    grain=grains.of_first,
    evaluate=_nullif,
    as_case=_nullif_as_case,
    cost=costs.comparison,
    size=result_sizes.first_operand,
    copies=copies.conversion,
)

CHOICES: Final = (COALESCE, GREATEST, LEAST, NULLIF)
