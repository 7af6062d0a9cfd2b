"""Sums of one person's values: whole numbers of a lattice, so that no order of adding shows in them."""

from fractions import Fraction
from math import ceil, floor
from typing import Final

from gateway.ranges.relations import Range
from gateway.sensitivity.lattice import Lattice

_MOST: Final = 2**30 - 1


def person_lattice(of: Range) -> Lattice:
    """The finest lattice of the range whose whole numbers are below 2^30: exact where its step allows."""
    reach = max(abs(of.low), abs(of.high), Fraction(1, 2**1000))
    step = of.step
    if step is None or reach / step > _MOST:
        step = _power_of_two(reach / _MOST)
    return Lattice(step, ceil(of.low / step), max(ceil(of.low / step), floor(of.high / step)))


def _power_of_two(least: Fraction) -> Fraction:
    """The least power of two that is not below."""
    power = least.numerator.bit_length() - least.denominator.bit_length()
    step = Fraction(2) ** power
    while step < least:
        step *= 2
    while step / 2 >= least:
        step /= 2
    return step
