"""Values that are summed, and the rows that count for them."""

from dataclasses import dataclass
from fractions import Fraction

from gateway.functions.range_arithmetic import Range
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Scalar
from gateway.sensitivity.lattice import Lattice
from gateway.sensitivity.linear_formulas import Linear
from gateway.sensitivity.measurement import DistanceOrigin, Rows, Total


@dataclass(frozen=True, slots=True)
class Summand:
    """A value that is summed: where, within which ends, and on which lattice."""

    value: Scalar
    where: Scalar | None
    range: Range
    lattice: Lattice

    @property
    def counted(self) -> Rows:
        """The rows that its count counts."""
        return count_rows((self.value,), self.where)

    def total(self, origin: DistanceOrigin) -> Total:
        return Total(self.value, self.lattice, origin, self.where)


@dataclass(frozen=True, slots=True)
class Distance:
    """Where the sum of values is told from: it is `origin * count + away`."""

    origin: Fraction
    away: Linear


def count_rows(arguments: tuple[Scalar, ...], where: Scalar | None) -> Rows:
    """COUNT(x) counts the rows where x is there: all of them where it always is."""
    return Rows(tuple(one for one in arguments if one.nullable), where)


def where_not_null(value: Scalar, where: Scalar | None) -> Scalar:
    """The rows of `where` in which the value is not NULL."""
    present = Call("is not null", (value,), BOOLEAN, nullable=False)
    return present if where is None else Call("and", (where, present), BOOLEAN)
