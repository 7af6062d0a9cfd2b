"""Conditions and choices; a row for each: connectives, comparisons, tests of NULL and truth, and functions that give
one of their arguments.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.functions import copy_counts as copies
from gateway.functions import costs, grains, result_sizes
from gateway.functions.exact_values import (
    Evaluate,
    Known,
    NotComputed,
    as_compared,
    as_type,
)
from gateway.functions.function import (
    ANY,
    Function,
    Gaps,
    Nullable,
    Nulls,
    Operands,
    Signature,
    common_result,
    no_range,
)
from gateway.functions.range_arithmetic import NOTHING, Bounds, hull_bounds
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Literal, Scalar


def _and(_: Call, values: Sequence[Known]) -> Known:
    there = [one for one in values if one is not None]
    return False if False in there else None if len(there) < len(values) else True


def _or(_: Call, values: Sequence[Known]) -> Known:
    there = [one for one in values if one is not None]
    return True if True in there else None if len(there) < len(values) else False


def _in(call: Call, values: Sequence[Known]) -> Known:
    what, *among = as_compared(call, values)
    if what is None:
        return None
    return True if what in among else None if None in among else False


def _test(holds: Callable[[Known], bool]) -> Evaluate:
    return lambda _, values: holds(values[0])


def _equality(*, negated: bool) -> Evaluate:
    """Of values that are there, or of NULL as a value of its own, as the row says."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        left, right = as_compared(call, values)
        return (left == right) is not negated

    return evaluate


def _order(holds: Callable[[Any, Any], bool]) -> Evaluate:
    """Of anything but text, whose order is the source's own."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        left, right = as_compared(call, values)
        if isinstance(left, str) or isinstance(right, str):
            raise NotComputed
        return holds(left, right)

    return evaluate


AND: Final = Function(
    name="and",
    signature=None,
    nulls=Nulls.LOGIC,
    gaps=Gaps.NONE,
    computes=False,
    range=no_range,
    evaluate=_and,
    cost=costs.connective,
    size=result_sizes.type_size,
    copies=copies.once,
)
OR: Final = replace(AND, name="or", evaluate=_or)
NOT: Final = replace(
    AND,
    name="not",
    nulls=Nulls.STRICT,
    evaluate=_test(lambda value: value is not True),
    cost=costs.constant(costs.STEP),
)
IN: Final = replace(
    AND,
    name="in",
    gaps=Gaps.UNKNOWN,
    evaluate=_in,
    cost=costs.membership,
    copies=copies.conversion,
)
IS_NULL: Final = Function(
    name="is null",
    signature=None,
    nulls=Nulls.OWN,
    computes=False,
    range=no_range,
    evaluate=_test(lambda value: value is None),
    is_distributed=True,
    cost=costs.constant(costs.STEP),
    size=result_sizes.type_size,
    copies=copies.once,
)
IS_NOT_NULL: Final = replace(
    IS_NULL, name="is not null", evaluate=_test(lambda value: value is not None)
)
IS_UNKNOWN: Final = replace(IS_NULL, name="is unknown", is_distributed=False)
IS_NOT_UNKNOWN: Final = replace(IS_NOT_NULL, name="is not unknown", is_distributed=False)
IS_TRUE: Final = replace(IS_UNKNOWN, name="is true", evaluate=_test(lambda value: value is True))
IS_NOT_TRUE: Final = replace(
    IS_UNKNOWN, name="is not true", evaluate=_test(lambda value: value is not True)
)
IS_FALSE: Final = replace(IS_UNKNOWN, name="is false", evaluate=_test(lambda value: value is False))
IS_NOT_FALSE: Final = replace(
    IS_UNKNOWN, name="is not false", evaluate=_test(lambda value: value is not False)
)
EQUAL: Final = Function(
    name="=",
    signature=None,
    nulls=Nulls.STRICT,
    computes=False,
    range=no_range,
    evaluate=_equality(negated=False),
    cost=costs.comparison,
    size=result_sizes.type_size,
    copies=copies.conversion,
)
NOT_EQUAL: Final = replace(EQUAL, name="<>", evaluate=_equality(negated=True))
LESS: Final = replace(EQUAL, name="<", evaluate=_order(lambda left, right: left < right))
NOT_GREATER: Final = replace(EQUAL, name="<=", evaluate=_order(lambda left, right: left <= right))
GREATER: Final = replace(EQUAL, name=">", evaluate=_order(lambda left, right: left > right))
NOT_LESS: Final = replace(EQUAL, name=">=", evaluate=_order(lambda left, right: left >= right))
DISTINCT: Final = replace(
    EQUAL,
    name="is distinct from",
    nulls=Nulls.OWN,
    evaluate=_equality(negated=True),
)
NOT_DISTINCT: Final = replace(
    DISTINCT, name="is not distinct from", evaluate=_equality(negated=False)
)

CONDITIONS: Final = (
    *(AND, OR, NOT, IN, IS_NULL, IS_NOT_NULL, IS_UNKNOWN, IS_NOT_UNKNOWN, IS_TRUE, IS_NOT_TRUE),
    *(IS_FALSE, IS_NOT_FALSE, EQUAL, NOT_EQUAL, LESS, NOT_GREATER, GREATER, NOT_LESS),
    *(DISTINCT, NOT_DISTINCT),
)


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


def _coalesce(call: Call, values: Sequence[Known]) -> Known:
    there = [one for one in as_compared(call, values) if one is not None]
    return as_type(there[0], call.type) if there else None


def _nullif(call: Call, values: Sequence[Known]) -> Known:
    first, second = as_compared(call, values)
    return None if first is None or first == second else as_type(first, call.type)


def _extreme(pick: Callable[..., Known]) -> Callable[[Call, Sequence[Known]], Known]:
    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        there = [one for one in as_compared(call, values) if one is not None]
        if any(isinstance(one, str | bool) for one in there):
            raise NotComputed
        return as_type(pick(there), call.type) if there else None

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
