"""Does a sample have the distribution it should have? Each question has a stated rate of false alarms.

`objections` says what speaks against a sample, and is empty if nothing does. Every single comparison
has a false-alarm rate of about ALPHA or less: chi-square statistics are compared with the bound k + 2·√(k·L) + 2·L,
L = ln(1/ALPHA), which a chi-square of k degrees exceeds with a probability below ALPHA (Laurent and
Massart, 2000), means with 6.4 standard deviations, twice as many for both signs.

Power, at 400,000 draws: about 60 cells, so a difference of 2.5 % (root mean square, by probability)
is found with near certainty; a scale 2 % off; one sign in fifty lost; a correlation of 0.02.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import erfc, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

ALPHA = 1e-9
_DEVIATIONS = 6.4  # two-sided, 1.6e-10
_LEAST_EXPECTED = 25.0
_SUMMED = 5000
_QUARTERS = 4

Floats = NDArray[np.float64]
Edges = list[int]


def objections(sample: Sequence[int], mechanism: Mechanism) -> list[str]:
    """What speaks against independent draws of the mechanism."""
    checks = {
        "shape": shape,
        "tails": far_tails,
        "signs": signs,
        "neighbours": neighbours,
        "low bits": low_bits,
    }
    return [name for name, check in checks.items() if not check(sample, mechanism)]


def shape(sample: Sequence[int], mechanism: Mechanism) -> bool:
    """Chi-square over cells of an eighth of the standard deviation, at least of one integer."""
    edges, expected = cells(mechanism, len(sample))
    return _fits(counted(sample, edges), expected)


def same_shape(one: Sequence[int], other: Sequence[int], mechanism: Mechanism) -> bool:
    """Chi-square of two samples; the mechanism only says where to cut."""
    edges, _ = cells(mechanism, min(len(one), len(other)))
    first, second = counted(one, edges), counted(other, edges)
    ratio = sqrt(len(other) / len(one))
    statistic = float(np.sum((first * ratio - second / ratio) ** 2 / (first + second)))
    return statistic <= _largest(len(first) - 1)


def far_tails(sample: Sequence[int], mechanism: Mechanism) -> bool:
    """The counts beyond several distances, down to tails that are expected 25 times."""
    sizes = np.abs(_floats(sample))
    reach, rising = max(1, int(mechanism.std)), True
    while rising:
        expected = 2 * _below(mechanism, -reach) * len(sample)
        seen = int(np.count_nonzero(sizes >= reach))
        if abs(seen - expected) > _DEVIATIONS * sqrt(expected) + 20:  # Poisson: Bernstein's bound
            return False
        reach += max(1, int(mechanism.std))
        rising = expected >= _LEAST_EXPECTED
    return True


def signs(sample: Sequence[int], _: Mechanism) -> bool:
    """As many negative as positive draws."""
    signed = np.sign(_floats(sample))
    used = int(np.count_nonzero(signed))
    return used == 0 or abs(float(signed.sum())) <= _DEVIATIONS * sqrt(used)


def neighbours(sample: Sequence[int], mechanism: Mechanism) -> bool:
    """Draws one, two and three apart do not correlate, in value or in size."""
    values = _floats(sample) / max(mechanism.std, 1e-300)
    for looked_at in (values, np.abs(values)):
        centred = looked_at - looked_at.mean()
        spread = float((centred**2).sum())
        for lag in (1, 2, 3):
            together = float((centred[lag:] * centred[:-lag]).sum())
            if abs(together) > 1.2 * _DEVIATIONS * spread / sqrt(len(sample)):
                return False
    return True


def low_bits(sample: Sequence[int], mechanism: Mechanism) -> bool:
    """Where the scale is large, the last eight bits of a draw are uniform."""
    if mechanism.std < 1000:
        return True
    rests = np.array([one & 255 for one in sample])
    return _fits(np.bincount(rests, minlength=256), np.full(256, len(sample) / 256))


def cells(mechanism: Mechanism, count: int) -> tuple[Edges, Floats]:
    """Edges (the first integer of each cell but the lowest), and how many of a sample each expects."""
    width = max(1, int(mechanism.std / 8))
    reach = int(60 * mechanism.std / width) + 60
    candidates = [i * width for i in range(-reach, reach + 1)]
    below = [_below(mechanism, edge - 1) * count for edge in candidates]
    edges: Edges = []
    last = 0.0
    for edge, under in zip(candidates, below, strict=True):
        if under - last >= _LEAST_EXPECTED and count - under >= _LEAST_EXPECTED:
            edges.append(edge)
            last = under
    bounds = [0.0, *(_below(mechanism, edge - 1) * count for edge in edges), float(count)]
    return edges, np.array([high - low for low, high in pairwise(bounds)])


def counted(sample: Sequence[int], edges: Edges) -> Floats:
    """How many of the sample are in each cell."""
    # a factor of two keeps the edges between integers; exact up to 2^52, and beyond nobody looks
    places = np.searchsorted(2 * np.array(edges, dtype=np.float64), 2 * _floats(sample) + 1)
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64)


def _fits(seen: Floats | NDArray[np.int64], expected: Floats) -> bool:
    assert len(seen) == len(expected) > 1
    return float(np.sum((seen - expected) ** 2 / expected)) <= _largest(len(expected) - 1)


def _largest(degrees: int) -> float:
    lost = log(1 / ALPHA)
    return degrees + 2 * sqrt(degrees * lost) + 2 * lost


def _floats(sample: Sequence[int]) -> Floats:
    return np.array([float(one) for one in sample])


def _below(mechanism: Mechanism, k: int) -> float:
    """P(X ≤ k), to about ten digits."""
    if k >= 0:
        return 1 - _below(mechanism, -k - 1)
    match mechanism:
        case DiscreteLaplace(scale):
            return exp(k / scale) / (1 + exp(-1 / scale))
        case DiscreteGaussian(variance) if variance > _SUMMED**2:
            return erfc(-(k + 0.5) / sqrt(2 * variance)) / 2
        case DiscreteGaussian(variance):
            return _summed_below(float(variance), k)


_sums: dict[float, Floats] = {}


def _summed_below(variance: float, k: int) -> float:
    """P(X ≤ k) for k < 0, from sums that are taken once."""
    if variance not in _sums:
        upto = int(40 * sqrt(variance)) + 40
        weights = np.exp(-(np.arange(upto, dtype=np.float64) ** 2) / (2 * variance))
        tails = np.cumsum(weights[::-1])[::-1]
        _sums[variance] = tails / (2 * tails[0] - 1)
    known = _sums[variance]
    return float(known[-k]) if -k < len(known) else 0.0
