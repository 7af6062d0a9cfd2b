"""Lattices: the evenly spaced values to which the database rounds the values that it sums.

A lattice is chosen from the range of an expression alone, so it is the same for all data.

INVARIANT: `low <= high`, both below 2^30 in size, so a sum of the integers of one unit cannot overflow.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

from gateway.functions.range_arithmetic import Range

_MOST: Final = 2**30 - 1


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


def lattice_of(range_: Range) -> Lattice:
    """The finest lattice of the range on which weighted sums of a unit fit into a bigint: docs/proofs/clipping.md.

    Its step is the least multiple of the range's step, or the least power of two where there is none. What is
    narrower than a step becomes its nearest point: the values are clamped to it like to any other lattice.
    """
    size = max(abs(range_.low), abs(range_.high))
    step = _multiple(range_.step, size / _MOST) if range_.step else _power_of_two(size / _MOST)
    low, high = ceil(range_.low / step), floor(range_.high / step)
    if low > high:
        low = high = round((range_.low + range_.high) / (2 * step))
    return Lattice(step, low, high)


def unit_of(largest: int) -> int:
    """In which units products of up to `largest` are summed: 1 where they are small, so that they stay exact.

    Else the least unit in which they are below 2^30, as distances are.
    """
    return max(1, -(-largest // _MOST))


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


_MOST_OF_PERSON: Final = 2**31


def person_lattice(of: Range) -> Lattice:
    """The finest lattice of the range whose whole numbers are at most 2^31: exact where its step allows, so for every integer.

    INVARIANT: a unit has less than 2^31 rows, so the sum of its integers fits into a bigint.
    """
    reach = max(abs(of.low), abs(of.high), Fraction(1, 2**1000))
    step = of.step
    if step is None or reach / step > _MOST_OF_PERSON:
        step = _power_of_two(reach / _MOST_OF_PERSON)
    return Lattice(step, ceil(of.low / step), max(ceil(of.low / step), floor(of.high / step)))
