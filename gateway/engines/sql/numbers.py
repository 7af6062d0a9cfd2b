"""Functions of numbers: arithmetic, rounding, signs and buckets; NULL where PostgreSQL would raise.

Whole numbers are computed in BIGINT where the ranges leave room, in a wider type otherwise, and cut to the type
they have for the analyst. Doubles are in `number_types`.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm
from types import MappingProxyType
from typing import Final

from sqlalchemy import Integer, Numeric, case, cast, func, literal, null, try_cast

from gateway.catalog.types import Family
from gateway.engines.sql import number_types
from gateway.engines.sql.number_types import (
    Digits,
    as_double,
    as_number,
    decimal_digits,
    fits_bigint,
    largest_magnitude,
    require_range,
    wide_integer,
)
from gateway.engines.sql.partial_select import Sql
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
    null_outside,
    when,
)
from gateway.functions.range_arithmetic import MOST_BUCKETS, Bounds, Range
from gateway.plan.scalars import Call, Literal, Scalar
from gateway.ranges.decimal_digits import computed_size, result_size

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
        # the first product has the digits of the value behind the point, too
        if grown * 10**form.behind < _MOST and form.type is not None:
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


def arithmetic(name: str) -> Render:
    """Of numbers."""

    def render(rendering: Rendering, call: Call) -> Sql:
        for one in call.parts:
            require_range(rendering, one)
        family = call.type.family
        if family is Family.FLOAT:
            return number_types.float_arithmetic(rendering, name, call.parts)
        if family is Family.WHOLE:
            return _whole(rendering, name, call)
        return _exact(rendering, name, call)

    return render


def absolute(rendering: Rendering, call: Call) -> Sql:
    whole_number = call.type.family is Family.WHOLE
    return (arithmetic("abs") if whole_number else render_rounding("abs"))(rendering, call)


def _whole(rendering: Rendering, name: str, call: Call) -> Sql:
    operands = [require_range(rendering, one) for one in call.parts]
    result = rendering.range(call)
    if result is None:
        square = Fraction(call.type.bound or 0) ** 2
        result = Range(-square, square, None)
    fits = fits_bigint(*operands, result)
    kind = WHOLE if fits else wide_integer(rendering.dialect)
    given = [as_number(rendering, one, kind) for one in call.parts]
    made = _whole_operation(rendering, name, given, kind)
    bound = int(call.type.bound or 2**63)
    if fits and -bound <= result.low and result.high < bound:
        return made
    return null_outside(rendering.dialect, made, -bound, bound - 1, wide=kind)


def _whole_operation(rendering: Rendering, name: str, given: list[Sql], kind: Type) -> Sql:
    """DuckDB's `//` cuts towards zero as PostgreSQL's `/` does, and both it and `%` give NULL for zero."""
    duckdb = rendering.dialect == "duckdb"
    match name:
        case "negate":
            return infix(_zero(kind), "-", given[0], kind)
        case "abs":
            return func.abs(given[0], type_=kind)
        case "/" if duckdb:
            return infix(given[0], "//", given[1], kind)
        case "/" if kind is EXACT:
            return func.div(given[0], _not_zero(given[1], kind), type_=kind)
        case "/" | "%" if not duckdb:
            return infix(given[0], name, _not_zero(given[1], kind), kind)
        case _:
            return infix(given[0], name, given[1], kind)


def _zero(kind: Type) -> Sql:
    if kind is EXACT:
        return exact(0)
    return (
        double(0.0)
        if kind is DOUBLE
        else try_cast(integer(0), kind)
        if kind is not WHOLE
        else integer(0)
    )


def _not_zero(value: Sql, kind: Type) -> Sql:
    return func.nullif(value, _zero(kind), type_=kind)


def _exact(rendering: Rendering, name: str, call: Call) -> Sql:
    if rendering.dialect == "postgresql":
        given = [as_number(rendering, one, EXACT) for one in call.parts]
        if name == "negate":
            return infix(exact(0), "-", given[0], EXACT)
        if name in {"/", "%"}:
            given[1] = _not_zero(given[1], EXACT)
        return infix(given[0], name, given[1], EXACT)
    known = [decimal_digits(rendering, one) for one in call.parts]
    sizes = [(one.before, one.behind) for one in known if one is not None and one.type is not None]
    found = rendering.range(call)
    if found is None or len(known) != len(sizes) or name == "/":
        return _inexact(rendering, name, call.parts)
    result = result_size(call, Bounds(found.low, found.high), sizes)
    computed = None if result is None else computed_size(name, result, sizes)
    if result is None or computed is None:
        return _inexact(rendering, name, call.parts)
    # of two short decimals DuckDB makes a short one, and raises where it is too long
    short = Digits(*computed).short
    kinds = [Digits(*one).type or DOUBLE if short else Numeric(38, one[1]) for one in sizes]
    given = [as_number(rendering, one, kind) for one, kind in zip(call.parts, kinds, strict=True)]
    kind = Digits(*result).type or DOUBLE
    if name == "negate":
        return try_cast(infix(integer(0), "-", given[0], kind), kind)
    return try_cast(infix(given[0], name, given[1], kind), kind)


def _inexact(rendering: Rendering, name: str, parts: tuple[Scalar, ...]) -> Sql:
    if name == "%":
        left, right = (as_double(rendering, one) for one in parts)
        return when(compare(right, "<>", double(0.0)), infix(left, "%", right, DOUBLE))
    return number_types.float_arithmetic(rendering, name, parts)


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        "*": arithmetic("*"),
        "/": arithmetic("/"),
        "%": arithmetic("%"),
        "mod": arithmetic("%"),
        "negate": arithmetic("negate"),
        "abs": absolute,
        "sign": render_rounding("sign"),
        "floor": render_rounding("floor"),
        "ceil": render_rounding("ceil"),
        "ceiling": render_rounding("ceil"),
        "round": render_rounding("round"),
        "trunc": render_rounding("trunc"),
        "sqrt": number_types.square_root,
        "ln": number_types.logarithm(ten=False),
        "log": number_types.logarithm(ten=True),
        "exp": number_types.exponential,
        "power": number_types.power,
        "^": number_types.power,
        "width_bucket": width_bucket,
    }
)
