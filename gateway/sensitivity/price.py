"""How the price of a statement is split over what it measures."""

from collections.abc import Sequence
from fractions import Fraction

from gateway.sensitivity.analysis import Analysis


def shares(analyses: Sequence[Analysis]) -> tuple[tuple[Fraction, ...], ...]:
    """For each release the part of the price that each of its slots takes: equal parts, one in all.

    INVARIANT: the parts of all releases of a statement add up to 1, or to 0 where nothing is measured.
    """
    all_ = sum(len(one.slots) for one in analyses)
    return tuple(tuple(Fraction(1, all_) for _ in one.slots) for one in analyses)
