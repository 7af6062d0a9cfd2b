"""Numbers of units by bucket that a released histogram of norms may come from, and how likely each of them is.

Buckets with many units are taken as they are released. Behind them noise is larger than what is there, so nothing can be
read from one bucket alone. There the numbers of units are taken to fall along a curve: geometrically, or faster from bucket
to bucket, as they do in event tables. Each curve of a fixed grid begins at one of the last buckets with many units, and is
fitted to all buckets behind it, the empty ones too. How likely a curve is follows from its distance to the released integers,
beside the variance of their noise, which is known.

INVARIANT: all of it follows from released integers and their noise. A wrong curve makes a clip too large or too small, never
unsound. docs/proofs/clip_choice.md.
"""

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.clipping.norm_histogram import NormHistogram, norm_of
from gateway.sensitivity.norm_buckets import BUCKETS

Floats: TypeAlias = NDArray[np.float64]

_FALLS: Final = (0.0, 0.02, *(part / 20 for part in range(1, 19)))
"""Ratios of the second bucket of a curve to its first; 0: nothing is behind it."""
_BENDS: Final = (1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.45, 0.3)
"""By how much the ratio of two neighbours falls, twice, from bucket to bucket: 1 for a geometric curve."""
_LONGEST: Final = 14
"""A curve has so many buckets: it ends at 90 times the norm that it begins with."""
_FEWEST: Final = 0.5  # units: a bucket with fewer is empty
_LEAST: Final = 1e-3  # units: noise is taken to be no smaller than this
_UNLIKELY: Final = 1e-6  # of the likeliest curve: those below it are left out
_MANY: Final = 6.0
"""A bucket of so many standard deviations of noise has many units."""
_BEGINNINGS: Final = 3
"""Curves begin at the last bucket with many units, or at one of the two before it."""
_DOUBT: Final = 4.0
"""Misfits count as if noise had so many times its variance: no table follows a curve exactly."""


@dataclass(frozen=True, slots=True)
class LikelyNorms:
    """`units` by curve and bucket, `weights` by curve with the sum 1, and the norm and the rows of a unit by bucket."""

    units: Floats
    weights: Floats
    norms: Floats
    rows: Floats

    def total(self) -> Floats:
        """All rows, for each curve; one at least."""
        found: Floats = np.maximum((self.units * self.rows).sum(axis=1), 1.0)
        return found

    def lost(self, clips: Floats) -> Floats:
        """The rows that weights take away, for each curve and clip. Noise below zero may outweigh the rest, but no clip adds rows."""
        kept = np.minimum(1.0, clips[:, np.newaxis] / self.norms)
        # not by `@`, whose threads would make the last digits, and so a tie of two clips, depend on the machine's load
        taken = np.einsum("ij,kj->ik", self.units, (1 - kept) * self.rows)
        found: Floats = np.maximum(taken, 0.0)
        return found


def likely_norms(histogram: NormHistogram, cells: int) -> LikelyNorms:
    """What a histogram with visible buckets may come from; rows in `cells` are at most √cells times their norm."""
    if not histogram.visible:
        raise ValueError("no bucket of the histogram stands out of its noise")
    released = np.array([each / histogram.unit for each in histogram.units])
    found = [
        _fitted(released, first, last, histogram.std)
        for last, first in _beginnings(released[: histogram.visible], histogram.std)
    ]
    units = np.concatenate([units for units, _ in found])
    weights = np.concatenate([weights for _, weights in found])
    likely = weights > _UNLIKELY * weights.max()
    norms = np.array([norm_of(place) for place in range(BUCKETS)])
    rows = np.array([histogram.rows_of(place) for place in range(BUCKETS)])
    return LikelyNorms(
        units[likely],
        weights[likely] / weights[likely].sum(),
        norms,
        np.minimum(rows, norms * sqrt(cells)),
    )


def _beginnings(visible: Floats, std: float) -> list[tuple[int, int]]:
    """The last bucket with many units, beside each one that curves begin at; they fall, so none has fewer units than the next."""
    many = np.flatnonzero(visible >= _MANY * std)
    last = first = int(many[-1] if many.size else visible.argmax())
    found = [(last, first)]
    while len(found) < _BEGINNINGS and first and visible[first - 1] >= visible[first]:
        first -= 1
        found.append((last, first))
    return found


def _fitted(released: Floats, first: int, last: int, std: float) -> tuple[Floats, Floats]:
    """The units by curve and bucket, of curves that begin at this bucket, and their weights with the sum 1."""
    tail, curves = released[first:], _curves()[:, : BUCKETS - first]
    squares = (curves * curves).sum(axis=1)
    scales = np.maximum((curves * tail).sum(axis=1) / squares, 0.0)
    fitted = scales[:, np.newaxis] * curves
    misfits = ((tail - fitted) ** 2).sum(axis=1)
    # a curve stands for all scales of it, each as likely before as any other
    logs = -misfits / (2 * _DOUBT * max(std, _LEAST) ** 2) - np.log(squares) / 2
    weights = np.exp(logs - logs.max())
    units = np.empty((len(curves), BUCKETS))
    units[:, : last + 1] = released[: last + 1]
    units[:, last + 1 :] = np.where(fitted < _FEWEST, 0.0, fitted)[:, last + 1 - first :]
    return units, weights / weights.sum()


@cache
def _curves() -> Floats:
    """The curves, each with 1 in its first bucket."""
    steps = np.arange(BUCKETS)
    found: Floats = np.array(
        [fall**steps * bend ** (steps**2) for fall in _FALLS for bend in _BENDS]
    )
    found[:, _LONGEST:] = 0.0
    return found
