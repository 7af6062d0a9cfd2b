"""Totals of a ROLLUP: as sums of the finest groups, or with a part of the price for every level and least squares.

With 1/17 for the total of two levels, the gateway measures groups with their total (docs/proofs/levels.md). The same price both times; a person is in one group. What is printed are ratios of standard deviations, of the
second way to the first: below 1 the second is better. Noise is drawn by the gateway's own mechanisms.
"""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

# how many groups each level has, the total first
TREES = tuple(
    tree
    for few, many in ((2, 10), (5, 50), (10, 200), (40, 2_000))
    for tree in ((1, many), (1, few, many))
)
PRICE = Fraction(1, 20)
ROUNDS = 4_000
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """How the price is split over the levels of a tree, the total first."""

    name: str
    above: Fraction | None  # for each level above the finest; None: the same for every level

    def shares(self, levels: int) -> list[Fraction]:
        if self.above is None:
            return [Fraction(1, levels)] * levels
        rest = 1 - self.above * (levels - 1)
        return [*[self.above] * (levels - 1), rest]


SPLITS = (
    Split("1/17 each", Fraction(1, 17)),
    Split("0.1 each", Fraction(1, 10)),
    Split("even", None),
)


def main() -> None:
    print("standard deviations: split and least squares / all of the price for the finest")
    print(f"{'noise':10}{'groups':>14}{'split':>10}{'total':>8}{'middle':>8}{'finest':>8}")
    for name, tree, split in itertools.product(("gaussian", "laplace"), TREES, SPLITS):
        sums = _deviations(_summed(_noise(name, tree[-1], Fraction(1)), tree))
        shares = split.shares(len(tree))
        drawn = [_noise(name, many, share) for many, share in zip(tree, shares, strict=True)]
        variances = [_mechanism(name, share).std ** 2 for share in shares]
        fitted = _deviations(least_squares(drawn, variances))
        total, *middle, finest = [one / other for one, other in zip(fitted, sums, strict=True)]
        groups = " > ".join(f"{many:,}" for many in tree)
        between = f"{middle[0]:8.2f}" if middle else f"{'-':>8}"
        print(f"{name:10}{groups:>14}{split.name:>10}{total:8.2f}{between}{finest:8.2f}")


def _mechanism(name: str, share: Fraction) -> Mechanism:
    """The noise of a count for a share of the price."""
    if name == "laplace":
        return DiscreteLaplace(1 / (PRICE * share))
    return DiscreteGaussian(1 / (2 * PRICE * share))


def _noise(name: str, groups: int, share: Fraction) -> Numbers:
    drawn = _mechanism(name, share).draw(groups * ROUNDS, SYSTEM_ENTROPY)
    return np.array(drawn, dtype=np.float64).reshape(ROUNDS, groups)


def _summed(finest: Numbers, tree: tuple[int, ...]) -> list[Numbers]:
    """Every level as sums of the finest groups."""
    return [finest.reshape(ROUNDS, many, -1).sum(axis=2) for many in tree]


def least_squares(drawn: list[Numbers], variances: list[float]) -> list[Numbers]:
    """The best linear estimates in which every group is the sum of those below it; exact for a tree."""
    best, spread = [drawn[-1]], [variances[-1]]
    for own, variance in zip(drawn[-2::-1], variances[-2::-1], strict=True):
        below = best[0].reshape(ROUNDS, own.shape[1], -1)
        of_sum = below.shape[2] * spread[0]
        weight = of_sum / (variance + of_sum)
        best.insert(0, weight * own + (1 - weight) * below.sum(axis=2))
        spread.insert(0, weight * variance)
    found = best[:1]
    for one in best[1:]:
        above = found[-1]
        below = one.reshape(ROUNDS, above.shape[1], -1)
        missing = (above - below.sum(axis=2)) / below.shape[2]
        found.append((below + missing[:, :, None]).reshape(ROUNDS, -1))
    return found


def _deviations(levels: list[Numbers]) -> list[float]:
    """Of each level, whose groups are sums of the finest ones."""
    for one in levels:
        assert np.allclose(one, levels[-1].reshape(*one.shape, -1).sum(axis=2))
    return [float(np.sqrt(np.mean(one**2))) for one in levels]


if __name__ == "__main__":
    main()
