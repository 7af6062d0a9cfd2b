"""What one row adds to a sum of distances, of squares, or of products, from whole numbers that are clamped already.

INVARIANT: what is added is below 2^31 in size, so it is an INTEGER, and a sum of 2^32 of them is a BIGINT in both
databases. Distances that are multiplied are up to 2^30, their product is up to 2^60 and computed as BIGINT; in the
units that it is counted in it is below 2^30. Nothing negative is divided: databases round that differently.
"""

from collections.abc import Callable
from typing import TypeAlias

from sqlalchemy import Integer, cast

from gateway.engines.derived import integer
from gateway.engines.expressing import Dialect, Sql
from gateway.engines.scalars_pieces import WHOLE, infix
from gateway.plan.scalars import Scalar
from gateway.sensitivity.lattice import Lattice
from gateway.sensitivity.measurement import Origin, Products, Squares, Total

Summed: TypeAlias = Total | Squares | Products
Whole: TypeAlias = Callable[[Total], Sql]
"""Gives the whole number of a row's value; NULL for NULL."""


def term(dialect: Dialect, summed: Summed, whole: Whole) -> Sql:
    """NULL where a value is NULL; `where` is not looked at."""
    match summed:
        case Total():
            return cast(_distance(summed, whole(summed)), Integer())
        case Squares():
            away = _from_middle(summed.value, summed.lattice, whole)
            return _square(dialect, away, summed)
        case Products():
            one = _from_middle(summed.one, summed.lattice, whole)
            other = _from_middle(summed.other, summed.other_lattice, whole)
            return _product(dialect, one, other, summed)


def _distance(total: Total, number: Sql) -> Sql:
    """How far a row's whole number is from the origin."""
    lattice = total.lattice
    match total.origin:
        case Origin.MIDDLE:
            return number - integer(lattice.middle)
        case Origin.LOW:
            return number - integer(lattice.low)
        case Origin.HIGH:
            return integer(lattice.high) - number


def _from_middle(value: Scalar, lattice: Lattice, whole: Whole) -> Sql:
    total = Total(value, lattice, Origin.MIDDLE)
    return cast(_distance(total, whole(total)), Integer())


def _square(dialect: Dialect, away: Sql, squares: Squares) -> Sql:
    times = _times(away, away, squares.unit)
    return _less(_nearest(dialect, times, squares.unit), squares.less)


def _product(dialect: Dialect, one: Sql, other: Sql, products: Products) -> Sql:
    times, unit = _times(one, other, products.unit), products.unit
    if unit == 1:
        return times
    # so many units more that nothing is negative, until it is divided
    more = products.reach
    moved = infix(times, "+", integer(more * unit), WHOLE)
    return _less(_nearest(dialect, moved, unit), more)


def _times(one: Sql, other: Sql, unit: int) -> Sql:
    if unit == 1:  # such products are below 2^30
        return infix(one, "*", other, Integer())
    return infix(cast(one, WHOLE), "*", cast(other, WHOLE), WHOLE)


def _nearest(dialect: Dialect, number: Sql, unit: int) -> Sql:
    """How many units a number is, as `measurement.nearest` counts them."""
    if unit == 1:
        return number
    divided = "//" if dialect == "duckdb" else "/"
    return infix(infix(number, "+", integer(unit // 2), WHOLE), divided, integer(unit), WHOLE)


def _less(number: Sql, by: int) -> Sql:
    return cast(infix(number, "-", integer(by), WHOLE), Integer())
