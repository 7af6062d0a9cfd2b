"""The choice of a clip: c* minimises the squared error of a cell, (L(c)/K)² + (s·c)², over c = 1, √2, 2, 2√2, …

L(c) is the number of rows that weights take away under the clip c: the sum over the buckets of a histogram of norms of
units · rows · (1 - c/norm) where the norm is above c. K is the number of cells, and s is the standard deviation of the
noise of a count in each cell at c = 1. A large c needs much noise, a small one loses many rows.

Units with the most rows are too few to stand out of the histogram's noise. So the tail beyond the last visible bucket
is continued geometrically. Its ratio is fitted to the last visible buckets and to the noisy ones behind them.

INVARIANT: the choice is a function of the released histogram and of public numbers. Every c is sound, whatever the histogram
says: only the error depends on it. docs/proofs/clip_choice.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Final

from gateway.clipping.norm_histogram import NormBucket, NormHistogram, norm_of
from gateway.sensitivity.norm_buckets import BUCKETS

_RATIOS: Final = tuple(each / 100 for each in range(2, 71, 2))
"""Ratios of one bucket of the tail to the one before. With higher ones the tail would have more rows than all buckets."""
_BEFORE: Final = 2
_BEHIND: Final = 4
_OF_MEAN: Final = 0.2
"""How much of the share of lost rows a mean is wrong by: it loses above and below."""
_KEPT: Final = 1_000  # choices: every repeat of a query makes the same one
_NOTHING: Final = 1e-300
_UNTOLD: Final = 2.0
"""How much more a lost row weighs where no answer can say how many are lost."""
_CONTINUED: Final = 6
"""The tail is continued for so many buckets, up to 8 times the last visible norm."""


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
    """What a clip takes away: the share of units that it concerns, the share of rows, and their number."""

    units: float
    rows: float
    lost: float


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
    buckets = _bounded([*histogram.buckets, *_tail(histogram)], noise.cells)
    squares = [1 << bits for bits in range(2 * largest.bit_length() - 1)]
    rows = sum(one.units * one.rows for one in buckets)
    if rows <= 0:
        return None

    regrets = [0.0] * len(squares)
    for one in (noise,) if total is None else (noise, total):
        errors = [_errors(one, _lost(buckets, sqrt(each)), rows, sqrt(each)) for each in squares]
        least = max(min(errors), _NOTHING)
        regrets = [before + error / least for before, error in zip(regrets, errors, strict=True)]
    return squares[regrets.index(min(regrets))]


def _errors(noise: CellNoise, lost: float, rows: float, clip: float) -> float:
    return sum(_error(one, noise, lost, rows, clip) for one in noise.measures)


def _error(measure: MeasureNoise, noise: CellNoise, lost: float, rows: float, clip: float) -> float:
    """The squared error of a cell, relative to what it is."""
    kept = max(rows - lost, 1.0) if measure.share else rows
    bias = (_OF_MEAN if measure.share else 1.0) * lost / rows
    if noise.found:
        bias *= _UNTOLD
    return bias**2 + (measure.weight * noise.std * clip * noise.cells / kept) ** 2


def clipped_by(histogram: NormHistogram, square: int) -> Clipped | None:
    """What the visible buckets lose under this clip; None where nothing is visible."""
    buckets, clip = histogram.buckets, sqrt(square)
    units = sum(one.units for one in buckets)
    rows = sum(one.units * one.rows for one in buckets)
    if units <= 0 or rows <= 0:
        return None
    above = sum(one.units for one in buckets if one.norm > clip)
    lost = _lost(buckets, clip)
    return Clipped(_share(above, units), _share(lost, rows), lost)


def _lost(buckets: Sequence[NormBucket], clip: float) -> float:
    """L(c). Noise below zero may outweigh the rest, but no clip adds rows."""
    kept = (one for one in buckets if one.norm > clip)
    return max(0.0, sum(one.units * one.rows * (1 - clip / one.norm) for one in kept))


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))


def _bounded(buckets: Sequence[NormBucket], cells: int) -> list[NormBucket]:
    """Rows in K cells are √K times their norm at most."""
    most = sqrt(cells)
    return [NormBucket(one.units, one.norm, min(one.rows, one.norm * most)) for one in buckets]


def _tail(histogram: NormHistogram) -> Iterator[NormBucket]:
    """Buckets behind the visible ones while they would have a unit; more units than are shown would stand out."""
    ratio, units = _ratio(histogram), histogram.buckets[-1].units
    end = min(BUCKETS, histogram.visible + _CONTINUED)
    for place in range(histogram.visible, end):
        units *= ratio
        if units < 1:
            return
        yield NormBucket(min(units, histogram.seen), norm_of(place), histogram.rows_of(place))


def _ratio(histogram: NormHistogram) -> float:
    """The ratio of least squares, from the highest of the last visible buckets on, and none above the last step."""
    count = histogram.visible
    units = [each / histogram.unit for each in histogram.units]
    first = max(0, count - 1 - _BEFORE)
    first = max(range(first, count), key=lambda place: units[place])
    fitted = min(_RATIOS, key=lambda ratio: _misfit(units[first : count + _BEHIND], ratio))
    if count > 1 and units[count - 2] >= histogram.seen:
        return min(fitted, units[count - 1] / units[count - 2])
    return fitted


def _misfit(units: Sequence[float], ratio: float) -> float:
    """The squares that the best geometric sequence with this ratio leaves."""
    powers = [ratio**step for step in range(len(units))]
    product = sum(each * power for each, power in zip(units, powers, strict=True))
    scale = max(0.0, product / sum(power * power for power in powers))
    return sum((each - scale * power) ** 2 for each, power in zip(units, powers, strict=True))
