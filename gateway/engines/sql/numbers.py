"""Arithmetic and its functions: computed where nothing overflows, NULL where PostgreSQL would raise.

Whole numbers are computed in BIGINT where the ranges leave room, in a wider type otherwise, and cut to the type
they have for the analyst. Floats are in `scalars_floats`.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from sqlalchemy import Numeric, func, try_cast

from gateway.catalog.types import Family
from gateway.engines.sql import floats as scalars_floats
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.number_types import (
    as_double,
    as_number,
    decimal_digits,
    fits_bigint,
    require_range,
    result_digits,
    wide_integer,
)
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    WHOLE,
    Render,
    Rendering,
    Type,
    compare,
    double,
    exact,
    infix,
    integer,
    null_outside,
    when,
)
from gateway.engines.sql.rounding import render_rounding, width_bucket
from gateway.plan.scalars import Call, Scalar
from gateway.ranges.relations import Range


def arithmetic(name: str) -> Render:
    """Of numbers."""

    def render(rendering: Rendering, call: Call) -> Sql:
        for one in call.parts:
            require_range(rendering, one)
        family = call.type.family
        if family is Family.FLOAT:
            return scalars_floats.float_arithmetic(rendering, name, call.parts)
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
    form = result_digits(rendering, call)
    sizes = [decimal_digits(rendering, one) for one in call.parts]
    known = [one for one in sizes if one is not None and one.type is not None]
    behind = sum(one.behind for one in known)
    if form is None or len(known) != len(sizes) or name == "/" or behind > _MOST_BEHIND:
        return _inexact(rendering, name, call.parts)
    # of two short decimals DuckDB makes a short one, and raises where it is too long
    kinds = [one.type or DOUBLE if form.short else Numeric(38, one.behind) for one in known]
    given = [as_number(rendering, one, kind) for one, kind in zip(call.parts, kinds, strict=True)]
    kind = form.type or DOUBLE
    if name == "negate":
        return try_cast(infix(integer(0), "-", given[0], kind), kind)
    return try_cast(infix(given[0], name, given[1], kind), kind)


_MOST_BEHIND: Final = 18


def _inexact(rendering: Rendering, name: str, parts: tuple[Scalar, ...]) -> Sql:
    if name == "%":
        left, right = (as_double(rendering, one) for one in parts)
        return when(compare(right, "<>", double(0.0)), infix(left, "%", right, DOUBLE))
    return scalars_floats.float_arithmetic(rendering, name, parts)


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
        "sqrt": scalars_floats.square_root,
        "ln": scalars_floats.logarithm(ten=False),
        "log": scalars_floats.logarithm(ten=True),
        "exp": scalars_floats.exponential,
        "power": scalars_floats.power,
        "^": scalars_floats.power,
        "width_bucket": width_bucket,
    }
)
