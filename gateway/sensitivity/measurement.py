"""Measurements: whole numbers over rows with a proven sensitivity, and the lattice on which their values lie.

A measurement is an integer over the rows of persons, with how far one unit can move it. A release asks for some of
these in every group. Its aggregates are computed from them afterwards, so two aggregates that need the same count
measure it once.

INVARIANT: `most` bounds what one unit adds to or takes from one group, after bounding with R rows per unit; the
unit is in at most G groups.
INVARIANT: of a lattice `low <= high`, both below 2^30 in size, so a sum of the integers of one unit cannot
overflow.
"""

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

from gateway.functions.range_arithmetic import Range
from gateway.plan.scalars import Change, Scalar

_MOST: Final = 2**30
_MOST_OF_ALL_ROWS: Final = 2**46  # times a weight of up to 2^16 it still fits into a bigint


@dataclass(frozen=True, slots=True)
class Lattice:
    """The values `i * step` for whole numbers i from `low` to `high`."""

    step: Fraction
    low: int
    high: int

    @property
    def middle(self) -> int:
        """m: the whole number that sums are taken around."""
        return (self.low + self.high) // 2

    @property
    def reach(self) -> int:
        """d: how far from the middle a value can be."""
        return max(self.high - self.middle, self.middle - self.low)

    @property
    def width(self) -> int:
        """w: how far two values can be apart."""
        return self.high - self.low


def lattice_of(range_: Range, rows: int) -> Lattice:
    """The finest lattice of the range on which the sums of `rows` rows, with weights, stay small enough.

    Its step is the least multiple of the range's step, or the least power of two where there is none. What is
    narrower than a step becomes its nearest point: the values are clamped to it like to any other lattice.
    """
    most = _most_of(rows)
    size = max(abs(range_.low), abs(range_.high))
    step = _multiple(range_.step, size / most) if range_.step else _power_of_two(size / most)
    low, high = ceil(range_.low / step), floor(range_.high / step)
    if low > high:
        low = high = round((range_.low + range_.high) / (2 * step))
    return Lattice(step, low, high)


def unit_of(largest: int, rows: int) -> int:
    """In which units products of up to `largest` are summed: 1 where they are small, so that they stay exact.

    Else the least unit in which the sums of `rows` rows, with weights, stay small enough.
    """
    return max(1, -(-largest // _most_of(rows)))


def _most_of(rows: int) -> int:
    return max(2, min(_MOST, _MOST_OF_ALL_ROWS // max(rows, 1))) - 1


def _multiple(step: Fraction, least: Fraction) -> Fraction:
    return step * max(1, ceil(least / step))


def _power_of_two(least: Fraction) -> Fraction:
    """The least that is not below."""
    if least == 0:
        return Fraction(1)
    guess = least.numerator.bit_length() - least.denominator.bit_length()
    power = Fraction(2) ** (guess - 1)
    while power < least:
        power *= 2
    return power


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


_MOST_OF_PERSON: Final = 2**30 - 1


def person_lattice(of: Range) -> Lattice:
    """The finest lattice of the range whose whole numbers are below 2^30: exact where its step allows."""
    reach = max(abs(of.low), abs(of.high), Fraction(1, 2**1000))
    step = of.step
    if step is None or reach / step > _MOST_OF_PERSON:
        step = _power_of_two(reach / _MOST_OF_PERSON)
    return Lattice(step, ceil(of.low / step), max(ceil(of.low / step), floor(of.high / step)))
