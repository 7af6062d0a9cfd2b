"""First-order error propagation: a value and its partial derivatives by each noisy integer.

A formula is replaced by its tangent plane at the released values. If the plane is not close enough, `beyond`
bounds the distance between formula and plane while every operand is within its own margin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.intervals.margins import Floats

_ZERO: Final = np.float64(0)
_ONE: Final = np.float64(1)

Truths: TypeAlias = "NDArray[np.bool_] | np.bool_"


@dataclass(frozen=True, slots=True)
class DualNumber:
    """A number in every row, with its partial derivatives by the noisy integers behind it.

    A value that is equal in all rows is a single float; `there` says in which rows the number exists.
    """

    value: Floats
    slopes: Mapping[int, Floats]
    there: Truths
    beyond: Floats = _ZERO


def add_duals(left: DualNumber, right: DualNumber) -> DualNumber:
    slopes = mix_slopes(left, _ONE, right, _ONE)
    beyond = left.beyond + right.beyond
    return make_dual(left.value + right.value, slopes, left.there & right.there, beyond)


def multiply_duals(left: DualNumber, right: DualNumber, both: Floats = _ZERO) -> DualNumber:
    """`both` bounds the distance between the product and the plane: the product of both margins, or 0 if it is
    close.
    """
    slopes = mix_slopes(left, right.value, right, left.value)
    beyond = np.abs(right.value) * left.beyond + np.abs(left.value) * right.beyond + both
    return make_dual(left.value * right.value, slopes, left.there & right.there, beyond)


def divide_duals(above: DualNumber, below: DualNumber, half: Floats) -> DualNumber:
    """`half` is the margin of the denominator: if it reaches 0, there is no quotient."""
    value, part = above.value / below.value, half / below.value
    moved = 1 / (below.value * (1 - part**2))
    there = above.there & below.there & (np.abs(below.value) > half)  # otherwise it may be 0
    beyond = (above.beyond + np.abs(value) * below.beyond) * np.abs(moved)
    return make_dual(value, mix_slopes(above, moved, below, -value * moved), there, beyond)


def root_dual(of: DualNumber, half: Floats) -> DualNumber:
    """If the margin reaches 0, the root is too steep for any plane, and there is no error bound."""
    value = np.sqrt(np.maximum(of.value, 0))
    slopes = {place: slope / (2 * value) for place, slope in of.slopes.items()}
    # the distance below the plane is largest where the radicand is smallest
    low = np.sqrt(np.maximum(of.value - half, 0))
    beyond = of.beyond / (2 * value) + value - half / (2 * value) - low
    return make_dual(value, slopes, of.there & (of.value > half), beyond)


def clamp_dual(of: DualNumber, least: float, half: Floats = _ZERO) -> DualNumber:
    """Below the lower limit, the number no longer shows how far below; there is no error bound."""
    value = np.maximum(of.value, least)
    return DualNumber(value, of.slopes, of.there & (of.value - half >= least), of.beyond)


def make_dual(
    value: Floats, slopes: Mapping[int, Floats], there: Truths, beyond: Floats = _ZERO
) -> DualNumber:
    return DualNumber(value, slopes, there & np.isfinite(value), beyond)


def mix_slopes(
    left: DualNumber, weight: Floats, right: DualNumber, other: Floats
) -> dict[int, Floats]:
    slopes = {place: slope * weight for place, slope in left.slopes.items()}
    for place, slope in right.slopes.items():
        slopes[place] = slopes.get(place, _ZERO) + slope * other
    return slopes
