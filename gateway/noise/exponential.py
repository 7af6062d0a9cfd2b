"""Exponential mechanism, P(b) ∝ e^(score of b / scale): a proposal by whole numbers, then exact rejection.

The weight of a candidate depends on its gap, the distance of its score from the best one. Gaps are cut into
steps of width h = 2^shift. For every step a table has a whole number that is at least e^(-m·h/scale)·2^BINARY,
the largest weight of the step; gaps beyond the table weigh less than 1 and get 1. A candidate is proposed with
exactly that weight and accepted with probability e^(-gap/scale)·2^BINARY / weight. So each is drawn in
proportion to e^(-gap/scale), however small that is. The argument: docs/proofs/selection.md.

INVARIANT: whole numbers decide, never floats. `sure` is on the safe side; `is_accepted` decides what it leaves open.
The table depends on the scale alone, which is public.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.bernoulli import draw_below
from gateway.noise.decay_weights import Decay, decay_weights
from gateway.noise.enclosure import decay_bounds, divide_up
from gateway.noise.entropy import Entropy

BINARY = 40  # bits of a weight: sums of 2^22 of them fit into 62 bits
COIN = 63
_STEPS_BITS = 8  # a scale is cut into 128 to 256 steps; one draw in 200 needs the exact decision
_GUARD = 64
_MOST = 1 << 22
_TABLES = 64

Scores: TypeAlias = Sequence[int] | NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class GapWeights:
    """The weights of gaps for one scale.

    `weights[m]` is the weight of step m, and 1 at the end for all larger gaps. A coin of so many bits below
    `sure[m]` accepts every candidate of the step; `sure` ends with 0.
    """

    scale: Fraction
    shift: int
    binary: int
    coin: int
    weights: Words
    sure: Words

    @property
    def beyond(self) -> int:
        """The first gap that is not in the table."""
        return len(self.weights) - 1 << self.shift


@lru_cache(maxsize=_TABLES)
def make_proposal(
    scale: Fraction, *, binary: int = BINARY, coin: int = COIN, coarser: int = 0
) -> GapWeights:
    """The table of one scale.

    Any number of bits and any width of the steps give the same distribution. Tests choose few bits and wide
    steps, so that rare branches become frequent.
    """
    shift = max(0, int(scale).bit_length() - _STEPS_BITS) + coarser
    decay = Decay(Fraction(1 << shift) / scale, 1)
    # from the first weight that is not in the table on, all are below 2^-binary
    known = decay_weights(decay, binary + _GUARD, 1 << _GUARD)
    listed = [divide_up(high, _GUARD) for high in known.highs]
    last = decay_bounds(((1 << shift) - 1) / scale, COIN)[0]
    sure = (
        (low * last << coin) // (each << _GUARD + COIN)
        for low, each in zip(known.lows, listed, strict=True)
    )
    return GapWeights(
        scale,
        shift,
        binary,
        coin,
        np.array([*listed, 1], dtype=np.uint64),
        np.array([*sure, 0], dtype=np.uint64),
    )


def choose_candidate(table: GapWeights, scores: Scores, entropy: Entropy) -> int:
    """The index of the drawn candidate."""
    best = best_of(scores)
    steps = steps_of(table, scores, best)
    reached: Words = np.cumsum(table.weights[steps])
    total = int(reached[-1])
    while True:
        place = int(reached.searchsorted(np.uint64(draw_below(total, entropy)), side="right"))
        coin, step = entropy.bits(table.coin), int(steps[place])
        if coin < int(table.sure[step]):
            return place
        if is_accepted(table, best - int(scores[place]), step, coin, entropy):
            return place


def best_of(scores: Scores) -> int:
    """The largest score."""
    if not 0 < len(scores) <= _MOST:
        raise ValueError(f"a choice is among 1 to {_MOST} candidates")
    if isinstance(scores, Sequence):
        return max(scores)
    if scores.dtype != np.int64 or scores.ndim != 1:
        raise TypeError("scores are a sequence of whole numbers or a row of 64-bit words")
    return int(scores.max())


def steps_of(table: GapWeights, scores: Scores, best: int) -> Places:
    """The table index of each candidate."""
    last = len(table.weights) - 1
    if isinstance(scores, Sequence):
        beyond = table.beyond
        listed = [min(best - score, beyond) >> table.shift for score in scores]
        return np.array(listed, dtype=np.intp)
    # the difference of two words of 64 bits fits into one without a sign
    gaps: Words = np.subtract(best, scores).view(np.uint64)
    gaps >>= np.uint64(table.shift)
    return np.minimum(gaps, np.uint64(last)).astype(np.intp)


def is_accepted(table: GapWeights, gap: int, step: int, coin: int, entropy: Entropy) -> bool:
    """True if U·weight < e^(-gap/scale)·2^binary, for a uniform U whose first bits are `coin`."""
    weight = int(table.weights[step])
    exponent, bits = gap / table.scale, table.coin
    while True:
        low, high = decay_bounds(exponent, bits)
        if (coin + 1) * weight <= low << table.binary:
            return True
        if coin * weight >= high << table.binary:
            return False
        coin = coin << bits | entropy.bits(bits)
        bits *= 2
