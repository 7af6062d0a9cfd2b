"""What is measured of rows: of one row, of all rows of a group, or of one unit's rows in a group.

INVARIANT: what a unit adds to a group goes through the integer form, so it is that of R rows at most; or it is not cut,
and a weight keeps it within its limit (`clip_weights.py`).

What one row adds to a sum of distances, of squares, or of products, from whole numbers that are clamped already.

INVARIANT: what is added is below 2^31 in size, so it is an INTEGER, and a sum of 2^32 of them is a BIGINT in both
databases. Distances that are multiplied are up to 2^30, their product is up to 2^60 and computed as BIGINT; in the
units that it is counted in it is below 2^30. Nothing negative is divided: databases round that differently.

DuckDB sums INTEGERs in 128 bits above a join, where its statistics do not show that 64 bits are enough, and SMALLINTs in 64
bits everywhere. So distances of a lattice that is narrow enough are SMALLINTs there. The lattice alone decides.

The cut of what a unit adds to a group, by the integer form, where a unit is declared to have one row.

INVARIANT: with n rows, each of at most d in size, |s| <= n*d, and what is left is at most R*d in size: nothing
overflows, and no quotient is rounded up. docs/proofs/bounding.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import (
    BigInteger,
    Integer,
    Label,
    SmallInteger,
    and_,
    case,
    cast,
    func,
    literal_column,
    null,
)

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql.partial_select import Dialect, Expressions, RelationSql, Sql
from gateway.engines.sql.per_unit import cap_sum, own_integer
from gateway.engines.sql.pieces import WHOLE, infix
from gateway.engines.sql.relations import Relations
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Scalar
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Norms,
    Products,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
    scalars_of,
)

_MOST_SMALL: Final = 2**15


Summed: TypeAlias = Total | Squares | Products
Whole: TypeAlias = Callable[[Total], Sql]
"""Gives the whole number of a row's value; NULL for NULL."""


def summand(dialect: Dialect, summed: Summed, whole: Whole) -> Sql:
    """NULL where a value is NULL; `where` is not looked at."""
    match summed:
        case Total():
            return cast(_distance(summed, whole(summed)), _type_of_distance(dialect, summed))
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
        case DistanceOrigin.MIDDLE:
            return number - own_integer(lattice.middle)
        case DistanceOrigin.LOW:
            return number - own_integer(lattice.low)
        case DistanceOrigin.HIGH:
            return own_integer(lattice.high) - number


def _type_of_distance(dialect: Dialect, total: Total) -> Integer:
    lattice = total.lattice
    most = lattice.reach if total.origin is DistanceOrigin.MIDDLE else lattice.width
    return SmallInteger() if dialect == "duckdb" and most < _MOST_SMALL else Integer()


def _from_middle(value: Scalar, lattice: Lattice, whole: Whole) -> Sql:
    total = Total(value, lattice, DistanceOrigin.MIDDLE)
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
    moved = infix(times, "+", own_integer(more * unit), WHOLE)
    return _less(_nearest(dialect, moved, unit), more)


def _times(one: Sql, other: Sql, unit: int) -> Sql:
    if unit == 1:  # such products are below 2^30
        return infix(one, "*", other, Integer())
    return infix(cast(one, WHOLE), "*", cast(other, WHOLE), WHOLE)


def _nearest(dialect: Dialect, number: Sql, unit: int) -> Sql:
    """How many units a number is, as `measurement.nearest_multiple` counts them."""
    if unit == 1:
        return number
    divided = "//" if dialect == "duckdb" else "/"
    return infix(
        infix(number, "+", own_integer(unit // 2), WHOLE), divided, own_integer(unit), WHOLE
    )


def _less(number: Sql, by: int) -> Sql:
    return cast(infix(number, "-", own_integer(by), WHOLE), Integer())


ZERO: Sql = literal_column("0")
ONE: Sql = literal_column("1")
_Summed = TypeVar("_Summed", bound=Quantity)


class ContributionSql:
    """The measurements of one release over its rows; `given` has what was computed of them below."""

    def __init__(
        self,
        release: BoundedRelease,
        relations: Relations,
        rows: RelationSql,
        expressions: Expressions,
        given: Mapping[Quantity, Sql] | None = None,
    ) -> None:
        self._release = release
        self._relations = relations
        self._dialect: Dialect = relations.dialect
        self._rows = rows
        self._expressions = expressions
        self._given = given or {}

    @property
    def names(self) -> list[str]:
        return [f"m{place + 1}" for place in range(len(self._release.measurements))]

    def inputs(self) -> dict[Quantity, Sql]:
        """What rows give to the measurements, where they give more than themselves."""
        found: dict[Quantity, Sql] = {}
        for quantity in (_from_low(one.quantity) for one in self._release.measurements):
            if (of_row := self._of_row(quantity)) is not None:
                found[quantity] = of_row
        return found

    def given(self, inputs: Mapping[Quantity, Sql]) -> "ContributionSql":
        """The same measurements over rows that have these inputs already."""
        there = self._release, self._relations, self._rows, self._expressions
        return ContributionSql(*there, inputs)

    def whole(self, quantity: Quantity) -> Sql:
        """Of all rows of a group, where nothing has to be cut."""
        match quantity:
            case Total() | Squares() | Products():
                return func.coalesce(func.sum(self._moved(quantity)), ZERO)
            case Different():
                return ZERO
            case Rows() | Units():
                return self._count(quantity)
            case Norms():
                raise BrokenPlan("norms are counted by themselves")

    def cuts(self) -> list[Label[Any]]:
        """Every measurement of one unit in one group, by its name: cut, or as a weight will multiply it."""
        many = zip(self.names, self._release.measurements, strict=True)
        return [self._cut(one.quantity).label(name) for name, one in many]

    def _cut(self, quantity: Quantity) -> Sql:
        """What the rows of one unit in one group come to, cut to R rows where they are not weighted."""
        most = own_integer(self._release.rows_per_unit)
        cut = self._release.clips is None
        match quantity:
            case Units(where=None):
                return ONE
            case Units():
                return func.least(self._count(quantity), ONE)
            case Rows():
                count = self._count(quantity)
                return func.least(count, most) if cut else count
            case Different():
                return ZERO
            case Total() | Squares() | Products():
                moved = self._moved(_from_low(quantity))
                # counts more than the distances only where a column that cannot be NULL is: |s| <= n·d holds
                every = quantity.where is None and not any(
                    one.nullable for one in scalars_of(quantity)
                )
                n = func.count() if every else func.count(moved)
                s = self._distances(quantity, n)
                return cap_sum(self._dialect, s, n, most) if cut else func.coalesce(s, ZERO)
            case Norms():
                raise BrokenPlan("norms are counted by themselves")

    def _distances(self, summed: Summed, n: Sql) -> Sql:
        """The sum of what n rows add. Distances from both ends of a domain come from one sum."""
        added: Sql = cast(func.sum(self._moved(_from_low(summed))), BigInteger())
        if isinstance(summed, Total) and summed.origin is DistanceOrigin.HIGH:
            return n * own_integer(summed.lattice.width) - added
        return added

    def _moved(self, summed: Summed) -> Sql:
        """What a row adds, NULL where it does not count."""
        if summed in self._given:
            return self._given[summed]
        added = summand(self._dialect, summed, self._whole_number)
        return self.only(summed.where, added)

    def _whole_number(self, total: Total) -> Sql:
        return self._relations.lattice(self._rows, self._expressions, total)

    def _count(self, quantity: Rows | Units) -> Sql:
        of_row = self._one_where(quantity)
        return func.count() if of_row is None else func.count(of_row)

    def _one_where(self, quantity: Rows | Units) -> Sql | None:
        """1 for a row that counts, else NULL; None where every row does."""
        if quantity in self._given:
            return self._given[quantity]
        conditions = [] if quantity.where is None else [self._expressions.sql(quantity.where)]
        if isinstance(quantity, Rows):
            conditions += [self._expressions.sql(one).is_not(None) for one in quantity.present]
        return case((and_(*conditions), ONE), else_=null()) if conditions else None

    def _of_row(self, quantity: Quantity) -> Sql | None:
        match quantity:
            case Total() | Squares() | Products():
                return self._moved(quantity)
            case Rows() | Units():
                return self._one_where(quantity)
            case Different() | Norms():
                return None

    def only(self, where: Scalar | None, value: Sql) -> Sql:
        """The value of rows that are asked for, else NULL."""
        if where is None:
            return value
        return case((self._expressions.sql(where), value), else_=null())


def _from_low(quantity: _Summed) -> _Summed:
    """Where a sum from the upper end is asked, the one it is computed from."""
    if isinstance(quantity, Total) and quantity.origin is DistanceOrigin.HIGH:
        return replace(quantity, origin=DistanceOrigin.LOW)
    return quantity
