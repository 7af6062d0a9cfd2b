"""Cells of grouping keys: for each value of a key, the cells of its axis that have it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from gateway.catalog.types import Family
from gateway.catalog.values import Value
from gateway.functions.thresholds import Unsolved
from gateway.lru_cache import LruCache
from gateway.plan.scalars import Case, Literal, Ref, Scalar, transform
from gateway.plan.sql_text import scalar_sql
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.base_columns import Base, Bases
from gateway.regions.cells import (
    Cells,
    all_cells,
    clip_cells,
    intersection,
    is_empty,
    minus,
    no_cells,
    union,
)
from gateway.regions.monotone import solve_comparison
from gateway.regions.predicate import truth_of
from gateway.regions.region import Region, TooLarge
from gateway.regions.region_work import WorkSpent, allow_work, may_compute
from gateway.regions.tabulate import (
    Classes,
    memory_weight,
    tabulate_values,
    tabulation_work,
    value_cells,
    with_reciprocal,
)
from gateway.regions.time_differences import over_one_base
from gateway.sensitivity.analysis import EnumeratedGroups

_Values = tuple[Value | None, ...]
_Key = tuple[str, str, RegionAxis, _Values]
_Found = tuple[Cells, ...] | None
_MOST_REMEMBERED: Final = 16_000_000
_REMEMBERED: Final[LruCache[_Key, _Found]] = LruCache(
    _MOST_REMEMBERED, lambda key, found: 200 * len(key[3]) + memory_weight(key[0], found or ())
)


def cells_of(scalar: Scalar, base: Base, values: _Values) -> tuple[Cells, ...] | None:
    """The cells of the base in which the expression has each of the values; None if they cannot be computed."""
    axis = base.axis
    if axis is None:
        return None
    key = (scalar_sql(scalar), str(base.field.type), axis, values)
    if not may_compute(key, tabulation_work(scalar, base.field, axis)):
        return None
    return _REMEMBERED.get(key, lambda: _computed(scalar, base, axis, values))


def _computed(
    scalar: Scalar, base: Base, axis: RegionAxis, values: _Values
) -> tuple[Cells, ...] | None:
    """The same, with an allowance of its own: what is remembered does not depend on what the statement spent before."""
    try:
        with allow_work():
            return _cells_of(scalar, base, axis, values)
    except WorkSpent:
        return None


def _cells_of(
    scalar: Scalar, base: Base, axis: RegionAxis, values: Sequence[Value | None]
) -> tuple[Cells, ...] | None:
    if isinstance(scalar, Ref):
        return _all(value_cells(base.field, axis, one) for one in values)
    try:
        found = _classes(scalar, base, axis)
    except TooLarge:
        return None
    if found is not None:
        return tuple(found.get(one, no_cells(axis)) for one in values)
    return _all(_solved(scalar, base, axis, one) for one in values)


def _all(given: Iterable[Cells | None]) -> tuple[Cells, ...] | None:
    made = []
    for one in given:
        if one is None:
            return None
        made.append(one)
    return tuple(made)


def _solved(scalar: Scalar, base: Base, axis: RegionAxis, value: Value | None) -> Cells | None:
    if axis.kind is not AxisKind.STEPS:
        return None
    scalar = transform(scalar, with_reciprocal)
    try:
        if value is None:
            # the expression is NULL exactly where the column is NULL
            solve_comparison(scalar, base.field, axis, "=", 0)
            return value_cells(base.field, axis, None)
        return clip_cells(solve_comparison(scalar, base.field, axis, "=", value), axis)
    except Unsolved:
        return None


def _classes(scalar: Scalar, base: Base, axis: RegionAxis) -> Classes | None:
    """All values of the expression, each with its cells."""
    found = tabulate_values(scalar, base.field, axis, as_key=True)
    if found is not None:
        return found
    if isinstance(scalar, Literal):
        return {scalar.value: all_cells(axis)}
    if scalar.type.family is Family.BOOLEAN:
        return _of_condition(scalar, base, axis)
    if isinstance(scalar, Case):
        return _of_case(scalar, base, axis)
    return None


def _of_condition(scalar: Scalar, base: Base, axis: RegionAxis) -> Classes | None:
    truth = truth_of(scalar, {base.field.id: base})
    true, false = _along(truth.true, axis), _along(truth.false, axis)
    if true is None or false is None:
        return None
    return {True: true, False: false, None: minus(minus(all_cells(axis), true), false)}


def _along(region: Region, axis: RegionAxis) -> Cells | None:
    """The cells of a region that is over this axis alone."""
    if region.is_nothing:
        return no_cells(axis)
    if region.is_everything:
        return all_cells(axis)
    if [one.name for one in region.axes] != [axis.name] or len(region.boxes) != 1:
        return None
    return region.boxes[0].along(axis.name)


def _of_case(case: Case, base: Base, axis: RegionAxis) -> Classes | None:
    """The cells of a CASE: a cell has the result of the first branch whose condition is true."""
    found: Classes = {}
    left = all_cells(axis)
    for when, then in (*case.branches, (None, case.otherwise)):
        here = left
        if when is not None:
            held = _of_condition(when, base, axis)
            if held is None:
                return None
            here = intersection(left, held[True])
        inside = _classes(then, base, axis)
        if inside is None:
            return None
        for value, cells in inside.items():
            both = intersection(here, cells)
            if not is_empty(both):
                found[value] = union(found[value], both) if value in found else both
        left = minus(left, here)
    return found


Values = tuple[Value | None, ...]


def key_axis(
    scalar: Scalar, values: Values | None, bases: Bases
) -> tuple[RegionAxis | None, tuple[Cells, ...] | None]:
    """The axis that a key divides, and the cells of its values. The expression is normal and over bases."""
    over = over_one_base(scalar, bases)
    if over is None:
        return None, None
    written, base = over
    if values is None or base.axis is None:
        return base.axis, None
    cells = cells_of(written, base, values)
    return (None, None) if cells is None else (base.axis, cells)


def values_at(listed: EnumeratedGroups, place: int) -> Values:
    """The values of one key. Listed groups are all combinations, the last key going through its values fastest."""
    keys = listed.keys
    if not keys:  # the conditions of the statement leave no value
        return ()
    before = step = len(keys)
    for at in range(place + 1):
        first = keys[0][at]
        # groups that begin like the first one start with its value of this key
        there = bisect_left(range(step), 1, key=lambda one: keys[one][at] != first)
        before, step = step, there
    return tuple(keys[one][place] for one in range(0, before, step))
