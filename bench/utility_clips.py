"""Errors that ways to bound a person's rows would have, simulated on the true rows: bias and noise by cell.

`best_clip` finds the norm to clip at in hindsight, which nobody can know without looking at the rows. It is what a
choice of the clip is measured against. `best_limits` finds the limits of rows and groups by which a library samples.
The error is the median over cells of the root mean square of the relative error.

Simulated noise is drawn from a generator with a seed: it protects nobody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Truth = Mapping[str, float]

_DRAWS: Final = 40
_LARGEST: Final = 12  # limits are powers of 2 up to this one


@dataclass(frozen=True)
class Parts:
    """What each person has in each cell of a question: one entry for each, with its rows and the sum of its amounts."""

    person: Longs  # from 0
    cell: Longs
    rows: Floats
    total: Floats
    names: tuple[str, ...]
    upper: int

    def by_person(self, values: Floats) -> Floats:
        """For every entry the sum over its person's entries."""
        found: Floats = np.bincount(self.person, values)[self.person].astype(np.float64)
        return found

    def by_cell(self, values: Floats) -> Floats:
        return np.bincount(self.cell, values, len(self.names)).astype(np.float64)

    def truth(self, measure: str) -> Truth:
        rows, total = self.by_cell(self.rows), self.by_cell(self.total)
        found = {"count": rows, "sum": total, "avg": total / np.maximum(rows, 1)}[measure]
        return dict(zip(self.names, found.tolist(), strict=True))


@dataclass(frozen=True)
class Noise:
    """Noise of one person's rows, of `scale` for one measurement and of `shared` for each of two."""

    scale: float
    shared: float
    laplace: bool = False

    def draw(self, draws: np.random.Generator, size: int, scale: float) -> Floats:
        kind = draws.laplace if self.laplace else draws.normal
        return kind(0, scale, (_DRAWS, size))


@dataclass(frozen=True)
class Limits:
    """How a library bounds a person: `total` rows, or `rows` in each of `groups` groups."""

    total: int | None
    rows: int | None = None
    groups: int | None = None

    def __str__(self) -> str:
        return f"{self.total} rows" if self.total else f"{self.rows} rows x {self.groups} groups"


def relative_error(
    truth: Truth, answers: Sequence[Mapping[str, float]], cells: Sequence[str]
) -> float:
    """The median over `cells` of the root mean square over `answers`; a cell that is not shown counts as 0."""
    found = []
    for cell in cells:
        true = truth[cell]
        squares = [((one.get(cell, 0) - true) / true) ** 2 for one in answers]
        found.append(float(np.sqrt(np.mean(squares))))
    return float(np.median(found))


def best_clip(parts: Parts, measure: str, rho: float, cells: Sequence[str]) -> tuple[float, float]:
    """The least error of clipping the norm of a person's rows over the cells, and the clip."""
    norm = np.sqrt(parts.by_person(parts.rows**2))
    noise = Noise(1 / np.sqrt(2 * rho), 1 / np.sqrt(rho))
    tried: list[tuple[float, float]] = []
    for clip in _clips(norm):
        kept = np.minimum(1, clip / norm)
        tried.append((_error(parts, measure, kept, clip, noise, cells), clip))
    return min(tried)


def best_limits(
    parts: Parts, measure: str, noise: Noise, cells: Sequence[str], *, groups: bool
) -> Limits:
    """The limits of least error, with sampled groups or rows of a person alone."""
    tried = [
        (_error(parts, measure, kept, bound, noise, cells), place, limits)
        for place, (limits, kept, bound) in enumerate(_limits(parts, groups=groups))
    ]
    return min(tried)[2]


def _clips(norm: Floats) -> Iterator[float]:
    """The square roots of powers of two, up to the first that clips nobody."""
    clip = 1.0
    while clip < norm.max():
        yield clip
        clip *= np.sqrt(2)
    yield clip


def _limits(parts: Parts, *, groups: bool) -> Iterator[tuple[Limits, Floats, float]]:
    """Limits, the share of each entry that is kept on average, and the norm that a person has at most."""
    powers = [2**at for at in range(_LARGEST + 1)]
    rows = parts.by_person(parts.rows)
    for total in powers:
        yield Limits(total), np.minimum(1, total / rows), total
        if total >= rows.max():
            break
    if not groups:
        return
    cells = parts.by_person(np.ones_like(parts.rows))
    for most in (one for one in powers if one < 2 * parts.rows.max()):
        in_group = np.minimum(1, most / parts.rows)
        for many in (one for one in powers if one < 2 * cells.max()):
            kept = in_group * np.minimum(1, many / cells)
            yield Limits(None, most, many), kept, most * float(np.sqrt(many))


def _error(  # noqa: PLR0917 - each is a part of the formula
    parts: Parts, measure: str, kept: Floats, bound: float, noise: Noise, cells: Sequence[str]
) -> float:
    draws = np.random.Generator(np.random.PCG64(1))
    size, middle = len(parts.names), parts.upper // 2
    rows = parts.by_cell(kept * parts.rows)
    total = parts.by_cell(kept * parts.total)
    found: Floats
    if measure == "count":
        found = np.maximum(rows + noise.draw(draws, size, bound * noise.scale), 0)
    elif measure == "sum":
        found = total + noise.draw(draws, size, bound * parts.upper * noise.scale)
    else:
        rows_drawn = rows + noise.draw(draws, size, bound * noise.shared)
        distance = total - middle * rows + noise.draw(draws, size, bound * middle * noise.shared)
        found = np.clip(middle + distance / np.maximum(rows_drawn, 1), 0, parts.upper)
    true = np.array(list(parts.truth(measure).values()))
    place = {name: at for at, name in enumerate(parts.names)}
    wanted = np.array([place[cell] for cell in cells])
    relative = (found[:, wanted] - true[wanted]) / true[wanted]
    return float(np.median(np.sqrt(np.mean(relative**2, axis=0))))
