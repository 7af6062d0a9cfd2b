"""Small groups that a policy lists: their keys stay, their aggregates are NULL and have no interval.

INVARIANT: which groups are small is decided by the noisy count of their units and the policy, by nothing else.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from gateway.binding.bound import Cut
from gateway.finishing import Constant, Row
from gateway.plan.grouping import Aggregate

Intervals: TypeAlias = tuple[tuple[tuple[float, float] | None, ...], ...]


def blanked(constant: Constant, plan: Aggregate, small: frozenset[int]) -> Constant:
    """The constant without what was measured of these rows; the last column is their numbers."""
    if not small:
        return constant
    *columns, numbers = constant.texts
    before = len(plan.keys) + len(plan.marks)
    measured = [
        [None if row in small else text for row, text in enumerate(column)]
        for column in columns[before:]
    ]
    return replace(constant, texts=(*columns[:before], *measured, numbers))


def without_small(
    cut: Cut, rows: Sequence[Row], intervals: Intervals, small: frozenset[int]
) -> Intervals:
    """The intervals of an answer: a cell that was computed from a blank one has none, NULL or not."""
    if cut.traced is None or not small:
        return intervals
    return tuple(
        tuple(None for _ in own) if row[-1] is not None and int(row[-1]) in small else own
        for row, own in zip(rows, intervals, strict=True)
    )
