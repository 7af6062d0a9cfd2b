"""The value of an expression, exactly: for functions that give the same in every source and here.

INVARIANT: what is not known to be the same everywhere is `NotComputed`, never a guess. NULL is None.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, trunc
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar
from gateway.ranges.calendar import DAY, civil, days_of, iso_year, microseconds_of, truncated

_MOST_DIGITS: Final = 10**30
_EXACT_FLOAT: Final = 2**40


class NotComputed(Exception):
    """Nobody has argued that the value is the same everywhere."""


Known: TypeAlias = Value | None


def evaluated(scalar: Scalar, atom: Scalar | None, given: Known) -> Known:
    """The value where `atom` has the value `given`."""
    if atom is not None and scalar == atom:
        return typed(given, scalar.type)
    match scalar:
        case Literal(value, kind):
            return typed(value, kind)
        case Case():
            for when, then in scalar.branches:
                if evaluated(when, atom, given) is True:
                    return typed(_met(evaluated(then, atom, given), then, scalar), scalar.type)
            return typed(
                _met(evaluated(scalar.otherwise, atom, given), scalar.otherwise, scalar),
                scalar.type,
            )
        case Cast(what, kind):
            return _cast(evaluated(what, atom, given), what.type, kind)
        case Call():
            return _call(scalar, atom, given)
        case _:
            raise NotComputed


def typed(value: Known, kind: ColumnType) -> Known:
    """The value as the catalog has values of the type; what does not fit is for others to say."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | Fraction):
        if abs(Fraction(value)) > _MOST_DIGITS:
            raise NotComputed
        if kind.family is not Family.WHOLE:
            return Fraction(value)
        bound = kind.bound
        if value != int(value) or (bound is not None and not -bound <= value < bound):
            raise NotComputed
        return int(value)
    return value


def _met(value: Known, one: Scalar, among: Scalar) -> Known:
    """A value that stands where values of another type stand."""
    if value is not None and one.type.family is not among.type.family:
        numbers = {Family.WHOLE, Family.EXACT}
        if not {one.type.family, among.type.family} <= numbers:
            raise NotComputed
    return value


def _cast(  # noqa: PLR0911 - one answer for each pair of types
    value: Known, of: ColumnType, to: ColumnType
) -> Known:
    if value is None:
        return None
    match of.family, to.family:
        case (Family.WHOLE, Family.WHOLE | Family.EXACT) if to.precision is None:
            return typed(value, to)
        case (Family.EXACT, Family.EXACT) if to.precision is None:
            return value
        case (Family.BOOLEAN, Family.WHOLE):
            return int(value is True)
        case (Family.DATE, Family.TIMESTAMP) if to.kind is Kind.TIMESTAMP:
            return _stamp(value)
        case (Family.TIMESTAMP, Family.DATE) if isinstance(value, datetime):
            return value.date()
        case (Family.TEXT, Family.TEXT) if to.length is None:
            return value
        case _:
            raise NotComputed


def _stamp(value: Known) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    raise NotComputed


def _call(  # noqa: PLR0911 - one answer for each kind of function
    call: Call, atom: Scalar | None, given: Known
) -> Known:
    name, parts = call.function, call.parts
    if name in {"coalesce", "nullif", "and", "or", "in", "greatest", "least"}:
        values = [_met(evaluated(one, atom, given), one, parts[0]) for one in parts]
        return _chosen(name, values, call)
    values = [evaluated(one, atom, given) for one in parts]
    if name in _TESTS:
        return _TESTS[name](values[0])
    if name in {"is distinct from", "is not distinct from"}:
        same = values[0] == values[1]
        return same if name == "is not distinct from" else not same
    if None in values:
        return None
    if name == "not":
        return values[0] is not True
    if name in _COMPARING:
        return _compared(name, *_pair(call, values))
    if name == "extract":
        return typed(_extracted(str(values[0]), values[1]), call.type)
    if name == "date_trunc":
        return _beginning(str(values[0]), _stamp(values[1]))
    if any(one.type.family is Family.FLOAT for one in parts) and not all(map(_is_whole, values)):
        # whole floats are added and multiplied exactly, others are rounded
        raise NotComputed
    return typed(_computed(call, [one for one in values if one is not None]), call.type)


_TESTS: Final[MappingProxyType[str, Callable[[Known], bool]]] = MappingProxyType(
    {
        "is null": lambda value: value is None,
        "is not null": lambda value: value is not None,
        "is true": lambda value: value is True,
        "is false": lambda value: value is False,
        "is not true": lambda value: value is not True,
        "is not false": lambda value: value is not False,
    }
)
_COMPARING: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})


def _chosen(  # noqa: PLR0911 - one answer for each function
    name: str, values: list[Known], call: Call
) -> Known:
    there = [one for one in values if one is not None]
    match name:
        case "coalesce":
            return typed(there[0], call.type) if there else None
        case "nullif":
            return None if values[0] is not None and values[0] == values[1] else values[0]
        case "and":
            return False if False in there else None if len(there) < len(values) else True
        case "or":
            return True if True in there else None if len(there) < len(values) else False
        case "in":
            if values[0] is None:
                return None
            return True if values[0] in values[1:] else None if None in values else False
        case _:
            if any(isinstance(one, str | bool) for one in there):
                raise NotComputed
            if not there:
                return None
            pick = max if name == "greatest" else min
            return typed(pick(there), call.type)


def _pair(call: Call, values: list[Known]) -> tuple[Value, Value]:
    left, right = values
    families = {one.type.family for one in call.parts}
    if families == {Family.DATE, Family.TIMESTAMP}:
        return _stamp(left), _stamp(right)
    if left is None or right is None:
        raise NotComputed
    return left, right


def _compared(name: str, left: Value, right: Value) -> bool:
    if name in {"=", "<>"}:
        return (left == right) is (name == "=")
    if isinstance(left, str) or isinstance(right, str):
        # the order of texts is the source's own
        raise NotComputed
    below, same = left < right, left == right  # type: ignore[operator]
    return {"<": below, "<=": below or same, ">": not below and not same, ">=": not below}[name]


def _extracted(part: str, of: Known) -> Fraction | int:
    if not isinstance(of, date):
        raise NotComputed
    stamp = _stamp(of)
    days = days_of(stamp.date())
    year, month, day = civil(days)
    found = {
        "year": year,
        "quarter": (month + 2) // 3,
        "month": month,
        "week": stamp.isocalendar().week,
        "day": day,
        "hour": stamp.hour,
        "minute": stamp.minute,
        "dow": stamp.isoweekday() % 7,
        "isodow": stamp.isoweekday(),
        "doy": stamp.timetuple().tm_yday,
        "isoyear": iso_year(days),
        "decade": year // 10,
        "century": (year + 99) // 100,
    }.get(part)
    if found is None:
        raise NotComputed
    return found


def _beginning(part: str, of: datetime) -> datetime:
    if part in {"hour", "minute", "second"}:
        length = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}[part]
        return of - timedelta(microseconds=microseconds_of(of) % length)
    days = truncated(part, days_of(of.date()))
    return of - timedelta(microseconds=microseconds_of(of) - days * DAY)


def _computed(call: Call, values: list[Value]) -> Value:  # noqa: C901, PLR0911, PLR0912
    name = call.function
    if isinstance(values[0], str) and name in {"lower", "upper"}:
        if not values[0].isascii():
            raise NotComputed
        return values[0].lower() if name == "lower" else values[0].upper()
    if name in {"+", "-"} and any(isinstance(one, date) for one in values):
        return _moved(name, values)
    numbers = [
        one for one in values if isinstance(one, int | Fraction) and not isinstance(one, bool)
    ]
    if len(numbers) != len(values):
        raise NotComputed
    first, second = numbers[0], numbers[1] if len(numbers) > 1 else 0
    match name:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "negate":
            return -first
        case "abs":
            return abs(Fraction(first))
        case "floor":
            return floor(first)
        case "ceil" | "ceiling":
            return ceil(first)
        case "trunc" if len(values) == 1:
            return trunc(first)
        case "sign":
            return (first > 0) - (first < 0)
        case "/" if second and _whole(call):
            return trunc(Fraction(first) / Fraction(second))
        case "%" | "mod" if second and _whole(call):
            return first - second * trunc(Fraction(first) / Fraction(second))
        case "width_bucket":
            return _bucket(*(Fraction(one) for one in numbers))
        case _:
            raise NotComputed


def _whole(call: Call) -> bool:
    return all(one.type.family is Family.WHOLE for one in call.parts)


def _is_whole(value: Known) -> bool:
    return (
        isinstance(value, int | Fraction)
        and value == int(value)
        and abs(Fraction(value)) < _EXACT_FLOAT
    )


def _moved(name: str, values: list[Value]) -> Value:
    left, right = values
    if isinstance(left, datetime) or isinstance(right, datetime):
        raise NotComputed
    try:
        if isinstance(left, date) and isinstance(right, date) and name == "-":
            return (left - right).days
        if isinstance(left, date) and isinstance(right, int):
            return left + timedelta(days=right if name == "+" else -right)
        if isinstance(right, date) and isinstance(left, int) and name == "+":
            return right + timedelta(days=left)
    except OverflowError as error:
        raise NotComputed from error
    raise NotComputed


def _bucket(value: Fraction, low: Fraction, high: Fraction, count: Fraction) -> int:
    if low >= high or count < 1:
        raise NotComputed
    if value < low:
        return 0
    return min(floor((value - low) / (high - low) * count) + 1, int(count) + 1)
