"""Keys of one release that divide one axis together: its groups there are the meets of the groups of each.

INVARIANT: sums are chosen among the meets. A group of the first key that lies mostly outside of the wanted cells is no
group of the release if the second key cuts it, and the part that lies inside may be one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from gateway.lru_cache import LruCache
from gateway.overlap.group_cuts import KeyGrouping, grouping_in_order, grouping_of
from gateway.regions.axis import RegionAxis
from gateway.regions.cell_classes import cell_classes
from gateway.regions.cells import Cells, StepCells, is_empty
from gateway.regions.scope import GroupKey

_MOST_REMEMBERED: Final = 2_000_000
_Groups: TypeAlias = tuple[tuple[Cells, ...], ...]
_Groupings: TypeAlias = tuple[KeyGrouping | None, ...]


def joint_groupings(groupings: Iterable[KeyGrouping | None]) -> dict[str, KeyGrouping]:
    """For each axis that several keys divide, all of them as one."""
    along: dict[str, list[KeyGrouping]] = {}
    for one in groupings:
        if one is not None:
            along.setdefault(one.axis.name, []).append(one)
    return {name: _joint(several) for name, several in along.items() if len(several) > 1}


def taken_jointly(
    keys: Sequence[KeyGrouping], joint: Mapping[str, KeyGrouping]
) -> list[KeyGrouping]:
    """These keys, with all keys of the release on an axis as one where several divide it."""
    made: dict[str, KeyGrouping] = {}
    for one in keys:
        made.setdefault(one.axis.name, joint.get(one.axis.name, one))
    return list(made.values())


class SharedGroupings:
    """The groupings of keys that several releases have, each made once; with those of several keys on one axis."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[GroupKey, ...], _Groupings, dict[str, KeyGrouping]]] = {}

    def of(self, keys: tuple[GroupKey, ...]) -> tuple[_Groupings, dict[str, KeyGrouping]]:
        """The groupings of these keys, which are kept, so that their id stays their own."""
        known = self._known.get(id(keys))
        if known is None:
            made = tuple(grouping_of(one) for one in keys)
            known = self._known[id(keys)] = keys, made, joint_groupings(made)
        return known[1:]


def _joint(several: Sequence[KeyGrouping]) -> KeyGrouping:
    text = " and ".join(one.text for one in several)
    axis = several[0].axis
    cut = [one.cells for one in several if one.cells is not None]
    if len(cut) < len(several):  # every cell is a group of its own
        return KeyGrouping(text, axis, None, None, tuple(several))
    cells = _MEETS.get((axis, tuple(cut)), lambda: _meets(axis, cut))
    return KeyGrouping(text, axis, cells, grouping_in_order(cells), tuple(several))


def _meets(axis: RegionAxis, cut: Sequence[Sequence[Cells]]) -> tuple[Cells, ...]:
    """The cells that are in one group of every key; what a key has no group for is in no group."""
    every = [one for groups in cut for one in groups]
    owner = [key for key, groups in enumerate(cut) for _ in groups]
    return tuple(
        cells
        for members, cells in cell_classes(axis, every)
        if not is_empty(cells) and len({owner[one] for one in members}) == len(cut)
    )


_MEETS: Final[LruCache[tuple[RegionAxis, _Groups], tuple[Cells, ...]]] = LruCache(
    _MOST_REMEMBERED, lambda key, found: _weight(found) + sum(map(_weight, key[1]))
)
"""All hold so many ranges and names together."""


def _weight(groups: Sequence[Cells]) -> int:
    return sum(1 + len(one.ranges if isinstance(one, StepCells) else one.values) for one in groups)
