"""Functions that take a number to a nearby one: rounding, signs, buckets."""

from fractions import Fraction
from math import lcm
from typing import Final

from sqlalchemy import Integer, Numeric, case, cast, func, literal, null, try_cast

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.number_types import (
    Digits,
    as_double,
    as_number,
    decimal_digits,
    largest_magnitude,
    require_range,
)
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    HUGE,
    WHOLE,
    Render,
    Rendering,
    Type,
    compare,
    double,
    exact,
    infix,
    integer,
    null_of,
    when,
)
from gateway.functions.range_arithmetic import MOST_BUCKETS
from gateway.plan.scalars import Call, Literal, Scalar

_MOST_PLACES: Final = 400
_MOST_SHOWN: Final = 15
_LARGEST_UNIT: Final = 300
_MOST: Final = 10**37


def render_rounding(name: str) -> Render:
    def render(rendering: Rendering, call: Call) -> Sql:
        what = call.parts[0]
        for one in call.parts:
            require_range(rendering, one)
        if len(call.parts) > 1:
            return _to_places(rendering, name, what, _places(call.parts[1]))
        if call.type.family is Family.FLOAT:
            return _float(rendering, name, as_double(rendering, what))
        if rendering.dialect == "postgresql":
            named = getattr(func, name)
            made: Sql = named(as_number(rendering, what, EXACT), type_=EXACT)
            return made
        return _decimal(rendering, name, what)

    return render


def _places(scalar: Scalar) -> int:
    value = scalar.value if isinstance(scalar, Literal) else None
    places = value if isinstance(value, int) else 0
    return max(-_MOST_PLACES, min(places, _MOST_PLACES))


def _float(rendering: Rendering, name: str, value: Sql) -> Sql:
    if rendering.dialect == "duckdb":
        if name == "round":
            # PostgreSQL rounds doubles half to even, decimals half away from zero
            return func.round_even(value, cast(literal(0), Integer()), type_=DOUBLE)
        if name == "sign":
            return cast(func.sign(value), DOUBLE)
    named = getattr(func, name)
    made: Sql = named(value, type_=DOUBLE)
    return made


def _decimal(rendering: Rendering, name: str, what: Scalar) -> Sql:
    """DuckDB's decimals; what is a double there is rounded as a decimal."""
    form = decimal_digits(rendering, what)
    kind = DOUBLE if form is None or form.type is None else form.type
    value = as_number(rendering, what, kind)
    named = getattr(func, name)
    return cast(named(value), DOUBLE) if kind is DOUBLE else named(value, type_=kind)


def _to_places(rendering: Rendering, name: str, what: Scalar, places: int) -> Sql:
    named = getattr(func, name)
    made: Sql
    if rendering.dialect == "postgresql":
        shift = cast(literal(places), Integer())
        made = named(_as_exact(rendering, what), shift, type_=EXACT)
        return made
    form = decimal_digits(rendering, what)
    if what.type.family is Family.FLOAT or form is None or form.type is None:
        return _double_to_places(name, as_double(rendering, what), places)
    if places >= form.behind:
        return as_number(rendering, what, form.type)
    grown = Digits(form.before + 1, form.behind)
    kind = grown.type
    if kind is None:
        return _double_to_places(name, as_double(rendering, what), places)
    if -places > form.before:
        return when(rendering.sql(what).is_not(None), integer(0))
    value = try_cast(rendering.sql(what), kind)
    made = named(value, cast(literal(places), Integer()), type_=kind)
    return made


def _as_exact(rendering: Rendering, what: Scalar) -> Sql:
    return cast(rendering.sql(what), EXACT)


def _double_to_places(name: str, value: Sql, places: int) -> Sql:
    if places > _MOST_SHOWN:
        return value
    unit = double(Fraction(10) ** min(abs(places), _LARGEST_UNIT))
    grown, shrunk = ("*", "/") if places >= 0 else ("/", "*")
    named = getattr(func, name)
    return infix(named(infix(value, grown, unit, DOUBLE)), shrunk, unit, DOUBLE)


def width_bucket(rendering: Rendering, call: Call) -> Sql:
    """In which of `count` buckets of one width a number is; bounds and count are constants."""
    what, *rest = call.parts
    for one in call.parts:
        require_range(rendering, one)
    low, high, count = (one.value if isinstance(one, Literal) else None for one in rest)
    if not (_is_number(low) and _is_number(high) and isinstance(count, int)):
        return null_of(WHOLE)
    first, last = Fraction(low), Fraction(high)  # type: ignore[arg-type]
    if first == last or not 1 <= count <= MOST_BUCKETS:
        return null_of(WHOLE)
    floats = any(one.type.family is Family.FLOAT for one in call.parts)
    if rendering.dialect == "postgresql":
        number = double if floats else exact
        kind: Type = DOUBLE if floats else EXACT
        many = cast(literal(count), Integer())
        value = as_number(rendering, what, kind)
        return cast(func.width_bucket(value, number(first), number(last), many), WHOLE)
    return _bucket(rendering, what, first, last, count, floats=floats)


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _bucket(
    rendering: Rendering, what: Scalar, low: Fraction, high: Fraction, count: int, *, floats: bool
) -> Sql:
    form = None if floats else decimal_digits(rendering, what)
    if form is not None:
        scale = lcm(10**form.behind, low.denominator, high.denominator)
        grown = (
            max(largest_magnitude(require_range(rendering, what)), abs(low), abs(high))
            * scale
            * 2
            * count
        )
        if grown < _MOST and form.type is not None:
            return _exact_bucket(as_number(rendering, what, form.type), low, high, count, scale)
    x = as_double(rendering, what)
    first, last = double(low), double(high)
    if low < high:
        away, width, below, above = infix(x, "-", first, DOUBLE), high - low, "<", ">="
    else:
        away, width, below, above = infix(first, "-", x, DOUBLE), low - high, ">", "<="
    place = infix(infix(double(count), "*", away, DOUBLE), "/", double(width), DOUBLE)
    inside = func.least(try_cast(func.floor(place), WHOLE), integer(count - 1))
    return case(
        (compare(x, below, first), integer(0)),
        (compare(x, above, last), integer(count + 1)),
        (x.is_(None), null()),
        else_=infix(inside, "+", integer(1), WHOLE),
    )


def _exact_bucket(value: Sql, low: Fraction, high: Fraction, count: int, scale: int) -> Sql:
    """In whole numbers: value, bounds and width are multiples of one step."""
    grown = try_cast(infix(value, "*", _huge(scale), HUGE), HUGE)
    if low < high:
        away = infix(grown, "-", _huge(int(low * scale)), HUGE)
    else:
        away = infix(_huge(int(low * scale)), "-", grown, HUGE)
    width = _huge(int(abs(high - low) * scale))
    place = infix(infix(away, "*", _huge(count), HUGE), "//", width, HUGE)
    return case(
        (compare(away, "<", _huge(0)), integer(0)),
        (compare(away, ">=", width), integer(count + 1)),
        else_=try_cast(infix(place, "+", _huge(1), HUGE), WHOLE),
    )


def _huge(value: int) -> Sql:
    return cast(cast(literal(str(value)), Numeric(38, 0)), HUGE)
