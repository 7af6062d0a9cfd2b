"""Measurements: whole numbers over rows with a proven sensitivity.

A measurement is an integer over the rows of persons, with how far one unit can move it. A release asks for some of
these in every group. Its aggregates are computed from them afterwards, so two aggregates that need the same count
measure it once.

INVARIANT: `most` bounds what one unit adds to or takes from one group, after bounding. Over all groups a slot has a
norm, or the unit is in at most G groups. docs/proofs/clipping.md, docs/proofs/sensitivity.md.
"""

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from gateway.plan.scalars import Change, Scalar
from gateway.ranges.lattice import Lattice


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows have `where` true and all of `present` not NULL."""

    present: tuple[Scalar, ...] = ()
    where: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """How many units have a row for which `where` is true."""

    where: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Different:
    """How many different values, not NULL, are in the rows where `where` is true; of a unit only some count."""

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


@dataclass(frozen=True, slots=True)
class Norms:
    """How many units have their norm in a bucket, or how far the rows of these spread: see `norm_buckets.py`.

    `keys` are those that divide the rows of a unit into groups: the norm is that over these groups.
    """

    keys: tuple[Scalar, ...]
    bucket: int
    spread: bool = False

    @property
    def where(self) -> None:
        """All rows are counted."""


def nearest_multiple(number: int, unit: int) -> int:
    """How many units a number is: the nearest whole number, the upper one of two."""
    return (number + unit // 2) // unit


Quantity: TypeAlias = Rows | Units | Different | Total | Squares | Products | Norms


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
        case Norms(keys=keys):
            return keys


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
        case Norms(keys=keys):
            return replace(quantity, keys=tuple(map(change, keys)))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One integer per group. `most` is how far one unit moves it there (Δ∞).

    It is measured in parts, `whole` of which are one row, one unit, or one step of a sum.
    """

    quantity: Quantity
    most: int
    whole: int = 1


@dataclass(frozen=True, slots=True)
class Norm:
    """How far one unit moves a slot over all groups together, where weights bound it.

    `added` bounds the sum of all moves, `squares` the sum of their squares. Weights for Gaussian noise bound squares
    alone: then `added` is None.
    """

    added: int | None
    squares: int


class UnboundedSum(Exception):
    """Internal error: Laplace noise for what is bounded in its squares alone."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Measurements that share one part of the price. `most` bounds the sum of their moves by one unit in one group.

    One measurement; or the two totals from both ends of a domain, which one unit moves together. With a `norm` weights
    bound what a unit moves over all groups; else it is in so many groups, and moves each by `most`. With a `total` the
    total of all groups is measured with them, with noise of so many times the variance.
    """

    measurements: tuple[Measurement, ...]
    most: int
    norm: Norm | None = None
    total: int = 0

    def delta1(self, groups: int) -> int:
        """Δ1 over all groups; `groups` is the most that a unit is in, where no norm is bounded."""
        if self.norm is None and not self.total:
            return groups * self.most
        if self.norm is None or self.norm.added is None:
            raise UnboundedSum("weights that bound squares do not bound what Laplace noise is for")
        return self.norm.added

    def delta2_squared(self, groups: int) -> Fraction | int:
        """Δ2² over all groups, of one measurement alone; and of their total, of which every square is divided by `total`."""
        if self.norm is not None:
            return self.norm.squares
        squares = groups * self.most * self.most
        return squares + Fraction(groups * squares, self.total) if self.total else squares
