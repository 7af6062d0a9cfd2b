"""Atoms: the smallest sets of rows that several regions tell apart, on a grid of cells.

INVARIANT: a set of regions that exceeds the limits is refused as a whole; no caller gets a part of the atoms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.regions.boxes import Axes, Side
from gateway.regions.cell_classes import cell_classes
from gateway.regions.cells import Cells, all_cells, is_only_null, union_of_many

MOST_ATOMS: Final = 512
_MOST_CELLS: Final = 8192

Table: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Atoms:
    """`members[r, a]` is true if region r contains atom a. `classes` are those of each axis; `pieces` gives
    boxes.
    """

    members: Table
    classes: tuple[tuple[str, tuple[Cells, ...]], ...]
    _where: tuple[NDArray[np.int64], ...]

    def pieces(self, several: Sequence[int]) -> list[Side]:
        """The atoms as boxes: cells of the grid, merged along one axis after the other."""
        shape = [len(cells) for _, cells in self.classes]
        places = np.unravel_index(np.concatenate([self._where[atom] for atom in several]), shape)
        boxes = [
            tuple(frozenset({at}) for at in one)
            for one in zip(*(axis.tolist() for axis in places), strict=True)
        ]
        for axis in range(len(shape)):
            boxes = _merged(boxes, axis)
        return [self._side(one) for one in boxes]

    def _side(self, box: "_Box") -> Side:
        return {
            name: union_of_many([cells[at] for at in sorted(chosen)])
            for chosen, (name, cells) in zip(box, self.classes, strict=True)
            if len(chosen) < len(cells)
        }

    @property
    def cells(self) -> int:
        """The number of grid cells in each atom."""
        return sum(len(one) for one in self._where)

    def along(self, axis: int) -> NDArray[np.intp]:
        """The class of each cell on this axis, atom by atom."""
        shape = [len(cells) for _, cells in self.classes]
        return np.asarray(np.unravel_index(np.concatenate(self._where), shape)[axis])

    def confined(self, axis: int) -> NDArray[np.intp]:
        """The class of the axis that contains the whole atom; -1 if it extends over several."""
        places = self.along(axis)
        low = np.minimum.reduceat(places, self._starts)
        return np.where(low == np.maximum.reduceat(places, self._starts), low, -1)

    def everywhere(self, of_cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The atoms all of whose cells are true."""
        return np.asarray(np.logical_and.reduceat(of_cells, self._starts))

    def total(self, of_cells: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.add.reduceat(of_cells, self._starts))

    @property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(one) for one in self._where[:-1])])


def atoms_of(regions: Sequence[Sequence[Side]], axes: Axes) -> Atoms | None:
    """The atoms of these regions, without the one outside of all; None if there are too many."""
    boxes = [box for region in regions for box in region]
    names = sorted({name for box in boxes for name in box})
    lines, cells, size = [], [], 1
    for name in names:
        given = [box.get(name) for box in boxes]
        found = _classes(given, name, axes)
        size *= len(found)
        if size > _MOST_CELLS:
            return None
        has = np.zeros((len(boxes), len(found)), dtype=np.bool_)
        for place, (members, _) in enumerate(found):
            has[list(members), place] = True
        lines.append(has)
        cells.append((name, tuple(one for _, one in found)))
    grid = reduce(_crossed, lines, np.ones((len(boxes), 1), dtype=np.bool_))
    firsts = np.cumsum([0, *(len(region) for region in regions[:-1])])
    table = np.logical_or.reduceat(grid, firsts, axis=0)
    packed = np.ascontiguousarray(np.packbits(table, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    kept: list[int] = np.flatnonzero(table[:, first].any(axis=0)).tolist()
    if len(kept) > MOST_ATOMS:
        return None
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(first) + 1))
    where = tuple(order[starts[at] : starts[at + 1]] for at in kept)
    return Atoms(table[:, first[kept]], tuple(cells), where)


def _classes(
    given: Sequence[Cells | None], name: str, axes: Axes
) -> list[tuple[tuple[int, ...], Cells]]:
    """The classes of one axis. NULL is a class of its own only if a region selects NULL alone."""
    about_null = any(one is not None and is_only_null(one) for one in given)
    distinct: dict[Cells, int] = {}
    for one in given:
        if one is not None:
            distinct.setdefault(one, len(distinct))
    owners: list[list[int]] = [[] for _ in distinct]
    always = [place for place, one in enumerate(given) if one is None]
    for place, one in enumerate(given):
        if one is not None:
            owners[distinct[one]].append(place)
    whole = all_cells(axes[name])
    found = []
    for members, cells in cell_classes(axes[name], list(distinct) or [whole]):
        if is_only_null(cells) and not about_null:
            continue
        having = (
            always + [place for one in members for place in owners[one]] if distinct else always
        )
        found.append((tuple(having), cells))
    return found


_Box: TypeAlias = tuple[frozenset[int], ...]


def _merged(boxes: list[_Box], axis: int) -> list[_Box]:
    """The boxes, with those merged that differ along this axis alone."""
    found: dict[_Box, frozenset[int]] = {}
    for box in boxes:
        rest = (*box[:axis], *box[axis + 1 :])
        found[rest] = found.get(rest, frozenset()) | box[axis]
    return [(*rest[:axis], chosen, *rest[axis:]) for rest, chosen in found.items()]


def _crossed(one: Table, other: Table) -> Table:
    return (one[:, :, None] & other[:, None, :]).reshape(one.shape[0], -1)
