"""Small groups that a policy lists: their keys stay, their aggregates are NULL and have no interval.

INVARIANT: which groups are small is decided by the noisy count of their units and the policy, by nothing else.
"""

from collections.abc import Mapping, Sequence
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
    cut: Cut, rows: Sequence[Row], intervals: Intervals, small: Mapping[str, frozenset[int]]
) -> Intervals:
    """The intervals of an answer: a row that comes from a blank one has none, NULL or not."""
    if cut.traced is None or not any(small.values()):
        return intervals
    readings = cut.traced.readings
    there = [small.get(one.name, frozenset()) for one in readings]
    return tuple(
        tuple(None for _ in own)
        if any(
            number is not None and int(number) in blank
            for number, blank in zip(row[-len(readings) :], there, strict=True)
        )
        else own
        for row, own in zip(rows, intervals, strict=True)
    )
