"""Selection mechanisms: the exponential mechanism and permute-and-flip, as values that know their cost and draw a
candidate.

The exponential mechanism, P(b) ∝ e^(score of b / scale), is a proposal by whole numbers, then exact rejection. The
weight of a candidate depends on its gap, the distance of its score from the best one. Gaps are cut into steps of
width h = 2^shift. For every step a table has a whole number that is at least e^(-m·h/scale)·2^BINARY, the largest
weight of the step; gaps beyond the table weigh less than 1 and get 1. A candidate is proposed with exactly that
weight and accepted with probability e^(-gap/scale)·2^BINARY / weight. So each is drawn in proportion to
e^(-gap/scale), however small that is. The argument: docs/proofs/selection.md.

Permute-and-flip is the largest of `score + exponential noise`, by coins, for pure epsilon alone. With q the best
score, a candidate's noisy score exceeds q with probability e^(-gap/scale), independently of the others; that of
the best one always does. The excess is exponential again, and the same for all of these. So the largest is one of
those that exceed q, each with equal probability: this is permute-and-flip.

A coin of e^(-gap/scale) is tossed in two parts, by the same table: one of weight/2^binary, which is exact, and, if
it succeeds, one of e^(-gap/scale)·2^binary/weight.

`Selection` is the exponential mechanism, P(b) ∝ e^(score of b / scale), which is what the largest of `score +
Gumbel(scale)` gives. `PureSelection` is the largest of `score + exponential noise`: nearer to the best score at
the same pure price, and four times as expensive in zCDP. `spread` is how far one unit can move the *difference* of
two scores: twice the sensitivity in general, once where one unit moves all scores in the same direction, as counts
do.

INVARIANT: whole numbers decide, never floats. `sure` is on the safe side; `is_accepted` and `keeps` decide what it
leaves open. The table depends on the scale alone, which is public.
INVARIANT: a selection made for a price never costs more, and less by a 2^-45th part at most. eta²/8 is the price
of `Selection` alone. The argument: docs/proofs/selection.md. OpenDP's mechanisms take 6 to 560 times as long:
bench/selection.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.noise.enclosure import Decay, decay_bounds, decay_weights, divide_up
from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import round_up
from gateway.noise.samplers import draw_below

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


_WORD = 64


def permute_and_flip(table: GapWeights, scores: Scores, entropy: Entropy) -> int:
    """The index of the drawn candidate."""
    best = best_of(scores)
    steps = steps_of(table, scores, best)
    exceed = np.flatnonzero(_words(len(scores), table.binary, entropy) < table.weights[steps])
    steps = steps[exceed]
    coins = _words(len(exceed), table.coin, entropy)
    kept = coins < table.sure[steps]
    for i in np.flatnonzero(~kept).tolist():
        gap = best - int(scores[exceed[i]])
        kept[i] = gap == 0 or is_accepted(table, gap, int(steps[i]), int(coins[i]), entropy)
    exceed = exceed[kept]
    return int(exceed[draw_below(len(exceed), entropy)])


def _words(count: int, bits: int, entropy: Entropy) -> Words:
    """That many uniform numbers of so many bits."""
    words = np.frombuffer(entropy.bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)
    return words >> np.uint64(_WORD - bits)


_BITS = 64
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Selection:
    """P(b) ∝ e^(score of b / scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        _check(self.scale, "a scale")

    def choose(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the drawn candidate."""
        return choose_candidate(make_proposal(self.scale), scores, entropy)

    def shortfall(self, candidates: int, limit: Fraction) -> int:
        """A k ≥ 0, mostly the smallest, for which P(chosen score ≤ best score - k) ≤ limit, whatever the scores.

        Each candidate so far below has at most e^(-k/scale) of the weight of the best one.
        """
        return _reach(self.scale, candidates, limit)

    def eta_for(self, spread: int) -> Fraction:
        """The pure price of one draw."""
        return spread / self.scale

    def rho_for(self, spread: int) -> Fraction:
        """The zCDP price of one draw, whose range is bounded by eta: eta²/8."""
        return self.eta_for(spread) ** 2 / 8


@dataclass(frozen=True, slots=True)
class PureSelection:
    """The largest of score + exponential noise of this scale. It has no zCDP price, because that would be too
    high.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        _check(self.scale, "a scale")

    def choose(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the drawn candidate."""
        return permute_and_flip(make_proposal(self.scale), scores, entropy)

    def shortfall(self, candidates: int, limit: Fraction) -> int:
        """As for `Selection`, with half the probability: a chosen candidate shares its chance with a better
        one.
        """
        return max(1, _reach(self.scale, candidates, 2 * limit))

    def eta_for(self, spread: int) -> Fraction:
        """The pure price of one draw."""
        return spread / self.scale


Choice: TypeAlias = Selection | PureSelection


def selection_for(eta: Fraction, spread: int) -> PureSelection:
    """The selection that costs eta in pure epsilon."""
    return PureSelection(_scale(eta, spread))


def selection_within(rho: Fraction, spread: int) -> Selection:
    """The selection that costs rho in zCDP: eta = √(8·rho), rounded down."""
    _check(rho, "a price")
    return Selection(_scale(_root(8 * rho), spread))


def _scale(eta: Fraction, spread: int) -> Fraction:
    _check(eta, "a price")
    _check(Fraction(spread), "a spread")
    return round_up(spread / eta)


@lru_cache(maxsize=_REMEMBERED)
def _reach(scale: Fraction, candidates: int, limit: Fraction) -> int:
    """A k for which candidates·e^(-k/scale) ≤ limit is proven, while for k - 1 it is not."""
    if candidates < 1 or limit <= 0:
        raise ValueError("a shortfall has candidates and a limit above 0")
    limit /= candidates
    bits = _BITS + limit.denominator.bit_length() + int(scale).bit_length()

    def proven(k: int) -> bool:
        return decay_bounds(k / scale, bits)[1] * limit.denominator <= limit.numerator << bits

    if proven(0):
        return 0
    low, high = 0, 1
    while not proven(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proven(middle) else (middle, high)
    return high


def _root(value: Fraction) -> Fraction:
    """√value, or a fraction below it by at most a 2^-62nd part."""
    shift = max(0, 2 * _BITS + value.denominator.bit_length() - value.numerator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((value.numerator << shift) // value.denominator), 1 << shift // 2)


def _check(value: Fraction, what: str) -> None:
    if not isinstance(value, Fraction):
        raise TypeError(f"{what} is a Fraction, not {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"{what} of a choice is above 0")
