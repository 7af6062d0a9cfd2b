"""By how much one unit moved an exact answer, held against what was declared."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from gateway.catalog.values import Value
from gateway.exact import ExactTable
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups

Key: TypeAlias = tuple[Value | None, ...]
Groups: TypeAlias = Mapping[Key, tuple[int, ...]]


def groups_of(table: ExactTable) -> Groups:
    """The integers of each group. A key that is there twice would stop a release: a bug by itself."""
    assert len(set(table.keys)) == len(table.keys), "one key came back twice"
    return {key: tuple(one[at] for one in table.measured) for at, key in enumerate(table.keys)}


def moves(before: Groups, after: Groups, analysis: Analysis) -> dict[Key, tuple[int, ...]]:
    """How far each measurement moved in each group that can come back."""
    groups = analysis.groups
    listed = set(groups.keys) if isinstance(groups, EnumeratedGroups) else {*before, *after}
    none = (0,) * len(analysis.measurements)
    return {
        key: tuple(
            abs(new - old)
            for old, new in zip(before.get(key, none), after.get(key, none), strict=True)
        )
        for key in {*before, *after} & listed
    }


def excesses(before: Groups, after: Groups, analysis: Analysis) -> Iterator[str]:
    """Where a unit moved more than is declared: by group, in the sum, in the sum of squares."""
    moved = moves(before, after, analysis)
    most_groups, place = analysis.groups_per_unit, 0
    for slot in analysis.slots:
        places = range(place, place + len(slot.measurements))
        place += len(slot.measurements)
        for at, one in zip(places, slot.measurements, strict=True):
            for key, by in moved.items():
                if by[at] > one.most:
                    yield f"m{at + 1} of {key}: {by[at]} > {one.most}"
            squares = sum(by[at] ** 2 for by in moved.values())
            if squares > slot.delta2_squared(most_groups):
                yield f"m{at + 1}: squares {squares} > {slot.delta2_squared(most_groups)}"
        for key, by in moved.items():
            if sum(by[at] for at in places) > slot.most:
                yield f"slot from m{places[0] + 1} of {key}: over {slot.most}"
        if slot.norm is not None and slot.norm.added is None:
            continue  # its weights bound the sum of squares
        added = sum(by[at] for by in moved.values() for at in places)
        if added > slot.delta1(most_groups):
            yield f"slot from m{places[0] + 1}: {added} > {slot.delta1(most_groups)}"
