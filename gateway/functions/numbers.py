"""Arithmetic and the functions of numbers, a row for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, trunc
from typing import Final

from gateway.catalog.types import Family
from gateway.errors import Code, SyntaxRefused
from gateway.functions import copy_counts as copies
from gateway.functions import costs, grains, range_arithmetic, result_sizes
from gateway.functions.exact_values import (
    Evaluate,
    Known,
    NotComputed,
    Number,
    as_type,
    of_numbers,
    of_whole_numbers,
)
from gateway.functions.function import (
    NUMBER,
    ONE_NUMBER,
    REAL,
    TO_INTEGER,
    WHOLE,
    Function,
    Gaps,
    Nullable,
    Nulls,
    Operands,
    RangeOf,
    Signature,
    arithmetic_range,
    common_result,
    exact_or_double,
    first_type,
    round_type,
)
from gateway.functions.range_arithmetic import OPEN, Bounds, Range
from gateway.functions.thresholds import (
    Monotone,
    Threshold,
    exact_dividend,
    of_bucket,
    of_operand,
    of_quotient,
    with_constant,
)
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Literal, Scalar

_LARGEST_POWER: Final = 16


def _date_sum_or(compute: Evaluate, sign: int) -> Evaluate:
    """Of dates and whole days, else of numbers."""

    def evaluate(call: Call, values: Sequence[Known]) -> Known:
        if not any(isinstance(one, date) for one in values):
            return compute(call, values)
        return as_type(_date_sum(values[0], values[1], sign), call.type)

    return evaluate


def _date_sum(left: Known, right: Known, sign: int) -> Known:
    if isinstance(left, datetime) or isinstance(right, datetime):
        raise NotComputed
    try:
        if isinstance(left, date) and isinstance(right, date) and sign < 0:
            return (left - right).days
        if isinstance(left, date) and isinstance(right, int):
            return left + timedelta(days=sign * right)
        if isinstance(right, date) and isinstance(left, int) and sign > 0:
            return right + timedelta(days=left)
    except OverflowError as error:
        raise NotComputed from error
    raise NotComputed


def _difference(_: Call, given: Sequence[Range], __: Operands) -> Bounds:
    negative = range_arithmetic.negate(given[1]).range
    return OPEN if negative is None else range_arithmetic.add(given[0], negative)


def _quotient(call: Call, given: Sequence[Range], operands: Operands) -> Bounds:
    whole = all(one.type.family is Family.WHOLE for one in call.parts)
    return range_arithmetic.divide(given[0], given[1], operands.grain(1), whole=whole)


def _remainder(_: Call, given: Sequence[Range], operands: Operands) -> Bounds:
    found = [operands.grain(place) for place in (0, 1)]
    whole = all(one is not None and one.denominator == 1 for one in found)
    return range_arithmetic.remainder(given[0], given[1], whole=whole)


def _to_places(of: Callable[[Range, int], Bounds]) -> RangeOf:
    """To so many digits behind the point, which are a constant."""

    def find(_: Call, given: Sequence[Range], __: Operands) -> Bounds:
        if len(given) == 1:
            return of(given[0], 0)
        return of(given[0], int(given[1].low)) if given[1].low == given[1].high else OPEN

    return arithmetic_range(find)


def _modulo(first: Fraction, second: Fraction) -> Number:
    return first - second * trunc(first / second)


def _truncation(call: Call, values: Sequence[Known]) -> Known:
    if len(values) > 1:
        raise NotComputed
    return of_numbers(trunc)(call, values)


def _sign(value: Number) -> int:
    return (value > 0) - (value < 0)


def _bucket(*given: Number) -> int:
    value, low, high, count = map(Fraction, given)
    if low >= high or not 1 <= count <= range_arithmetic.MOST_BUCKETS:
        raise NotComputed
    if value < low:
        return 0
    return min(floor((value - low) / (high - low) * count) + 1, int(count) + 1)


def _abs_as_case(call: Call) -> Scalar:
    (one,) = call.parts
    below = Call("<", (one, Literal(0, one.type)), BOOLEAN)
    return Case(((below, Call("negate", (one,), one.type)),), one, call.type)


def _check_digits(name: str, arguments: Sequence[Scalar]) -> None:
    kind = arguments[0].type
    if len(arguments) > 1 and kind.family is Family.FLOAT:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"`{name}` does not accept {kind} together with a number of digits",
            "cast the value to numeric",
        )


def _is_alone(call: Call) -> bool:
    return len(call.parts) == 1


def _always(_: Call) -> bool:
    return True


PLUS: Final = Function(
    name="+",
    signature=None,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=arithmetic_range(lambda _, given, __: range_arithmetic.add(given[0], given[1])),
    grain=grains.common,
    evaluate=_date_sum_or(of_numbers(lambda left, right: left + right), 1),
    monotone=Monotone(
        with_constant(lambda by, test: test.plus(-by), lambda by, test: test.plus(-by))
    ),
    is_distributed=True,
    cost=costs.addition,
    size=result_sizes.number,
    copies=copies.arithmetic(),
)
MINUS: Final = replace(
    PLUS,
    name="-",
    range=arithmetic_range(_difference),
    evaluate=_date_sum_or(of_numbers(lambda left, right: left - right), -1),
    monotone=Monotone(
        with_constant(
            lambda by, test: test.plus(by),
            lambda by, test: test.plus(-by).divided_by(Fraction(-1)),
        )
    ),
)
TIMES: Final = replace(
    PLUS,
    name="*",
    range=arithmetic_range(lambda _, given, __: range_arithmetic.multiply(given[0], given[1])),
    grain=grains.product,
    evaluate=of_numbers(lambda left, right: left * right),
    monotone=Monotone(
        with_constant(lambda by, test: test.divided_by(by), lambda by, test: test.divided_by(by))
    ),
    cost=costs.multiplication,
    size=result_sizes.product,
    copies=copies.arithmetic(copies.product),
)
DIVIDED: Final = replace(
    TIMES,
    name="/",
    gaps=Gaps.ZERO_DIVISOR,
    range=arithmetic_range(_quotient),
    grain=None,
    evaluate=of_whole_numbers(lambda left, right: trunc(left / right)),
    monotone=Monotone(of_quotient, exact_dividend),
    size=result_sizes.quotient,
    copies=copies.arithmetic(copies.quotient),
)
REMAINDER: Final = replace(
    DIVIDED,
    name="%",
    range=arithmetic_range(_remainder),
    grain=grains.common,
    evaluate=of_whole_numbers(_modulo),
    monotone=None,
    size=result_sizes.number,
    copies=copies.arithmetic(copies.remainder),
)
MOD: Final = replace(
    REMAINDER,
    name="mod",
    signature=Signature((WHOLE | {Family.EXACT},) * 2, common_result, 2, 2, same_type=True),
    is_distributed=False,
)
NEGATE: Final = replace(
    PLUS,
    name="negate",
    range=arithmetic_range(lambda _, given, __: range_arithmetic.negate(given[0])),
    evaluate=of_numbers(lambda value: -value),
    monotone=Monotone(of_operand(lambda test: test.divided_by(Fraction(-1)))),
)
ABS: Final = Function(
    name="abs",
    signature=Signature((NUMBER,), first_type, nullable=Nullable.WITH_FIRST),
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=arithmetic_range(lambda _, given, __: range_arithmetic.absolute(given[0])),
    grain=grains.common,
    evaluate=of_numbers(lambda value: abs(Fraction(value))),
    as_case=_abs_as_case,
    cost=costs.multiplication,
    size=result_sizes.number,
    copies=copies.arithmetic(),
)
SIGN: Final = Function(
    name="sign",
    signature=ONE_NUMBER,
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=arithmetic_range(lambda _, given, __: range_arithmetic.sign(given[0])),
    grain=grains.whole_number,
    evaluate=of_numbers(_sign),
    cost=costs.multiplication,
    size=result_sizes.number,
    copies=copies.once,
)
FLOOR: Final = replace(
    SIGN,
    name="floor",
    range=arithmetic_range(lambda _, given, __: range_arithmetic.floor_range(given[0])),
    evaluate=of_numbers(floor),
    monotone=Monotone(of_operand(Threshold.of_floor), lambda _: 0),
    counts=_always,
)
CEIL: Final = replace(
    FLOOR,
    name="ceil",
    range=arithmetic_range(lambda _, given, __: range_arithmetic.ceiling_range(given[0])),
    evaluate=of_numbers(ceil),
    monotone=Monotone(of_operand(Threshold.of_ceiling), lambda _: 0),
)
CEILING: Final = replace(CEIL, name="ceiling")
ROUND: Final = replace(
    SIGN,
    name="round",
    signature=Signature(
        (NUMBER, WHOLE),
        round_type,
        1,
        2,
        frozenset({1}),
        smallest=None,
        largest=None,
        check=_check_digits,
    ),
    range=_to_places(range_arithmetic.rounding),
    grain=grains.whole_number_alone,
    evaluate=None,  # of two numbers that are as near, databases take either
    counts=_is_alone,
    size=result_sizes.rounding,
)
TRUNC: Final = replace(
    ROUND,
    name="trunc",
    signature=Signature((NUMBER, WHOLE), round_type, 1, 2, frozenset({1}), check=_check_digits),
    range=_to_places(range_arithmetic.truncation),
    evaluate=_truncation,
)
SQRT: Final = Function(
    name="sqrt",
    signature=REAL,
    nulls=Nulls.STRICT,
    computes=True,
    range=arithmetic_range(lambda _, given, __: range_arithmetic.root_range(given[0])),
    cost=costs.of_decimals(costs.root),
    size=result_sizes.real,
    copies=copies.times(2),
)
LN: Final = replace(
    SQRT,
    name="ln",
    range=arithmetic_range(
        lambda _, given, operands: range_arithmetic.logarithm(
            given[0], operands.grain(0), ten=False
        )
    ),
    cost=costs.of_decimals(costs.logarithm(1)),
)
LOG: Final = replace(
    LN,
    name="log",
    range=arithmetic_range(
        lambda _, given, operands: range_arithmetic.logarithm(given[0], operands.grain(0), ten=True)
    ),
    cost=costs.of_decimals(costs.logarithm(2)),
)
EXP: Final = replace(
    SQRT,
    name="exp",
    range=arithmetic_range(lambda _, given, __: range_arithmetic.exponential(given[0])),
    cost=costs.of_decimals(costs.exponential),
    copies=copies.times(4),
)
POWER: Final = replace(
    SQRT,
    name="power",
    signature=Signature(
        (NUMBER, NUMBER),
        exact_or_double,
        2,
        2,
        frozenset({1}),
        smallest=-_LARGEST_POWER,
        largest=_LARGEST_POWER,
    ),
    range=arithmetic_range(
        lambda _, given, operands: range_arithmetic.power(given[0], given[1], operands.grain(0))
    ),
    cost=costs.of_decimals(costs.power),
    copies=copies.times(11, 13),
)
RAISED: Final = replace(POWER, name="^", signature=None)
WIDTH_BUCKET: Final = Function(
    name="width_bucket",
    signature=Signature(
        (NUMBER, NUMBER, NUMBER, WHOLE),
        TO_INTEGER,
        4,
        4,
        frozenset({1, 2, 3}),
        smallest=None,
        largest=None,
    ),
    nulls=Nulls.STRICT,
    gaps=Gaps.NONE,
    computes=True,
    range=arithmetic_range(lambda _, given, __: range_arithmetic.bucket(given[0], *given[1:])),
    evaluate=of_numbers(_bucket),
    monotone=Monotone(of_bucket),
    counts=_always,
    cost=costs.multiplication,
    size=result_sizes.type_size,
    copies=copies.times_each(4),
)

NUMBERS: Final = (
    *(PLUS, MINUS, TIMES, DIVIDED, REMAINDER, MOD, NEGATE, ABS, SIGN, FLOOR, CEIL, CEILING, ROUND),
    *(TRUNC, SQRT, LN, LOG, EXP, POWER, RAISED, WIDTH_BUCKET),
)
