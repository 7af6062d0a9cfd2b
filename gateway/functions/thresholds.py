"""A comparison of a call with a constant, as a comparison of its operand: for what only ever rises or falls.

Takes a call and the threshold its value is held against; gives the operand and the threshold that it is held against
instead, or whether every value passes. The formulas are those that the rows of the table name.

INVARIANT: the operand passes the one exactly where the call passes the other, on every source; else it is `Unsolved`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from gateway.catalog.types import Family
from gateway.catalog.values import Value
from gateway.functions.exact_values import exact_number
from gateway.functions.range_arithmetic import MOST_BUCKETS
from gateway.plan.scalars import Call, Literal, Scalar

_MIRRORED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_EXACT_DIGITS: Final = 10**15


class Unsolved(Exception):
    """Nobody has argued that it can be said exactly."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """`<`, `<=`, `>` or `>=` and a number."""

    operator: str
    bound: Fraction

    @property
    def below(self) -> bool:
        return self.operator.startswith("<")

    @property
    def inclusive(self) -> bool:
        return self.operator.endswith("=")

    def plus(self, by: Fraction) -> "Threshold":
        return Threshold(self.operator, self.bound + by)

    def divided_by(self, by: Fraction) -> "Threshold":
        if not by:
            raise Unsolved
        operator = self.operator if by > 0 else _MIRRORED[self.operator]
        return Threshold(operator, self.bound / by)

    def of_floor(self) -> "Threshold":
        """What x is held against where floor(x) is held against this; `<` or `>=` a whole number."""
        low, high = Fraction(floor(self.bound)), Fraction(ceil(self.bound))
        operator, bound = {
            "<": ("<", high),
            "<=": ("<", low + 1),
            ">": (">=", low + 1),
            ">=": (">=", high),
        }[self.operator]
        return Threshold(operator, bound)

    def of_ceiling(self) -> "Threshold":
        low, high = Fraction(floor(self.bound)), Fraction(ceil(self.bound))
        operator, bound = {
            "<": ("<=", high - 1),
            "<=": ("<=", low),
            ">": (">", low),
            ">=": (">", high - 1),
        }[self.operator]
        return Threshold(operator, bound)


class ColumnDigits(Protocol):
    """What is known of the one column below."""

    def largest(self, scalar: Scalar) -> int | None:
        """Its largest value, as a whole number of the steps of its type; None: the scalar is not it, or has none."""


Preimage: TypeAlias = tuple[int, Threshold] | bool
"""The place of the operand and its threshold; or whether every value passes, or none."""
Solve: TypeAlias = Callable[[Call, Threshold, ColumnDigits], Preimage]


def never(_: Call) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Monotone:
    """A function that rises or falls with one operand."""

    solve: Solve
    null_with: Callable[[Call], int | None] = never
    """The operand with which alone it is NULL; None: it can be NULL beside."""


def of_operand(change: Callable[[Threshold], Threshold]) -> Solve:
    """Of the only operand."""
    return lambda _, test, __: (0, change(test))


Changed: TypeAlias = Callable[[Fraction, Threshold], Threshold]


def with_constant(right: Changed, left: Changed) -> Solve:
    """Of one operand where the other, on the right or on the left, is a constant."""

    def solve(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
        match call.parts:
            case (_, Literal(value)) if value is not None:
                return 0, right(_amount(call, value), test)
            case (Literal(value), _) if value is not None:
                return 1, left(_amount(call, value), test)
        raise Unsolved

    return solve


def _amount(call: Call, value: Value) -> Fraction:
    found = exact_number(value)
    families = {one.type.family for one in (call, *call.parts)}
    # floats are rounded, and what a timestamp plus something is depends on more than numbers
    if found is None or families & {Family.FLOAT, Family.TIMESTAMP}:
        raise Unsolved
    return found


def of_quotient(call: Call, test: Threshold, column: ColumnDigits) -> Preimage:
    """Of what is divided by a constant."""
    divisor = call.parts[1]
    if not isinstance(divisor, Literal) or divisor.value is None:
        raise Unsolved
    by = _amount(call, divisor.value)
    if by <= 0:
        raise Unsolved
    if all(one.type.family is Family.WHOLE for one in call.parts):
        return 0, _of_whole_quotient(by, test)
    # Sources keep fifteen digits of a quotient at least. That is enough to tell it from a whole bound where it is
    # another; where it is the bound, the number divided is whole, too, and nothing is rounded.
    largest = column.largest(call.parts[0]) if call.type.family is Family.EXACT else None
    if largest is None or by.denominator != 1 or test.bound.denominator != 1:
        raise Unsolved
    if largest >= _EXACT_DIGITS:
        raise Unsolved
    return 0, Threshold(test.operator, test.bound * by)


def _of_whole_quotient(by: Fraction, test: Threshold) -> Threshold:
    """Towards zero, as whole numbers are divided: in terms of the first quotient that passes, or the last."""
    whole = test.of_floor()
    first = whole.bound
    return Threshold(whole.operator, (first - 1) * by + 1 if first <= 0 else first * by)


def exact_dividend(call: Call) -> int | None:
    """A quotient of decimals is NULL with its dividend alone, where the divisor is not zero."""
    divisor = call.parts[1]
    there = isinstance(divisor, Literal) and bool(divisor.value)
    return 0 if there and call.type.family is Family.EXACT else None


def of_bucket(call: Call, test: Threshold, _: ColumnDigits) -> Preimage:
    """Of what is sorted into buckets whose ends are constants."""
    ends = [
        exact_number(one.value)
        for one in call.parts[1:]
        if isinstance(one, Literal) and one.value is not None
    ]
    given = [one for one in ends if one is not None]
    if len(given) != 3 or call.parts[0].type.family is Family.FLOAT:  # noqa: PLR2004 - low, high, count
        raise Unsolved
    low, high, count = given
    whole = test.of_floor()
    if low >= high or not 1 <= count <= MOST_BUCKETS:
        raise Unsolved
    if not 1 <= whole.bound <= count + 1:
        return (whole.bound < 1) is (whole.operator == ">=")
    return 0, Threshold(whole.operator, low + (whole.bound - 1) * (high - low) / count)
