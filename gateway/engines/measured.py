"""What is measured of rows: of one row, of all rows of a group, or of one unit's rows in a group, cut to R of them.

INVARIANT: what a unit adds to a group goes through the integer form, so it is that of R rows at most.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Label, and_, case, cast, func, literal_column, null

from gateway.bounding.bounded import BoundedRelease
from gateway.bounding.replacing import of_quantity
from gateway.engines.derived import integer
from gateway.engines.expressing import Dialect, Expressions, Sql
from gateway.engines.related import Related
from gateway.engines.relations import Relations
from gateway.engines.shortened import shortened
from gateway.engines.terms import Summed, term
from gateway.plan.scalars import Scalar
from gateway.sensitivity.measurement import (
    Different,
    Origin,
    Products,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
)

ZERO: Sql = literal_column("0")
ONE: Sql = literal_column("1")
_Summed = TypeVar("_Summed", bound=Quantity)


class Measured:
    """The measurements of one release over its rows; `given` has what was computed of them below."""

    def __init__(
        self,
        release: BoundedRelease,
        relations: Relations,
        rows: Related,
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

    def given(self, inputs: Mapping[Quantity, Sql]) -> "Measured":
        """The same measurements over rows that have these inputs already."""
        there = self._release, self._relations, self._rows, self._expressions
        return Measured(*there, inputs)

    def whole(self, quantity: Quantity) -> Sql:
        """Of all rows of a group, where nothing has to be cut."""
        match quantity:
            case Total() | Squares() | Products():
                return func.coalesce(func.sum(self._moved(quantity)), ZERO)
            case Different():
                return ZERO
            case Rows() | Units():
                return self._count(quantity)

    def cuts(self) -> list[Label[Any]]:
        """Every measurement of one unit in one group, by its name."""
        many = zip(self.names, self._release.measurements, strict=True)
        return [self._cut(one.quantity).label(name) for name, one in many]

    def _cut(self, quantity: Quantity) -> Sql:
        """What the rows of one unit in one group come to, cut to R rows."""
        most = integer(self._release.rows_per_unit)
        match quantity:
            case Units(where=None):
                return ONE
            case Units():
                return func.least(self._count(quantity), ONE)
            case Rows():
                return func.least(self._count(quantity), most)
            case Different():
                return ZERO
            case Total() | Squares() | Products():
                moved = self._moved(_from_low(quantity))
                # counts more than the distances only where a column that cannot be NULL is: |s| <= n·d holds
                every = quantity.where is None and not any(
                    one.nullable for one in of_quantity(quantity)
                )
                n = func.count() if every else func.count(moved)
                s = self._distances(quantity, n)
                return shortened(self._dialect, s, n, most)

    def _distances(self, summed: Summed, n: Sql) -> Sql:
        """The sum of what n rows add. Distances from both ends of a domain come from one sum."""
        added: Sql = cast(func.sum(self._moved(_from_low(summed))), BigInteger())
        if isinstance(summed, Total) and summed.origin is Origin.HIGH:
            return n * integer(summed.lattice.width) - added
        return added

    def _moved(self, summed: Summed) -> Sql:
        """What a row adds, NULL where it does not count."""
        if summed in self._given:
            return self._given[summed]
        added = term(self._dialect, summed, self._whole_number)
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
            case Different():
                return None

    def only(self, where: Scalar | None, value: Sql) -> Sql:
        """The value of rows that are asked for, else NULL."""
        if where is None:
            return value
        return case((self._expressions.sql(where), value), else_=null())


def _from_low(quantity: _Summed) -> _Summed:
    """Where a sum from the upper end is asked, the one it is computed from."""
    if isinstance(quantity, Total) and quantity.origin is Origin.HIGH:
        return replace(quantity, origin=Origin.LOW)
    return quantity
