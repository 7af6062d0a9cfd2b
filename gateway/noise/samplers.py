"""Exact samplers: fair bits, Bernoulli draws, the discrete Laplace and Gaussian distributions one by one and as
vectors.

Bernoulli and uniform draws use fair bits and whole numbers alone. `draw_decay` is algorithm 1 of Canonne, Kamath,
Steinke: The Discrete Gaussian for Differential Privacy (2020).

The reference sampler of the discrete Laplace distribution, P(x) ∝ e^(-|x|/b) over all integers, is algorithm 2 of
that paper, in whole numbers; that of the discrete Gaussian, P(x) ∝ e^(-x²/2v), is its algorithm 3: rejection from
the discrete Laplace distribution. The vectors must have these distributions; the tests compare the two.

The vectorised sampler of P(x) ∝ e^-(rate·|x|^power), x any integer, is inversion by a staircase, then rejection.
The sizes 0, 1, 2, … are cut into steps of width h = 2^shift. A step m is found by inversion with the weight of its
first size, the place r within it is uniform, and size = m·h + r is accepted with probability e^-(exponent(size) -
exponent(m·h)); then a fair sign is drawn, and -0 is drawn anew. Where the scale is small, h = 1 and nothing is
rejected. The argument in full: docs/proofs/noise.md.

Inversion: X is the number of k with F(k) ≤ U, where F is the cumulated share and U an infinite string of fair
bits, of which as many are read as needed. With n bits read, U lies in a cell [u, u+1)/2^n; the table knows for
each k whole numbers low ≤ F(k)·2^n ≤ high. If u < low, then U < F(k); if u ≥ high, then U ≥ F(k); in between - one
case in 2^50 - more bits are read.

INVARIANT: no float and no rounding; each function returns exactly the distribution it names.
INVARIANT: whole numbers decide, never floats. The arrays hold bounds on the safe side; every draw that they leave
open goes to the exact decisions of `settle_draw` and `is_kept`. A table ends where its bounds end. So X is what
the exact F and the infinite U give, whatever the number of bits. Tables depend on rate and power alone, which are
public.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from gateway.noise.enclosure import Decay, decay_bounds, decay_weights
from gateway.noise.entropy import Entropy


def draw_below(limit: int, entropy: Entropy) -> int:
    """A uniform draw from 0 … limit - 1: draws of as many bits as needed, until one is below the limit."""
    width = (limit - 1).bit_length()
    while True:
        drawn = entropy.bits(width)
        if drawn < limit:
            return drawn


def draw_bernoulli(over: int, under: int, entropy: Entropy) -> bool:
    """True with probability over/under."""
    return draw_below(under, entropy) < over


def draw_decay(over: int, under: int, entropy: Entropy) -> bool:
    """True with probability e^-(over/under), over/under ≥ 0."""
    whole, over = divmod(over, under)
    # e^-(n + x) is n draws of e^-1 and one of e^-x; all must succeed
    return all(_decays_within_one(1, 1, entropy) for _ in range(whole)) and _decays_within_one(
        over, under, entropy
    )


def _decays_within_one(over: int, under: int, entropy: Entropy) -> bool:
    """For x = over/under in [0, 1]: the first k at which a coin of x/k fails is odd w.p. e^-x."""
    k = 1
    while draw_bernoulli(over, under * k, entropy):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, entropy: Entropy) -> int:
    """One exact draw, for a scale b = t/s above 0."""
    t, s = scale.numerator, scale.denominator
    while True:
        # fine = rest + t·whole is geometric with e^-(1/t), for e^-(fine/t) = e^-(rest/t) · e^-whole
        rest = draw_below(t, entropy)
        if not draw_decay(rest, t, entropy):
            continue
        whole = 0
        while draw_decay(1, 1, entropy):
            whole += 1
        # s steps of it are one step of a geometric with e^-(s/t) = e^-(1/b)
        size = (rest + t * whole) // s
        negative = draw_bernoulli(1, 2, entropy)
        if not (negative and size == 0):  # otherwise zero would come twice as often
            return -size if negative else size


def discrete_gaussian(variance: Fraction, entropy: Entropy) -> int:
    """One exact draw, for a variance parameter v above 0."""
    # any t gives the right distribution; about the square root of v is fast
    t = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        drawn = discrete_laplace(Fraction(t), entropy)
        # e^(-y²/2v) = const · e^(-|y|/t) · e^(-(|y| - v/t)²/2v): keep with the last factor
        exponent = (abs(drawn) - variance / t) ** 2 / (2 * variance)
        if draw_decay(exponent.numerator, exponent.denominator, entropy):
            return drawn


_GUARD = 64


@dataclass(frozen=True, slots=True)
class CumulativeBounds:
    """Bounds of F(k)·2^bits, for some number of bits, for k = 0 … n-1, increasing; nothing is known beyond."""

    lows: list[int]
    highs: list[int]

    def find(self, u: int) -> int | None:
        """The X of all U in the cell of u, or None if the cell leaves it open."""
        found = bisect_right(self.lows, u)
        if found == len(self.lows) or (found and u < self.highs[found - 1]):
            return None
        return found


def cumulative_bounds(decay: Decay, bits: int) -> CumulativeBounds:
    """The bounds of all shares below about 1 - 2^-bits; larger ones stay open."""
    work = bits + _GUARD
    known = decay_weights(decay, work, 1 << _GUARD)
    total_low, total_high = sum(known.lows), sum(known.highs) + known.rest
    return CumulativeBounds(
        [(low << bits) // total_high for low in accumulate(known.lows)],
        [min(-(-(high << bits) // total_low), 1 << bits) for high in accumulate(known.highs)],
    )


def settle_draw(decay: Decay, u: int, bits: int, entropy: Entropy) -> int:
    """Read more bits after the first ones, u, which leave the answer open, until X is certain."""
    while True:
        u = u << bits | entropy.bits(bits)
        bits *= 2
        found = cumulative_bounds(decay, bits).find(u)
        if found is not None:
            return found


WORD = 63  # bits of a 64-bit word beside the sign
# A scale is cut into 64 to 128 steps, for Gaussian noise into 180 to 362: its table is shorter.
_STEPS_BITS = {1: 7, 2: 9}
_AT_ONCE = 1 << 15
_LARGEST = 62  # bits of a size that surely fits into a signed 64-bit number
_TABLES = 64

Words = NDArray[np.uint64]
Sizes = NDArray[np.int64]


@dataclass(frozen=True)
class Staircase:
    """The table of one distribution.

    `lows` and `highs` are those of `cumulative_bounds`; `highs` has a 0 before them and 2^WORD at the end, so
    that `highs[i]` is the bound to pass for the result i. `sure[m]`: a word below it keeps every size
    of step m; 0 beyond the table.
    """

    decay: Decay
    shift: int
    word: int
    lows: Words
    highs: Words
    sure: Words


@lru_cache(maxsize=_TABLES)
def make_staircase(decay: Decay, word: int = WORD, coarser: int = 0) -> Staircase:
    """The table of a distribution.

    Any word and any width of the steps give the same distribution. Tests choose short words and wide steps, so
    that rare branches become frequent.
    """
    spread = int(1 / decay.rate)
    reach = isqrt(spread) if decay.power == 2 else spread  # noqa: PLR2004 - a square
    shift = max(0, reach.bit_length() - _STEPS_BITS[decay.power]) + coarser
    table = cumulative_bounds(decay.thinned(shift), word)
    return Staircase(
        decay,
        shift,
        word,
        np.array(table.lows, dtype=np.uint64),
        np.array([0, *table.highs[:-1], 1 << word], dtype=np.uint64),
        np.array([*_sure(decay, shift, len(table.lows), word), 0], dtype=np.uint64),
    )


def draw_noise(stairs: Staircase, count: int, entropy: Entropy) -> list[int]:
    """Independent draws, as Python integers of any size."""
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += _attempts(stairs, min(count - len(drawn), _AT_ONCE), entropy)
    return drawn


def is_kept(exponent: Fraction, u: int, bits: int, entropy: Entropy) -> bool:
    """True if U < e^-exponent, for a uniform U whose first bits are u."""
    while True:
        low, high = decay_bounds(exponent, bits)
        if u < low:
            return True
        if u >= high:
            return False
        u = u << bits | entropy.bits(bits)
        bits *= 2


def _sure(decay: Decay, shift: int, steps: int, word: int) -> list[int]:
    """Lower bounds of the probability to accept the last size of each step, which is the smallest."""
    wide, last = 1 << shift, (1 << shift) - 1
    work = word + WORD
    # (m·h + r)² - (m·h)² = r² + m·2hr: one factor for r, one more for every step
    bound = decay_bounds(decay.exponent(last), work)[0]
    fall = decay_bounds(2 * decay.rate * wide * last, work)[0] if decay.power == 2 else 1 << work  # noqa: PLR2004
    bounds = []
    for _ in range(steps):
        bounds.append(bound >> work - word)
        bound = bound * fall >> work
    return bounds


def _attempts(stairs: Staircase, count: int, entropy: Entropy) -> list[int]:
    """That many attempts; the accepted ones are draws."""
    words = _words(count, entropy)
    negative = (words >> np.uint64(WORD)).astype(np.bool_)
    steps = _steps(stairs, words, entropy)
    if stairs.shift + int(steps.max()).bit_length() > _LARGEST:
        return _long_attempts(stairs, steps, negative, entropy)
    sizes = steps
    kept = np.ones(count, dtype=np.bool_)
    if stairs.shift:
        places = _words(count, entropy) & np.uint64((1 << stairs.shift) - 1)
        sizes = (steps << stairs.shift) | places.astype(np.int64)
        coins = _words(count, entropy) >> np.uint64(64 - stairs.word)
        open_ = coins >= stairs.sure[np.minimum(steps, len(stairs.lows))]
        for i in np.flatnonzero(open_).tolist():
            size, step = int(sizes[i]), int(steps[i])
            kept[i] = _kept(stairs, size, step, int(coins[i]), entropy)
    kept &= ~(negative & (sizes == 0))
    signed: list[int] = np.where(negative, -sizes, sizes)[kept].tolist()
    return signed


def _steps(stairs: Staircase, words: Words, entropy: Entropy) -> Sizes:
    """The step that each word's lower bits select."""
    cells = words & np.uint64((1 << stairs.word) - 1)
    steps = np.searchsorted(stairs.lows, cells, side="right").astype(np.int64)
    open_ = np.flatnonzero(cells < stairs.highs[steps])
    if open_.size:
        thinned = stairs.decay.thinned(stairs.shift)
        for i in open_.tolist():
            steps[i] = settle_draw(thinned, int(cells[i]), stairs.word, entropy)
    return steps


def _long_attempts(
    stairs: Staircase, steps: Sizes, negative: NDArray[np.bool_], entropy: Entropy
) -> list[int]:
    """The same, one by one, for sizes beyond 64 bits."""
    kept = []
    for step, below in zip(steps.tolist(), negative.tolist(), strict=True):
        size = step << stairs.shift | entropy.bits(stairs.shift)
        coin = entropy.bits(stairs.word)
        if _kept(stairs, size, step, coin, entropy) and not (below and size == 0):
            kept.append(-size if below else size)
    return kept


def _kept(stairs: Staircase, size: int, step: int, coin: int, entropy: Entropy) -> bool:
    decay = stairs.decay
    exponent = decay.exponent(size) - decay.exponent(step << stairs.shift)
    return is_kept(exponent, coin, stairs.word, entropy)


def _words(count: int, entropy: Entropy) -> Words:
    return np.frombuffer(entropy.bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)
