"""Where an expression that only ever rises or falls with a column is below or above a constant: by solving it.

INVARIANT: what is given is exact. An expression is solved only where its value is the same on every source, where it
is NULL exactly where the column is, and where the bound does not cut through a cell; else nothing is said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import Family, Kind
from gateway.catalog.values import Value
from gateway.plan.fields import Field
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift
from gateway.ranges.calendar import DAY, Civil, days_from, months_later, truncated
from gateway.ranges.evaluate import NotComputed, evaluated
from gateway.regions.axis import FIRST, LAST, Axis
from gateway.regions.cells import Cells, Steps, intersection, union
from gateway.regions.grid import grid_of, is_told, number, value_at, within

_MIRRORED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_EXACT_DIGITS: Final = 10**15
_MONTHS: Final = MappingProxyType({"month": 1, "quarter": 3, "year": 12})
_LENGTHS: Final = MappingProxyType(
    {"week": 7 * DAY, "day": DAY, "hour": DAY // 24, "minute": DAY // 1440, "second": 1_000_000}
)
_CALENDAR: Final = (days_from(Civil(2, 1, 1)) * DAY, days_from(Civil(9998, 12, 31)) * DAY)
_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})


class Unsolved(Exception):
    """Nobody has argued that it can be said exactly."""


@dataclass(frozen=True, slots=True)
class _Test:
    """`<`, `<=`, `>` or `>=` and a number."""

    operator: str
    bound: Fraction

    @property
    def below(self) -> bool:
        return self.operator.startswith("<")

    @property
    def inclusive(self) -> bool:
        return self.operator.endswith("=")

    def moved(self, by: Fraction) -> "_Test":
        return _Test(self.operator, self.bound + by)

    def scaled(self, by: Fraction) -> "_Test":
        if not by:
            raise Unsolved
        operator = self.operator if by > 0 else _MIRRORED[self.operator]
        return _Test(operator, self.bound / by)


def solved(scalar: Scalar, field: Field, axis: Axis, operator: str, bound: Value) -> Cells:
    """The cells in which the expression over the column is `operator` the bound; NULL is not among them."""
    given = _bound(scalar, bound)
    _check(scalar, field, axis)
    if operator == "=":
        low = _solve(scalar, _Test(">=", given), axis)
        return intersection(low, _solve(scalar, _Test("<=", given), axis))
    if operator == "<>":
        low = _solve(scalar, _Test("<", given), axis)
        return union(low, _solve(scalar, _Test(">", given), axis))
    return _solve(scalar, _Test(operator, given), axis)


def _bound(scalar: Scalar, bound: Value) -> Fraction:
    """The constant in the unit of the expression: days beside a date, microseconds beside a timestamp."""
    found = number(bound)
    if found is None:
        raise Unsolved
    if scalar.type.family is Family.DATE and isinstance(bound, datetime):
        return found / DAY
    if scalar.type.family is Family.TIMESTAMP and not isinstance(bound, datetime):
        return found * DAY
    return found


def _check(scalar: Scalar, field: Field, axis: Axis) -> None:
    """That no value of the column makes it NULL: it rises or falls, so looking at both ends is enough."""
    if not _can_fail(scalar):
        return
    if axis.low is None or axis.high is None:
        raise Unsolved
    for end in (axis.low, axis.high):
        value = value_at(end, field.type)
        if isinstance(scalar, Shift):
            _check_shift(scalar, field, value)
            continue
        try:
            found = evaluated(scalar, Ref(field), value)
        except NotComputed as error:
            raise Unsolved from error
        if found is None:
            raise Unsolved


def _check_shift(shift: Shift, field: Field, value: Value) -> None:
    try:
        found = evaluated(shift.moved, Ref(field), value)
    except NotComputed as error:
        raise Unsolved from error
    there = None if found is None else number(found)
    if there is None:
        raise Unsolved
    if shift.moved.type.family is Family.DATE:
        there *= DAY
    moved = there + shift.days * DAY + shift.microseconds
    if not _CALENDAR[0] <= moved <= _CALENDAR[1]:
        raise Unsolved


def _can_fail(scalar: Scalar) -> bool:
    """Whether there are values of its type for which it would be NULL, for what is solved here."""
    match scalar:
        case Ref():
            return False
        case Call(function, parts) if function in {"floor", "ceil", "ceiling"}:
            return _can_fail(parts[0])
        case Call("date_trunc" | "extract", parts):
            return _can_fail(parts[1])
        case Call("/", (of, Literal(value))) if value and scalar.type.family is Family.EXACT:
            return _can_fail(of)
        case Cast(what) if what.type.family in _TIMES:
            return _can_fail(what)
        case _:
            return True


def _solve(scalar: Scalar, test: _Test, axis: Axis) -> Cells:  # noqa: PLR0911 - one answer for each kind
    match scalar:
        case Ref(field):
            return _cells(field, test, axis)
        case Cast():
            return _solve(scalar.what, _through_cast(scalar, test), axis)
        case Shift(months=0):
            return _solve_shift(scalar, test, axis)
        case Call("date_trunc" | "extract", (Literal(value=str(part)), of)):
            return _solve(of, _of_time(scalar.function, part, of, test), axis)
        case Call("width_bucket", (of, Literal(low), Literal(high), Literal(count))):
            ends = [number(one) for one in (low, high, count) if one is not None]
            return _solve_bucket(of, ends, test, axis)
        case Call("negate" | "floor" | "ceil" | "ceiling", (of,)):
            return _solve(of, _ALONE[scalar.function](test), axis)
        case Call(function, (of, Literal(value))) if function in _WITH and value is not None:
            return _solve(of, _WITH[function](scalar, _amount(scalar, value), test, axis), axis)
        case Call(function, (Literal(value), of)) if function in _FROM and value is not None:
            return _solve(of, _FROM[function](scalar, _amount(scalar, value), test, axis), axis)
        case _:
            raise Unsolved


def _cells(field: Field, test: _Test, axis: Axis) -> Cells:
    grid = grid_of(field.type)
    if grid is None or not is_told(test.bound, field.type):
        raise Unsolved
    # above the bound is what is not below it
    last = grid.last(test.bound, inclusive=test.inclusive is test.below)
    kept = None if last is None else within(last, axis)
    if kept is None:
        raise Unsolved
    if test.below:
        return Steps(((FIRST, kept),)) if kept > FIRST else Steps(())
    return Steps(((kept + 1, LAST),)) if kept < LAST else Steps(())


def _through_cast(cast: Cast, test: _Test) -> _Test:
    of, to = cast.what.type, cast.type
    match of.family, to.family:
        case (Family.DATE, Family.TIMESTAMP) if to.kind is Kind.TIMESTAMP:
            return _Test(test.operator, test.bound / DAY)
        case (Family.TIMESTAMP, Family.DATE) if of.kind is Kind.TIMESTAMP:
            return _Test(*_floored(test)).scaled(Fraction(1, DAY))
        case (Family.WHOLE, Family.WHOLE | Family.EXACT) if to.precision is None:
            return test
        case (Family.EXACT, Family.EXACT) if to.precision is None:
            return test
        case (Family.DATE, Family.DATE):
            return test
        case _:
            raise Unsolved


def _solve_shift(shift: Shift, test: _Test, axis: Axis) -> Cells:
    back = test.moved(Fraction(-shift.days * DAY - shift.microseconds))
    if shift.moved.type.family is Family.DATE:
        back = _Test(back.operator, back.bound / DAY)
    return _solve(shift.moved, back, axis)


def _floored(test: _Test) -> tuple[str, Fraction]:
    """The test on x that floor(x) passes the test."""
    low, high = Fraction(floor(test.bound)), Fraction(ceil(test.bound))
    return {
        "<": ("<", high),
        "<=": ("<", low + 1),
        ">": (">=", low + 1),
        ">=": (">=", high),
    }[test.operator]


def _ceiled(test: _Test) -> tuple[str, Fraction]:
    low, high = Fraction(floor(test.bound)), Fraction(ceil(test.bound))
    return {
        "<": ("<=", high - 1),
        "<=": ("<=", low),
        ">": (">", low),
        ">=": (">", high - 1),
    }[test.operator]


def _of_time(function: str, part: str, of: Scalar, test: _Test) -> _Test:
    """Years rise, and so do the beginnings of periods; other parts of a time come again and again."""
    if of.type.kind is Kind.TIMESTAMPTZ or of.type.family not in _TIMES:
        raise Unsolved
    if function == "extract":
        if part != "year":
            raise Unsolved
        operator, year = _floored(test)
        if not -9_000 < year < 9_000:  # noqa: PLR2004 - far outside of what timestamps are
            raise Unsolved
        found = _Test(operator, Fraction(days_from(Civil(int(year), 1, 1)) * DAY))
    else:
        found = _from_beginning(part, test)
    return _Test(found.operator, found.bound / DAY) if of.type.family is Family.DATE else found


def _from_beginning(part: str, test: _Test) -> _Test:
    moment = floor(test.bound)
    begins = _beginning(part, moment)
    exact = begins == test.bound
    after = _following(part, begins)
    here = Fraction(begins if exact else after)
    return {
        "<": _Test("<", here),
        "<=": _Test("<", Fraction(after)),
        ">": _Test(">=", Fraction(after)),
        ">=": _Test(">=", here),
    }[test.operator]


def _beginning(part: str, moment: int) -> int:
    if part in {"hour", "minute", "second"}:
        return moment - moment % _LENGTHS[part]
    if part not in {*_LENGTHS, *_MONTHS}:
        raise Unsolved
    return truncated(part, moment // DAY) * DAY


def _following(part: str, begins: int) -> int:
    if part in _LENGTHS:
        return begins + _LENGTHS[part]
    return months_later(begins // DAY, _MONTHS[part]) * DAY


def _solve_bucket(of: Scalar, ends: list[Fraction | None], test: _Test, axis: Axis) -> Cells:
    given = [one for one in ends if one is not None]
    if len(given) != 3 or of.type.family is Family.FLOAT:  # noqa: PLR2004 - low, high, count
        raise Unsolved
    low, high, count = given
    operator, first = _floored(test)  # `<` or `>=` a whole number
    if low >= high or count < 1:
        raise Unsolved
    if not 1 <= first <= count + 1:
        every = (first < 1) is (operator == ">=")
        return Steps(((FIRST, LAST),) if every else ())
    return _solve(of, _Test(operator, low + (first - 1) * (high - low) / count), axis)


_ALONE: Final[MappingProxyType[str, Callable[[_Test], _Test]]] = MappingProxyType(
    {
        "negate": lambda test: test.scaled(Fraction(-1)),
        "floor": lambda test: _Test(*_floored(test)),
        "ceil": lambda test: _Test(*_ceiled(test)),
        "ceiling": lambda test: _Test(*_ceiled(test)),
    }
)


def _amount(call: Call, value: Value) -> Fraction:
    found = number(value)
    families = {one.type.family for one in (call, *call.parts)}
    # floats are rounded, and what a timestamp plus something is depends on more than numbers
    if found is None or families & {Family.FLOAT, Family.TIMESTAMP}:
        raise Unsolved
    return found


def _divided(call: Call, by: Fraction, test: _Test, axis: Axis) -> _Test:
    if by <= 0:
        raise Unsolved
    if all(one.type.family is Family.WHOLE for one in call.parts):
        return _divided_whole(by, test)
    # Sources keep fifteen digits of a quotient at least. That is enough to tell it from a whole bound where it is
    # another; where it is the bound, the number divided is whole, too, and nothing is rounded.
    grid = grid_of(call.parts[0].type)
    ends = [abs(one) for one in (axis.low, axis.high) if one is not None]
    exact = call.type.family is Family.EXACT and isinstance(call.parts[0], Ref)
    if not exact or grid is None or grid.halves or len(ends) != 2:  # noqa: PLR2004 - both ends
        raise Unsolved
    if by.denominator != 1 or test.bound.denominator != 1:
        raise Unsolved
    if max(ends) * grid.unit.numerator >= _EXACT_DIGITS:
        raise Unsolved
    return _Test(test.operator, test.bound * by)


def _divided_whole(by: Fraction, test: _Test) -> _Test:
    """Towards zero, as whole numbers are divided: in terms of the first quotient that passes, or the last."""
    operator, first = _floored(test)  # `<` or `>=` a whole number
    bound = (first - 1) * by + 1 if first <= 0 else first * by
    return _Test(operator, bound)


_Solving = Callable[[Call, Fraction, _Test, Axis], _Test]
_WITH: Final[MappingProxyType[str, _Solving]] = MappingProxyType(
    {
        "+": lambda _, by, test, __: test.moved(-by),
        "-": lambda _, by, test, __: test.moved(by),
        "*": lambda _, by, test, __: test.scaled(by),
        "/": _divided,
    }
)
_FROM: Final[MappingProxyType[str, _Solving]] = MappingProxyType(
    {
        "+": lambda _, by, test, __: test.moved(-by),
        "-": lambda _, by, test, __: test.moved(-by).scaled(Fraction(-1)),
        "*": lambda _, by, test, __: test.scaled(by),
    }
)
