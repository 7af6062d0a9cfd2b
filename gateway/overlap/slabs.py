"""Sets of atoms that may hold few people: single atoms of few cells or a small share, and slabs.

A slab is the set of atoms within few cells of one axis.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.atoms import Atoms
from gateway.overlap.few_cells import FewCells
from gateway.overlap.narrow import MINOR_PART, SLIVER
from gateway.overlap.question_part import QuestionPart, RegionAnswer
from gateway.policy.policy import Auditing
from gateway.regions.axis import RegionAxis
from gateway.regions.boxes import hull_cells
from gateway.regions.cells import BOUNDLESS, Cells, axis_width, is_fine


def narrow_slabs(
    part: QuestionPart, answers: Sequence[RegionAnswer], atoms: Atoms, rules: Auditing
) -> list[list[int]]:
    """The atoms of each slab that may hold few people."""
    found: list[list[int]] = []
    for place, (name, classes) in enumerate(atoms.classes):
        axis = part.axes[name]
        if not is_fine(axis):
            continue
        density = _density(name, part, answers) if rules.min_units > 1 else None
        few = [at for at, cells in enumerate(classes) if _is_few(cells, axis, density, rules)]
        if not few:
            continue
        confined = atoms.confined(place)
        inside = [np.flatnonzero(confined == at).tolist() for at in few]
        found += [one for one in inside if one]
    return found


def narrow_atoms(
    part: QuestionPart, answers: Sequence[RegionAnswer], atoms: Atoms, rules: Auditing
) -> NDArray[np.bool_]:
    """The atoms that can be narrow; no other atom is."""
    limit = FewCells(rules)
    narrow = np.zeros(atoms.cells, dtype=np.bool_)
    volume = np.ones(atoms.cells)
    for place, (name, classes) in enumerate(atoms.classes):
        axis = part.axes[name]
        found = [axis_width(one, axis) for one in classes]
        widths = np.array([BOUNDLESS if one is None else float(one) for one in found])
        along = widths[atoms.along(place)]
        if is_fine(axis):
            narrow |= along <= limit.on(axis)
        volume *= along
    few = atoms.everywhere(narrow)
    if rules.min_units > 1:
        sizes = atoms.total(volume)
        for row, one in enumerate(answers, start=1):
            has = atoms.members[row]
            if one.count is not None:
                shares = sizes / max(float(sizes[has].sum()), 1.0)
                small = (one.count * shares < rules.min_units) & (shares <= MINOR_PART)
                few |= has & small
    return few


def _is_few(cells: Cells, axis: RegionAxis, density: float | None, rules: Auditing) -> bool:
    wide = axis_width(cells, axis)
    if wide is None:
        return False
    few = FewCells(rules)
    if few.parts(cells, axis) <= few.most:
        return True
    if density is None or axis.size is None or wide > SLIVER * axis.size:
        return False
    return density * wide < rules.min_units


def _density(name: str, part: QuestionPart, answers: Sequence[RegionAnswer]) -> float | None:
    """The number of people per cell, by the answer that covers most of the axis."""
    best: tuple[float, float] | None = None
    for one in answers:
        around = hull_cells(one.sides, part.axes)
        found = axis_width(around.get(name), part.axes[name])
        wide = BOUNDLESS if found is None else float(found)
        if best is not None and wide <= best[0]:
            continue
        if one.count is not None:
            best = wide, one.count / max(wide, 1.0)
    return None if best is None else best[1]
