"""Weighted means of columns of integers, as the nearest integers: exact, for columns of any length."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Wholes: TypeAlias = NDArray[np.int64]
_WIDE: Final = 62  # bits that 64 hold with a sign, with one to spare


def nearest(old: Sequence[int], new: Sequence[int], weight: Fraction) -> list[int]:
    """The integers nearest to weight·old + (1 - weight)·new; of two, the upper one."""
    if len(old) != len(new):
        raise ValueError("columns of different lengths")
    if not old:
        return []
    largest = max(map(abs, (min(old), max(old), min(new), max(new))))
    if fits(largest, weight):
        made = nearest_of(np.array(old, dtype=np.int64), np.array(new, dtype=np.int64), weight)
        found: list[int] = made.tolist()
        return found
    of_old, of_new, under = _parts(weight)
    both = zip(old, new, strict=True)
    return [(of_old * one + of_new * other + under) // (2 * under) for one, other in both]


def nearest_of(old: Wholes, new: Wholes, weight: Fraction) -> Wholes:
    """The same of arrays, where `fits` says that 64 bits are enough."""
    of_old, of_new, under = _parts(weight)
    return (of_old * old + of_new * new + under) // (2 * under)


def fits(largest: int, weight: Fraction) -> bool:
    """Whether nothing on the way is longer than 64 bits, where no number is larger."""
    return (2 * weight.denominator * (largest + 1)).bit_length() < _WIDE


def _parts(weight: Fraction) -> tuple[int, int, int]:
    under = weight.denominator
    return 2 * weight.numerator, 2 * (under - weight.numerator), under
