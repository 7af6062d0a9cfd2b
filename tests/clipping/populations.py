"""Populations for the choice of a clip: the rows of every unit in every group, exact histograms, and the errors of clips."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Final

import numpy as np
from noise.streams import Stream
from numpy.typing import NDArray

from gateway.clipping.choose_clip import CellNoise
from gateway.clipping.norm_histogram import NormHistogram
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, gaussian_for, laplace_for
from gateway.sample.clinic import Clinic, Visits
from gateway.sensitivity.norm_buckets import (
    BUCKETS,
    DELTA1,
    DELTA2_SQUARED,
    UNIT,
    bucket_of,
    spread_of,
)

Counts = NDArray[np.int64]
"""A row for each unit, a column for each group."""
Whole = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.int8]
LARGEST: Final = 1 << 14
SQUARES: Final = tuple(2**bits for bits in range(29))
_RATE: Final = Fraction(1539, 10_000)
"""The zCDP price of one epsilon where the limit is epsilon 10, delta 1e-6."""


def _counted(units: Whole, groups: Whole) -> Counts:
    counts = np.zeros((int(units.max()) + 1, int(groups.max()) + 1), np.int64)
    np.add.at(counts, (units, groups), 1)
    kept: Counts = counts[counts.sum(axis=1) > 0]
    return kept


def _clinic(group: Callable[[Visits], Whole]) -> Counts:
    parts = list(Clinic().visit_rows())
    units = np.concatenate([one.patient_id for one in parts])
    return _counted(units, np.concatenate([group(one) for one in parts]))


def _spread(rows: NDArray[np.int64], groups: int, random: np.random.Generator) -> Counts:
    units = np.repeat(np.arange(rows.size), rows)
    return _counted(units, random.integers(0, groups, units.size))


def _zipf(groups: int) -> Counts:
    """Most units have one row, and a few have hundreds."""
    random = np.random.default_rng(2)
    return _spread(np.minimum(random.zipf(2.3, 20_000), 2_000), groups, random)


def _retail(groups: int) -> Counts:
    """Nobody has many times the rows of others."""
    random = np.random.default_rng(3)
    return _spread(random.geometric(1 / 8, 20_000), groups, random)


POPULATIONS: Final[Mapping[str, Callable[[], Counts]]] = {
    "clinic by diagnosis": lambda: _clinic(lambda visits: visits.diagnosis),
    "clinic by year": lambda: _clinic(lambda visits: visits.day // 366),
    "clinic by month": lambda: _clinic(lambda visits: visits.day // 31),
    "zipf by category": lambda: _zipf(12),
    "zipf by month": lambda: _zipf(84),
    "retail by category": lambda: _retail(12),
    "retail by month": lambda: _retail(84),
}


@dataclass(frozen=True)
class Question:
    """A count of each group of a population for a price, and the exact histogram of its norms."""

    counts: Counts
    epsilon: Fraction
    pure: bool

    @property
    def noise(self) -> CellNoise:
        """The noise of a count under a clip of 1, which moves it by 1 at most."""
        mechanism = (
            laplace_for(self.epsilon, 1) if self.pure else gaussian_for(self.epsilon * _RATE, 1)
        )
        std = mechanism.std if self.pure else sqrt(1 / (2 * self.epsilon * _RATE))
        return CellNoise(self.counts.shape[1], std)

    @cached_property
    def norms(self) -> NDArray[np.float64]:
        squares = self.counts.sum(axis=1) ** 2 if self.pure else (self.counts**2).sum(axis=1)
        return np.asarray(np.sqrt(squares.astype(np.float64)))

    def histogram(self, seed: object) -> NormHistogram:
        """The histogram as it is released for a tenth of the price."""
        mechanism: DiscreteLaplace | DiscreteGaussian
        price = self.epsilon / 10
        units, spreads = self._exact
        if self.pure:
            mechanism = laplace_for(price, DELTA1)
        else:
            mechanism = gaussian_for(price * _RATE, DELTA2_SQUARED)
        drawn = mechanism.draw(2 * BUCKETS, Stream(f"norms {seed}"))
        noisy = [one + noise for one, noise in zip([*units, *spreads], drawn, strict=True)]
        rest = None if self.pure else tuple(noisy[BUCKETS:])
        return NormHistogram(tuple(noisy[:BUCKETS]), rest, mechanism)

    @cached_property
    def _exact(self) -> tuple[list[int], list[int]]:
        return exact_histogram(self.counts, pure=self.pure)

    def error(self, square: int) -> float:
        """The root of the mean squared error of a cell under a clip: what is lost, and noise."""
        clip = sqrt(square)
        weights = np.minimum(1.0, clip / self.norms)
        lost = ((1 - weights)[:, None] * self.counts).sum(axis=0)
        return float(np.sqrt(np.mean(lost**2 + (self.noise.std * clip) ** 2)))

    def best(self) -> float:
        """The error of the best clip in hindsight."""
        return min(self.error(square) for square in SQUARES)


def exact_histogram(counts: Counts, *, pure: bool) -> tuple[list[int], list[int]]:
    """What all units add, one by one; spreads are 0 where they are not counted."""
    units, spreads = [0] * BUCKETS, [0] * BUCKETS
    for row in counts.tolist():
        added = bucket_of(sum(row) ** 2)
        place = added if pure else bucket_of(sum(one * one for one in row))
        units[place] += 1 if pure else UNIT
        spreads[place] += 0 if pure else spread_of(place, added)
    return units, spreads
