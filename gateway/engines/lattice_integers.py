"""The whole number i of a value x: `LEAST(GREATEST(round(x / h), low), high)`.

INVARIANT: the result is NULL or from `low` to `high`, whatever the expression gives and whatever its range says:
the clamp is always there, and nothing is cast to a whole number before it is known to fit.
"""

from fractions import Fraction
from typing import Final

from sqlalchemy import Numeric, case, cast, func, try_cast

from gateway.catalog.types import Family
from gateway.engines.expressing import Sql
from gateway.engines.scalars_forms import Digits, as_double, as_number, digits
from gateway.engines.scalars_pieces import (
    DOUBLE,
    EXACT,
    WHOLE,
    Rendering,
    double,
    exact,
    infix,
    only,
    test,
    whole,
)
from gateway.engines.scalars_times import day_number, microseconds
from gateway.plan.scalars import Ref, Scalar
from gateway.sensitivity.lattice import Lattice
from gateway.sensitivity.measurement import Total

_LARGEST_FACTOR: Final = 2**900
_SHORT: Final = 18
_COMFORTABLE: Final = 2**62


def lattice(rendering: Rendering, total: Total) -> Sql:
    scalar, on = total.value, total.lattice
    value = rendering.sql(scalar)
    if isinstance(scalar, Ref) and scalar.type.family is Family.WHOLE and on.step == 1:
        # the fastest form in both databases, where nothing has to be computed
        low, high = whole(on.low), whole(on.high)
        return case((test(value, "<", low), low), (test(value, ">", high), high), else_=value)
    made = _clamped(_nearest(rendering, scalar, on), on)
    # GREATEST passes NULL over, so NULL is kept apart; what is computed is named once
    return only(value.is_not(None), made)


def _clamped(value: Sql, on: Lattice) -> Sql:
    held = func.greatest(value, whole(on.low), type_=WHOLE)
    return func.least(held, whole(on.high), type_=WHOLE)


def _nearest(rendering: Rendering, scalar: Scalar, on: Lattice) -> Sql:
    match scalar.type.family:
        case Family.WHOLE:
            return _of_whole(rendering, rendering.sql(scalar), on)
        case Family.DATE:
            return _of_whole(rendering, day_number(rendering, scalar), on)
        case Family.TIMESTAMP:
            return _of_whole(rendering, microseconds(rendering, scalar), on)
        case Family.EXACT:
            return _of_exact(rendering, scalar, on)
        case _:
            return _of_double(as_double(rendering, scalar), on)


def _of_whole(rendering: Rendering, value: Sql, on: Lattice) -> Sql:
    step = on.step
    number = cast(value, WHOLE)
    if step == 1:
        return number
    if step.denominator != 1:
        # a lattice finer than the numbers: rare, and exact where it can matter
        return _scaled(rendering, number, on)
    h = int(step)
    first, last = on.low * h, on.high * h
    if max(abs(first), abs(last)) + 2 * h >= _COMFORTABLE:
        return _of_double(cast(value, DOUBLE), on)
    held = func.least(func.greatest(number, whole(first)), whole(last), type_=WHOLE)
    away = infix(held, "-", whole(first - h // 2), WHOLE)
    divided = "//" if rendering.dialect == "duckdb" else "/"
    return infix(infix(away, divided, whole(h), WHOLE), "+", whole(on.low), WHOLE)


def _scaled(rendering: Rendering, number: Sql, on: Lattice) -> Sql:
    if rendering.dialect == "postgresql":
        return _of_decimal(cast(number, EXACT), on)
    return _of_double(cast(number, DOUBLE), on)


def _of_exact(rendering: Rendering, scalar: Scalar, on: Lattice) -> Sql:
    factor = 1 / on.step
    if rendering.dialect == "postgresql":
        value = cast(rendering.sql(scalar), EXACT)
        # what the type of a stored column bounds needs no cut before the cast
        bound = scalar.type.bound if isinstance(scalar, Ref) else None
        if bound is not None and factor.denominator == 1 and bound * factor < _COMFORTABLE:
            grown = value if factor == 1 else infix(value, "*", exact(factor), EXACT)
            return cast(grown, WHOLE)
        return _of_decimal(value, on)
    form = digits(rendering, scalar)
    if form is not None and form.type is not None and factor.denominator == 1:
        length = len(str(int(factor)))
        grown_form = Digits(form.before + length, form.behind)
        if grown_form.before + grown_form.behind <= _SHORT and grown_form.type is not None:
            short_value = as_number(rendering, scalar, form.type)
            grown = infix(short_value, "*", whole_of(int(factor), length), grown_form.type)
            return try_cast(grown, WHOLE)
    return _of_double(as_double(rendering, scalar), on)


def whole_of(value: int, length: int) -> Sql:
    """A whole number of few digits: DuckDB multiplies short decimals faster than long ones."""
    return cast(whole(value), Numeric(length, 0))


def _of_decimal(value: Sql, on: Lattice) -> Sql:
    """PostgreSQL's decimals, cut before they are divided and cast."""
    first, last = exact_end(on.low * on.step), exact_end(on.high * on.step)
    held = func.least(func.greatest(value, first), last, type_=EXACT)
    p, q = on.step.numerator, on.step.denominator
    grown = held if q == 1 else infix(held, "*", exact(q), EXACT)
    divided = grown if p == 1 else infix(grown, "/", exact(p), EXACT)
    # the cast rounds half away from zero, as `round` does, in less time
    return cast(divided, WHOLE)


def exact_end(value: Fraction) -> Sql:
    """The end itself; one that is no decimal number as a quotient."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return exact(value)
    return infix(exact(value.numerator), "/", exact(value.denominator), EXACT)


def _of_double(value: Sql, on: Lattice) -> Sql:
    """Cut, scaled, cast: in range at every step, and no quotient so small that PostgreSQL raises."""
    p, q = on.step.numerator, on.step.denominator
    first, last = double(on.low * on.step), double(on.high * on.step)
    if max(p, q) >= _LARGEST_FACTOR:
        # steps that a double cannot scale by: the ends are told apart, and what is between them
        ends = (test(value, "<=", first), whole(on.low)), (test(value, ">=", last), whole(on.high))
        return case(*ends, else_=whole(0))
    held = func.least(func.greatest(value, first), last, type_=DOUBLE)
    grown = held if q == 1 else infix(held, "*", double(q), DOUBLE)
    if p != 1:
        grown = infix(infix(grown, "+", double(p), DOUBLE), "/", double(p), DOUBLE)
        grown = infix(grown, "-", double(1), DOUBLE)
    return cast(grown, WHOLE)
