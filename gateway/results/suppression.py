"""Suppression of small groups that a policy enumerates: their keys stay, their aggregates are NULL without
intervals.

INVARIANT: the noisy unit count of a group and the policy alone decide whether it is small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from gateway.binding.bound import Cut
from gateway.columnar.intervals import Interval, IntervalRows
from gateway.columnar.texts import Row, TextRows, Texts
from gateway.plan.aggregates import Aggregate
from gateway.results.constants import ConstantTable

Intervals: TypeAlias = Sequence[Sequence[Interval]]


def blank_rows(constant: ConstantTable, plan: Aggregate, small: frozenset[int]) -> ConstantTable:
    """The constant relation without the aggregates of these rows; its last column is the row number."""
    if not small:
        return constant
    *columns, numbers = constant.texts
    before = len(plan.keys) + len(plan.marks)
    measured = [
        Texts.of(None if row in small else text for row, text in enumerate(column))
        for column in columns[before:]
    ]
    return replace(constant, texts=(*columns[:before], *measured, numbers))


def drop_small_intervals(
    cut: Cut, rows: Sequence[Row], intervals: Intervals, small: Mapping[str, frozenset[int]]
) -> IntervalRows:
    """The intervals of an answer; a row that depends on a blank one has none, NULL or not."""
    found = IntervalRows.of(intervals)
    if cut.traced is None or not any(small.values()):
        return found
    readings, columns = cut.traced.readings, TextRows.of(rows).columns
    shown = np.ones(len(rows), dtype=np.bool_)
    for one, numbers in zip(readings, columns[len(columns) - len(readings) :], strict=True):
        blank = frozenset(map(str, small.get(one.name, ())))
        shown &= np.fromiter(
            (number not in blank for number in numbers), dtype=np.bool_, count=len(rows)
        )
    return found.where(shown)
