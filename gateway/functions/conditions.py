"""The operators of conditions: connectives, comparisons, tests of NULL and truth; a row for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.catalog.types import Family
from gateway.functions import copy_counts as copies
from gateway.functions import costs, result_sizes
from gateway.functions.exact_values import Evaluate, Known, NotComputed, as_first_type, timestamp
from gateway.functions.function import Function, Gaps, Nulls, no_range
from gateway.plan.scalars import Call


def _and(call: Call, values: Sequence[Known]) -> Known:
    there = [one for one in as_first_type(call, values) if one is not None]
    return False if False in there else None if len(there) < len(values) else True


def _or(call: Call, values: Sequence[Known]) -> Known:
    there = [one for one in as_first_type(call, values) if one is not None]
    return True if True in there else None if len(there) < len(values) else False


def _in(call: Call, values: Sequence[Known]) -> Known:
    what, *among = as_first_type(call, values)
    if what is None:
        return None
    return True if what in among else None if None in among else False


def _test(holds: Callable[[Known], bool]) -> Evaluate:
    return lambda _, values: holds(values[0])


def _pair(call: Call, values: Sequence[Known]) -> tuple[Known, Known]:
    left, right = values
    if {one.type.family for one in call.parts} == {Family.DATE, Family.TIMESTAMP}:
        return timestamp(left), timestamp(right)
    return left, right


def _equality(*, negated: bool) -> Evaluate:
    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        left, right = _pair(call, values)
        return (left == right) is not negated

    return evaluate


def _order(holds: Callable[[Any, Any], bool]) -> Evaluate:
    """Of anything but text, whose order is the source's own."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        left, right = _pair(call, values)
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
    evaluate=lambda _, values: values[0] != values[1],
)
NOT_DISTINCT: Final = replace(
    DISTINCT, name="is not distinct from", evaluate=lambda _, values: values[0] == values[1]
)

CONDITIONS: Final = (
    *(AND, OR, NOT, IN, IS_NULL, IS_NOT_NULL, IS_UNKNOWN, IS_NOT_UNKNOWN, IS_TRUE, IS_NOT_TRUE),
    *(IS_FALSE, IS_NOT_FALSE, EQUAL, NOT_EQUAL, LESS, NOT_GREATER, GREATER, NOT_LESS),
    *(DISTINCT, NOT_DISTINCT),
)
