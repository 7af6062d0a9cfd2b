"""Measurements: whole numbers over rows with a proven sensitivity.

A measurement is an integer over the rows of persons, with how far one unit can move it. A release asks for some of
these in every group. Its aggregates are computed from them afterwards, so two aggregates that need the same count
measure it once.

INVARIANT: `most` bounds what one unit adds to or takes from one group, after bounding with R rows per unit; the
unit is in at most G groups.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from gateway.plan.scalars import Change, Scalar
from gateway.ranges.lattice import Lattice


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows have `where` true and all of `present` not NULL; at most R of a unit count."""

    present: tuple[Scalar, ...] = ()
    where: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """How many units have a row for which `where` is true."""

    where: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Different:
    """How many different values, not NULL, are in the rows where `where` is true; at most R of a unit."""

    value: Scalar
    where: Scalar | None = None


class DistanceOrigin(Enum):
    """From where the distances of a total are taken."""

    MIDDLE = "middle"  # the sum of i - m
    LOW = "low"  # the sum of i - low
    HIGH = "high"  # the sum of high - i


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of lattice integers over the rows where `where` is true and the value is not NULL."""

    value: Scalar
    lattice: Lattice
    origin: DistanceOrigin
    where: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Squares:
    """The sum of (i - m)² in units of `unit`, each less a constant, where `where` is true and the value is not NULL.

    What one row adds is around 0 by the constant, so a unit moves the sum by half as much.
    """

    value: Scalar
    lattice: Lattice
    unit: int
    where: Scalar | None = None

    @property
    def less(self) -> int:
        """What is taken from every square."""
        return self._largest // 2

    @property
    def reach(self) -> int:
        """How far from 0 what one row adds can be."""
        return self._largest - self.less

    @property
    def _largest(self) -> int:
        return nearest_multiple(self.lattice.reach**2, self.unit)


@dataclass(frozen=True, slots=True)
class Products:
    """The sum of (i - m)·(j - m') in units of `unit`, where `where` is true and neither value is NULL."""

    one: Scalar
    lattice: Lattice
    other: Scalar
    other_lattice: Lattice
    unit: int
    where: Scalar | None = None

    @property
    def reach(self) -> int:
        """How far from 0 what one row adds can be."""
        return nearest_multiple(self.lattice.reach * self.other_lattice.reach, self.unit)


def nearest_multiple(number: int, unit: int) -> int:
    """How many units a number is: the nearest whole number, the upper one of two."""
    return (number + unit // 2) // unit


Quantity: TypeAlias = Rows | Units | Different | Total | Squares | Products


def scalars_of(quantity: Quantity) -> tuple[Scalar, ...]:
    """The expressions that a quantity reads."""
    where = () if quantity.where is None else (quantity.where,)
    match quantity:
        case Rows():
            return (*quantity.present, *where)
        case Units():
            return where
        case Different() | Total() | Squares():
            return (quantity.value, *where)
        case Products(one=one, other=other):
            return (one, other, *where)


def map_quantity(quantity: Quantity, change: Change) -> Quantity:
    """The quantity with `change` of each of these."""
    where = None if quantity.where is None else change(quantity.where)
    match quantity:
        case Rows():
            return Rows(tuple(map(change, quantity.present)), where)
        case Units():
            return Units(where)
        case Different() | Total() | Squares():
            return replace(quantity, value=change(quantity.value), where=where)
        case Products(one=one, other=other):
            return replace(quantity, one=change(one), other=change(other), where=where)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One integer per group. `most` is how far one unit moves it there (Δ∞)."""

    quantity: Quantity
    most: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Measurements that share one part of the price. `most` bounds the sum of their moves by one unit.

    One measurement; or the two totals from both ends of a domain, which one unit moves by R·w together.
    """

    measurements: tuple[Measurement, ...]
    most: int

    def delta1(self, groups: int) -> int:
        """Δ1 over at most `groups` groups of a unit."""
        return groups * self.most

    def delta2_squared(self, groups: int) -> int:
        """Δ2² over at most `groups` groups of a unit: of one measurement alone."""
        return groups * self.most * self.most
