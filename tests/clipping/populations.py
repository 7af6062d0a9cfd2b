"""Populations for the choice of a clip: the rows of every unit in every group and what they add up to, and the errors of clips."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Final

import numpy as np
from noise.streams import Stream
from numpy.typing import NDArray

from gateway.clipping.choose_clip import CellNoise, MeasureNoise
from gateway.clipping.measure_noise import mean_noise, sum_noise
from gateway.clipping.norm_histogram import NormHistogram
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, gaussian_for, laplace_for
from gateway.ranges.lattice import Lattice
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


@dataclass(frozen=True)
class Population:
    """Rows and the sum of their values, by unit and group. Values lie between 0 and `largest`."""

    counts: Counts
    sums: NDArray[np.float64]
    largest: float

    @classmethod
    def of(cls, counts: Counts) -> "Population":
        """Rows of the value 1."""
        return cls(counts, counts.astype(np.float64), 8)

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        """The counts as numbers that a weight is multiplied with."""
        return self.counts.astype(np.float64)


def _population(
    units: Whole, groups: Whole, values: NDArray[np.float64], largest: float
) -> Population:
    shape = (int(units.max()) + 1, int(groups.max()) + 1)
    counts, sums = np.zeros(shape, np.int64), np.zeros(shape, np.float64)
    np.add.at(counts, (units, groups), 1)
    np.add.at(sums, (units, groups), np.clip(values, 0, largest))
    there = counts.sum(axis=1) > 0
    return Population(counts[there], sums[there], largest)


def _clinic(group: Callable[[Visits], Whole]) -> Population:
    parts = list(Clinic().visit_rows())
    units, costs = (
        np.concatenate([getattr(one, name) for one in parts])
        for name in ("patient_id", "cost_cents")
    )
    return _population(units, np.concatenate([group(one) for one in parts]), costs / 100, 5_000)


def _spread(rows: NDArray[np.int64], groups: int, random: np.random.Generator) -> Population:
    """Values of rows have nothing to do with how many there are, and are small beside the largest one."""
    units = np.repeat(np.arange(rows.size), rows)
    drawn = random.integers(0, groups, units.size)
    return _population(units, drawn, random.exponential(100, units.size), 1_000)


def _zipf(groups: int) -> Population:
    """Most units have one row, and a few have hundreds."""
    random = np.random.default_rng(2)
    return _spread(np.minimum(random.zipf(2.3, 20_000), 2_000), groups, random)


def _retail(groups: int) -> Population:
    """Nobody has many times the rows of others."""
    random = np.random.default_rng(3)
    return _spread(random.geometric(1 / 8, 20_000), groups, random)


POPULATIONS: Final[Mapping[str, Callable[[], Population]]] = {
    "clinic by diagnosis": lambda: _clinic(lambda visits: visits.diagnosis),
    "clinic by year": lambda: _clinic(lambda visits: visits.day // 366),
    "clinic by month": lambda: _clinic(lambda visits: visits.day // 31),
    "zipf by category": lambda: _zipf(12),
    "zipf by month": lambda: _zipf(84),
    "retail by category": lambda: _retail(12),
    "retail by month": lambda: _retail(84),
}


def orders(groups: int) -> Population:
    """Few customers order hundreds of times, half of it in a department of their own."""
    random = np.random.default_rng(5)
    often = random.lognormal(0, 1.2, 10_000)
    units = random.choice(often.size, 100_000, p=often / often.sum())
    own, drawn = random.integers(0, groups, often.size), random.integers(0, groups, units.size)
    departments = np.where(random.random(units.size) < 0.5, own[units], drawn)
    return _population(units, departments, random.lognormal(4, 0.7, units.size), 500)


MEASURES: Final = ("count", "sum", "mean")


@dataclass(frozen=True)
class Question:
    """A count, a sum or a mean of each group of a population for a price, and the exact histogram of its norms."""

    population: Population
    epsilon: Fraction
    pure: bool
    measure: str = "count"

    @property
    def counts(self) -> Counts:
        return self.population.counts

    @property
    def noise(self) -> CellNoise:
        """The noise of a count under a clip of 1, and what the gateway assumes of a sum and a mean of such values."""
        price = self.epsilon / (1 if self.measure == "count" or self.pure else 2)
        # a sum and a mean are two measurements in zCDP, and one pair in the pure currency
        std = laplace_for(price, 1).std if self.pure else sqrt(1 / (2 * price * _RATE))
        lattice = Lattice(Fraction(1), 0, int(self.population.largest))
        measured = {
            "count": MeasureNoise(),
            "sum": sum_noise([lattice]),
            "mean": mean_noise([lattice]),
        }
        return CellNoise(self.counts.shape[1], std, (measured[self.measure],))

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
        if square not in self._errors:
            self._errors[square] = self._error(square)
        return self._errors[square]

    @cached_property
    def _errors(self) -> dict[int, float]:
        """By clips, as they are asked for."""
        return {}

    def _error(self, square: int) -> float:
        clip, middle = sqrt(square), self.population.largest / 2
        weights = np.minimum(1.0, clip / self.norms)
        counts, sums = self.population.rows, self.population.sums
        # a pair of totals from both ends tells sums and means √2 times less exactly, without a price for the count
        noise = self.noise.std * clip * (sqrt(2) if self.pure and self.measure != "count" else 1)
        rows, kept = counts.sum(axis=0), weights @ counts
        match self.measure:
            case "count":
                lost = rows - kept
            case "sum":
                lost = (1 - weights) @ sums
                noise *= sqrt(2) * middle
            case _:
                there = rows >= 100  # a mean of fewer has no end of noise
                mean = sums.sum(axis=0)[there] / rows[there]
                lost = (weights @ sums)[there] / kept[there] - mean
                noise = noise * np.hypot(middle, mean - middle) / kept[there]
        return float(np.sqrt(np.mean(lost**2 + noise**2)))

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
