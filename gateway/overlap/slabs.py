"""Slabs: the atoms that lie in few cells of one axis."""

from collections.abc import Iterator, Sequence

import numpy as np

from gateway.overlap.answered import Told
from gateway.overlap.atoms import Atoms
from gateway.overlap.axes import Axis
from gateway.overlap.cells import Cells
from gateway.overlap.extents import BOUNDLESS, is_fine, width
from gateway.overlap.narrow import SLIVER
from gateway.overlap.part import Part
from gateway.overlap.sides import hull
from gateway.overlap.sizes import likely
from gateway.policy.rules import Auditing


def slabs(part: Part, told: Sequence[Told], atoms: Atoms, rules: Auditing) -> Iterator[list[int]]:
    """Those of several atoms; one of a single atom is looked at as that."""
    for place, (name, classes) in enumerate(atoms.classes):
        axis = part.axes[name]
        if not is_fine(axis):
            continue
        density = _density(name, part, told) if rules.min_units > 1 else None
        few = [at for at, cells in enumerate(classes) if _is_few(cells, axis, density, rules)]
        if not few:
            continue
        confined = atoms.confined(place)
        for at in few:
            inside: list[int] = np.flatnonzero(confined == at).tolist()
            if len(inside) > 1:
                yield inside


def _is_few(cells: Cells, axis: Axis, density: float | None, rules: Auditing) -> bool:
    wide = width(cells, axis)
    if wide is None:
        return False
    if wide <= rules.narrow_cells:
        return True
    if density is None or axis.size is None or wide > SLIVER * axis.size:
        return False
    return density * wide < rules.min_units


def _density(name: str, part: Part, told: Sequence[Told]) -> float | None:
    """How many people there are for a cell, by the answer that has most of the axis."""
    best: tuple[float, float] | None = None
    for one in told:
        around = hull(one.sides, part.axes)
        found = width(around.get(name), part.axes[name])
        wide = BOUNDLESS if found is None else float(found)
        if best is not None and wide <= best[0]:
            continue
        count = likely(one.entry, around)
        if count is not None:
            best = wide, max(count, 0.0) / max(wide, 1.0)
    return None if best is None else best[1]
