"""The choice of a clip: c* minimises the squared error of a cell, (L(c)/K)² + (s·c)², over c = 1, √2, 2, 2√2, …

L(c) is the number of rows that weights take away under the clip c: the sum over the buckets of a histogram of norms of
units · rows · (1 - c/norm) where the norm is above c. K is the number of cells, and s is the standard deviation of the
noise of a count in each cell at c = 1. A large c needs much noise, a small one loses many rows.

Units with the most rows are too few to stand out of the histogram's noise. So the squared error is computed for each
curve that their numbers may follow (`likely_norms.py`), and weighed by how likely the curve is. The clip has the least mean of
these errors. No single integer of the histogram decides, so one unlucky draw of its noise hardly moves the clip.

INVARIANT: the choice is a function of the released histogram and of public numbers. Every c is sound, whatever the histogram
says: only the error depends on it. docs/proofs/clip_choice.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Final

import numpy as np

from gateway.clipping.likely_norms import Floats, LikelyNorms, likely_norms
from gateway.clipping.norm_histogram import (
    NormBucket,
    NormHistogram,
    has_above,
    has_below,
    largest_norm,
)

_OF_MEAN: Final = 0.1
"""How much of the share of lost rows a mean is wrong by: it loses above and below."""
_KEPT: Final = 1_000  # choices: every repeat of a query makes the same one
_NOTHING: Final = 1e-300
_UNTOLD: Final = 2.0
"""How much more a lost row weighs where no answer can say how many are lost."""


@dataclass(frozen=True, slots=True)
class MeasureNoise:
    """The noise of a measure beside what a row adds to it: 1 for a count. `share`: a mean, which loses little with its rows."""

    weight: float = 1.0
    share: bool = False


COUNT: Final = MeasureNoise()


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The cells of a release, and the standard deviation of a count in each of them under a clip of 1.

    `found`: the cells are found in the data, and their number is a guess.
    """

    cells: int
    std: float
    measures: tuple[MeasureNoise, ...] = (COUNT,)
    found: bool = False

    def __post_init__(self) -> None:
        if self.cells < 1 or not self.std > 0 or not self.measures:
            raise ValueError("a release has at least one cell, noise and a measure")


@dataclass(frozen=True, slots=True)
class Clipped:
    """What a clip takes away: the share of units that it concerns, the share of rows, and their number.

    `apart`: no bucket has norms on both sides of the clip. One that has them counts as if all of its units had its largest norm.
    """

    units: float
    rows: float
    lost: float
    apart: bool = True


@lru_cache(maxsize=_KEPT)
def choose_clip(
    histogram: NormHistogram, noise: CellNoise, largest: int, total: CellNoise | None = None
) -> int | None:
    """c² of the best clip up to `largest`; None where no bucket stands out of the noise.

    With a `total` of the cells it is the one under which both are nearest to the best that each could be: where cells are mostly
    noise, a small clip is best for them and takes away most of the total.
    """
    if not histogram.visible:
        return None
    squares = [1 << bits for bits in range(2 * largest.bit_length() - 1)]
    clips = np.sqrt(np.array(squares, dtype=np.float64))
    regrets: Floats = np.zeros(len(squares))
    for one in (noise,) if total is None else (noise, total):
        likely = likely_norms(histogram, one.cells)
        errors = (likely.weights[:, np.newaxis] * _errors(one, likely, clips)).sum(axis=0)
        regrets += errors / max(float(errors.min()), _NOTHING)
    return squares[int(regrets.argmin())]


def _errors(noise: CellNoise, likely: LikelyNorms, clips: Floats) -> Floats:
    """The squared error of a cell, relative to what it is, for each curve and clip: the sum over the measures."""
    lost, rows = likely.lost(clips), likely.total()[:, np.newaxis]
    found: Floats = np.zeros_like(lost)
    for measure in noise.measures:
        kept = np.maximum(rows - lost, 1.0) if measure.share else rows
        bias = (_OF_MEAN if measure.share else 1.0) * lost / rows
        if noise.found:
            bias *= _UNTOLD
        found += bias**2 + (measure.weight * noise.std * clips * noise.cells / kept) ** 2
    return found


def clipped_by(histogram: NormHistogram, square: int) -> Clipped | None:
    """What the visible buckets lose under this clip; None where nothing is visible."""
    buckets = histogram.buckets
    units = sum(one.units for one in buckets)
    rows = sum(one.units * one.rows for one in buckets)
    if units <= 0 or rows <= 0:
        return None
    above = {place: one for place, one in enumerate(buckets) if has_above(place, square)}
    around = next((place for place in above if has_below(place, square)), None)
    lost = _lost(above, around, sqrt(square))
    over = sum(one.units for one in above.values())
    return Clipped(_share(over, units), _share(lost, rows), lost, apart=around is None)


def _lost(above: Mapping[int, NormBucket], around: int | None, clip: float) -> float:
    """L(c), of the largest norm in the bucket that is `around` the clip. Noise below zero may outweigh the rest, but no clip adds rows."""
    norms = {
        place: largest_norm(place) if place == around else one.norm for place, one in above.items()
    }
    taken = (one.units * one.rows * (1 - clip / norms[place]) for place, one in above.items())
    return max(0.0, sum(taken))


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))
