"""Classes of an axis' cells: cells that belong to the same sets form a class.

INVARIANT: the classes are disjoint, none is empty, and together they are the whole axis.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import AxisMismatch, Cells, NameCells, Range, StepCells

_Members = tuple[int, ...]


def cell_classes(
    axis: RegionAxis, given: Sequence[Cells | None]
) -> Iterator[tuple[_Members, Cells]]:
    """Each class with the indexes of the sets that contain it; None is a set that contains everything."""
    always = frozenset(place for place, one in enumerate(given) if one is None)
    null = _members(always | {place for place, one in enumerate(given) if one and one.null})
    if axis.kind is AxisKind.STEPS:
        yield from _of_steps(axis, given, always, null)
    else:
        yield from _of_names(axis, given, always, null)


def _members(places: set[int] | frozenset[int]) -> _Members:
    return tuple(sorted(places))


def _of_steps(
    axis: RegionAxis, given: Sequence[Cells | None], always: frozenset[int], null: _Members
) -> Iterator[tuple[_Members, Cells]]:
    turns: dict[int, set[int]] = {FIRST: set(), LAST + 1: set()}
    for place, one in enumerate(given):
        if one is None:
            continue
        if not isinstance(one, StepCells):
            raise AxisMismatch
        for first, last in one.ranges:
            # a set begins at its first cell and ends after its last one, never at the same place
            turns.setdefault(first, set()).add(place)
            turns.setdefault(last + 1, set()).add(place)
    found: dict[_Members, list[Range]] = {}
    inside = set(always)
    ends = sorted(turns)
    for start, after in pairwise(ends):
        inside ^= turns[start]
        found.setdefault(_members(inside), []).append((start, after - 1))
    for members, ranges in found.items():
        yield members, StepCells(tuple(ranges), axis.nullable and members == null)
    if axis.nullable and null not in found:
        yield null, StepCells((), null=True)


def _of_names(
    axis: RegionAxis, given: Sequence[Cells | None], always: frozenset[int], null: _Members
) -> Iterator[tuple[_Members, Cells]]:
    there: list[tuple[int, NameCells]] = []
    for place, one in enumerate(given):
        if isinstance(one, StepCells):
            raise AxisMismatch
        if one is not None:
            there.append((place, one))
    named = frozenset(name for _, one in there for name in one.values)
    if axis.names is not None:
        named = axis.names
    found: dict[_Members, set[str]] = {}
    for name in named:
        having = {place for place, one in there if (name in one.values) is not one.rest}
        found.setdefault(_members(always | having), set()).add(name)
    others = _members(always | {place for place, one in there if one.rest})
    if axis.names is None:
        found.setdefault(others, set())
    for members, names in found.items():
        with_null = axis.nullable and members == null
        if axis.names is None and members == others:
            yield members, NameCells(named - names, rest=True, null=with_null)
        else:
            yield members, NameCells(frozenset(names), null=with_null)
    if axis.nullable and null not in found:
        yield null, NameCells(frozenset(), null=True)
