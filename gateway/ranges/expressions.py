"""The range of an expression, from the ranges of the columns it reads.

INVARIANT: whatever values the columns have within their ranges, the expression is NULL or within its own.
Arithmetic has a range only where all its operands have one; comparing needs none.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.plan.scalars import Call, Case, Cast, Literal, Moment, Ref, Scalar, Shift, StagedValue
from gateway.plan.types import is_number
from gateway.ranges import arithmetic
from gateway.ranges import times as moments
from gateway.ranges.calendar import DAY, days_of, microseconds_of
from gateway.ranges.granularity import grain_of, is_whole
from gateway.ranges.narrowing import narrowed_by
from gateway.ranges.range import NOTHING, OPEN, Bounds, Range, both, bounds, constant, hull

Columns = Mapping[str, Bounds]

ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "%", "^", "negate", "mod", "power"})
"""With the numeric functions below: what has to have operands with a range."""
NUMERIC: Final = frozenset(
    {"abs", "sign", "floor", "ceil", "ceiling", "round", "trunc", "sqrt", "ln", "log", "exp"}
    | {"width_bucket", "make_date", "age_in"}
)
STAGED_REACH: Final = 10**18
"""A released number that is put into a plan and is larger counts as NULL."""
_LONGEST_TEXT: Final = 2**30
_REAL_SLACK: Final = Fraction(1, 2**23)


def of_type(kind: ColumnType) -> Bounds:
    """What the type itself bounds: whole numbers alone."""
    if kind.family is not Family.WHOLE or kind.bound is None:
        return OPEN
    return bounds(-kind.bound, kind.bound - 1, 1)


def of_value(value: Value | None) -> Bounds:
    match value:
        case None:
            return NOTHING
        case bool() | str():
            return OPEN
        case datetime():
            return constant(microseconds_of(value))
        case date():
            return constant(days_of(value))
        case int() | Fraction():
            return constant(value)
        case _:
            return OPEN


def bounds_of(  # noqa: PLR0911 - one answer for each kind of expression
    scalar: Scalar, columns: Columns
) -> Bounds:
    match scalar:
        case Ref(field):
            return columns.get(field.id, OPEN)
        case Literal(value):
            return of_value(value)
        case Moment():
            return moments.NOW if scalar.type.family is Family.DATE else _microseconds(moments.NOW)
        case StagedValue():
            return _staged(scalar.type)
        case Cast():
            return _cast(scalar, columns)
        case Case():
            return _case(scalar, columns)
        case Shift():
            of = stamped(scalar.moved, columns).range
            shift = (scalar.months, scalar.days, scalar.microseconds)
            return OPEN if of is None else moments.moved(of, *shift)
        case Call():
            made = _call(scalar, columns)
            # what the functions of a set give is open, unless the type bounds it
            return made if made.range is not None else both(made, of_call_type(scalar))
        case _:
            return OPEN


def of_call_type(call: Call) -> Bounds:
    """Whole numbers that no arithmetic made are bounded by their type."""
    return OPEN if call.function in ARITHMETIC | NUMERIC else of_type(call.type)


def stamped(scalar: Scalar, columns: Columns) -> Bounds:
    """The bounds of a date or timestamp in microseconds."""
    found = bounds_of(scalar, columns)
    return _microseconds(found) if scalar.type.family is Family.DATE else found


def _microseconds(found: Bounds) -> Bounds:
    return Bounds(
        None if found.low is None else found.low * DAY,
        None if found.high is None else found.high * DAY,
        None if found.step is None else found.step * DAY,
    )


def _staged(kind: ColumnType) -> Bounds:
    if kind.family is Family.WHOLE:
        return of_type(kind)
    return bounds(-STAGED_REACH, STAGED_REACH) if is_number(kind) else OPEN


def _cast(cast: Cast, columns: Columns) -> Bounds:
    kind, of = cast.type, cast.what.type
    if of.family is Family.BOOLEAN:
        return bounds(0, 1, 1) if kind.family is Family.WHOLE else OPEN
    if kind.family is Family.TIMESTAMP and of.family in {Family.DATE, Family.TIMESTAMP}:
        return stamped(cast.what, columns)
    found = bounds_of(cast.what, columns)
    if kind.family is Family.DATE and of.family is Family.TIMESTAMP:
        inner = found.range
        return OPEN if inner is None else moments.in_days(inner)
    if kind.family is Family.DATE and of.family is Family.DATE:
        return found
    if not is_number(kind):
        return OPEN
    return _fitted(found if is_number(of) else OPEN, kind)


def _fitted(found: Bounds, kind: ColumnType) -> Bounds:
    """Rounded to what the type holds; what it cannot hold becomes NULL."""
    if found is NOTHING:
        return NOTHING
    places = 0 if kind.family is Family.WHOLE else kind.scale
    inner = found.range
    if inner is not None and places is not None:
        found = arithmetic.rounded(inner, places)
    elif places is not None:
        found = Bounds(None, None, Fraction(1, 10**places))
    elif inner is not None and kind.kind is Kind.REAL:
        slack = max(abs(inner.low), abs(inner.high)) * _REAL_SLACK
        found = bounds(inner.low - slack, inner.high + slack, inner.step)
    if kind.family is Family.WHOLE and kind.bound is not None:
        return both(found, of_type(kind)) if _meets(found, of_type(kind)) else NOTHING
    if kind.bound is not None and places is not None:
        end = kind.bound - Fraction(1, 10**places)
        typed = bounds(-end, end, Fraction(1, 10**places))
        return both(found, typed) if _meets(found, typed) else NOTHING
    return found


def _meets(one: Bounds, other: Bounds) -> bool:
    below = one.high is not None and other.low is not None and one.high < other.low
    above = one.low is not None and other.high is not None and one.low > other.high
    return not below and not above


def _case(case: Case, columns: Columns) -> Bounds:
    """The hull over the branches, each among the rows that reach it."""
    given, here = [], columns
    for when, then in case.branches:
        given.append(_result(then, case.type, narrowed_by(when, here, bounds_of)))
        here = narrowed_by(when, here, bounds_of, holds=False)
    given.append(_result(case.otherwise, case.type, here))
    return hull(one for one in given if one is not NOTHING)


def _result(scalar: Scalar, kind: ColumnType, columns: Columns) -> Bounds:
    """Of a value that stands among others of a type: a date among timestamps is one."""
    if isinstance(scalar, Literal) and scalar.value is None:
        return NOTHING
    if kind.family is Family.TIMESTAMP:
        return stamped(scalar, columns)
    return bounds_of(scalar, columns)


def _call(  # noqa: PLR0911 - one answer for each kind of function
    call: Call, columns: Columns
) -> Bounds:
    name, parts = call.function, call.parts
    if name in _CHOOSING:
        return _chosen(call, columns)
    if name in {"length", "char_length", "position", "strpos"}:
        return bounds(0, _LONGEST_TEXT, 1)
    if name == "extract":
        return moments.part_of(_word(parts[0]), stamped(parts[1], columns).range)
    if name == "date_trunc":
        return moments.beginning(_word(parts[0]), stamped(parts[1], columns).range)
    if name == "age_in":
        later, earlier = (stamped(one, columns).range for one in parts[1:])
        return moments.age(_word(parts[0]), later, earlier)
    if name not in ARITHMETIC | NUMERIC:
        return OPEN
    operands = [bounds_of(one, columns) for one in parts]  # each once: they nest
    ranges = [one.range for one in operands if one.range is not None]
    if len(ranges) != len(parts):
        return OPEN
    if any(one is NOTHING for one in operands):
        return NOTHING
    return _computed(call, ranges)


def _word(scalar: Scalar) -> str:
    return str(scalar.value) if isinstance(scalar, Literal) else ""


_CHOOSING: Final = frozenset({"greatest", "least", "coalesce", "nullif"})


def _chosen(call: Call, columns: Columns) -> Bounds:
    """Functions that give one of their arguments; GREATEST and LEAST pass NULL over."""
    given = [_result(one, call.type, columns) for one in call.parts]
    if call.function == "nullif":
        return given[0]
    if call.function == "coalesce":
        sure = [place for place, one in enumerate(call.parts) if _is_there(one)]
        if sure:
            given = given[: sure[0] + 1]
    left = [one for one in given if one is not NOTHING]
    found = hull(left)
    if call.function == "coalesce" or not left:
        return found
    # an argument that is there bounds the result from one side, whatever the others are
    firm = [
        each
        for each, one in zip(given, call.parts, strict=True)
        if each is not NOTHING and _is_there(one)
    ]
    if call.function == "greatest":
        lows = [one.low for one in firm if one.low is not None]
        low = max(lows) if lows else found.low
        return Bounds(low, found.high, found.step)
    highs = [one.high for one in firm if one.high is not None]
    return Bounds(found.low, min(highs) if highs else found.high, found.step)


def _is_there(scalar: Scalar) -> bool:
    """Whether no state of the source and no enforcement can make it NULL.

    What a column's constraints say is not enough: NaN, infinities and what is outside of a set become NULL.
    """
    return isinstance(scalar, Literal) and scalar.value is not None


_One = Callable[[Range], Bounds]
_SIMPLE: Final[MappingProxyType[str, _One]] = MappingProxyType(
    {
        "negate": arithmetic.negate,
        "abs": arithmetic.absolute,
        "sign": arithmetic.sign,
        "floor": arithmetic.floored,
        "ceil": arithmetic.ceiled,
        "ceiling": arithmetic.ceiled,
        "sqrt": arithmetic.root,
        "exp": arithmetic.exponential,
    }
)


def _computed(  # noqa: C901, PLR0911 - one answer for each function
    call: Call, given: Sequence[Range]
) -> Bounds:
    name, parts, first = call.function, call.parts, given[0]
    if (simple := _SIMPLE.get(name)) is not None:
        return simple(first)
    whole = all(one.type.family is Family.WHOLE for one in parts)
    match name:
        case "+":
            return arithmetic.add(first, given[1])
        case "-":
            negative = arithmetic.negate(given[1]).range
            return OPEN if negative is None else arithmetic.add(first, negative)
        case "*":
            return arithmetic.multiply(first, given[1])
        case "/":
            return arithmetic.divide(first, given[1], grain_of(parts[1]), whole=whole)
        case "%" | "mod":
            return arithmetic.remainder(
                first, given[1], whole=is_whole(parts[0]) and is_whole(parts[1])
            )
        case "^" | "power":
            return arithmetic.power(first, given[1], grain_of(parts[0]))
        case "round" | "trunc":
            return _to_places(call, given)
        case "ln" | "log":
            return arithmetic.logarithm(first, grain_of(parts[0]), ten=name == "log")
        case "width_bucket":
            return arithmetic.bucket(first, *given[1:])
        case "make_date":
            return moments.made_date(first)
        case _:
            return OPEN


def _to_places(call: Call, given: Sequence[Range]) -> Bounds:
    places = 0
    if len(given) > 1:
        if given[1].low != given[1].high:
            return OPEN
        places = int(given[1].low)
    of = arithmetic.rounded if call.function == "round" else arithmetic.cut_off
    return of(given[0], places)
