"""Linear combinations of answers: which answers can be in one, and how exactly it estimates atoms.

INVARIANT: the work is that of matrices with a row for each answer; atoms are only added up.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

_WIDEST: Final = 1e4  # a factor of variances; a less exact answer counts as this exact
_NONE: Final = 1e-9
_COLUMNS: Final = 64
_SMALL: Final = 1e-6


def usable_answers(members: NDArray[np.bool_], free: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The answers that can be in a combination in which every atom that is not free cancels.

    An answer that is the only one with such an atom cannot: no other answer cancels the atom. Without it others
    may be the only one.
    """
    rows = np.arange(len(members))
    while len(rows):
        left = members[rows]
        single = (left.sum(axis=0) == 1) & ~free
        out = left[:, single].any(axis=1)
        if not out.any():
            break
        rows = rows[~out]
    return rows


def best_variances(members: NDArray[np.bool_], variances: Numbers) -> Numbers:
    """The least variance with which the answers estimate each atom; infinite if they do not."""
    if not len(members):
        return np.full(members.shape[1], np.inf)
    least = float(variances.min())
    if least <= 0:
        variances, least = np.maximum(variances, _NONE), max(least, _NONE)
    weights = 1.0 / np.sqrt(np.minimum(variances, least * _WIDEST) / least)
    rows = members * weights[:, None]
    values, vectors = np.linalg.eigh(_gram(rows))
    kept = values > _NONE * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    # z = G⁺ (W A e) gives the least |z|² with Aᵀ W z = e, where there is one: where the projection of e is e
    along = np.concatenate([vectors.T @ one for one in _blocks(rows)], axis=1)
    covered = (along**2 / values[:, None]).sum(axis=0)
    square = (along**2 / values[:, None] ** 2).sum(axis=0)
    return np.asarray(np.where(covered > 1.0 - 1e-6, square * least, np.inf))


def _gram(rows: Numbers) -> Numbers:
    """The products of all rows with all rows."""
    total = np.zeros((len(rows), len(rows)))
    for one in _blocks(rows):
        total += one @ one.T
    return total


def _blocks(rows: Numbers) -> Iterator[Numbers]:
    """A few columns at a time: few enough that a product wakes no thread."""
    for start in range(0, rows.shape[1], _COLUMNS):
        yield rows[:, start : start + _COLUMNS]


def cancelling(
    members: NDArray[np.bool_], variances: Numbers, free: NDArray[np.bool_]
) -> Numbers | None:
    """The most exact combination with the first answer in which every atom that is not free cancels: the factor of each atom.

    None if there is no such combination.
    """
    values, vectors = np.linalg.eigh(_gram(members[:, ~free].astype(np.float64)))
    null = vectors[:, values <= _NONE * max(float(values[-1]), 1.0)]
    first = null[0]
    if not null.shape[1] or float(first @ first) < _SMALL:
        return None
    least = max(float(variances.min()), _NONE)
    weights = np.clip(variances, least, least * _WIDEST) / least
    chosen = np.linalg.solve((null.T * weights) @ null, first)
    factors = null @ (chosen / float(first @ chosen))
    return np.asarray(factors @ members, dtype=np.float64)
