"""Tail bounds of noise, for intervals and thresholds, from weights and sums that are enclosed in whole numbers.

A tail bound is the smallest k ≥ 0 with P(X ≥ k) ≤ limit. For Laplace, and for Gaussian noise up to a variance of
2^16, the bounds are as close as needed and k is the smallest. Beyond that P(X ≥ k) ≤ P(N ≥ k-1) is used, with N
the normal distribution, and k may be one too large. Floats only say where the search starts. The argument:
docs/proofs/noise.md.

Enclosures of e^-x, π, and the normal distribution's tail are interval arithmetic in whole numbers. `bits` is the
place of the binary point: (low, high) stands for low/2^bits ≤ value ≤ high/2^bits.

Recently used distributions are remembered: for these a sampling table pays even for few draws. A table takes
milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds. Prices and queries
repeat, so scales do. The decision changes the time of a draw and nothing in its distribution. The scales follow
from queries and policies, never from data.

INVARIANT: k is never too small. It is taken only when the inequality is proven with bounds on the safe side; what
is still open after `_ATTEMPTS` doublings of the precision counts as not proven.
INVARIANT: every step that rounds, rounds the lower bound down and the upper bound up. How close the bounds are is
a matter of speed; that they enclose the value is what the other modules rely on.
INVARIANT: weights and sums are enclosed; the tail that is not summed is bounded from above by a geometric series,
for the ratio of neighbours never grows with x.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt, log
from statistics import NormalDist
from typing import Final, Literal

from gateway.lru_cache import LruCache

Bounds = tuple[int, int]

_GUARD = 16


def divide_up(value: int, shift: int) -> int:
    """Divide by 2^shift, rounding up."""
    return -(-value >> shift)


def decay_bounds(exponent: Fraction, bits: int) -> Bounds:
    """Bounds of e^-exponent, for an exponent of at least 0."""
    if exponent >= bits:
        return 0, 1  # e^-bits < 2^-bits
    whole = exponent.numerator // exponent.denominator
    halvings = whole.bit_length() + 3  # the argument of the series below is then at most 1/8
    work = bits + halvings + _GUARD
    low, high = _series(exponent, halvings, work)
    for _ in range(halvings):
        low, high = low * low >> work, divide_up(high * high, work)
    return low >> work - bits, min(divide_up(high, work - bits), 1 << bits)


def _series(exponent: Fraction, halvings: int, bits: int) -> Bounds:
    """e^-x = 1 - x + x²/2 - … for x = exponent / 2^halvings; the first term left out bounds the rest."""
    scaled = exponent.numerator << bits
    x_low = scaled // (exponent.denominator << halvings)
    x_high = -(-scaled // (exponent.denominator << halvings))
    low = high = term_low = term_high = 1 << bits
    k = 0
    while term_high > 1:
        k += 1
        term_low, term_high = term_low * x_low // k >> bits, -(-term_high * x_high // k >> bits)
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    return max(low - term_high, 0), high + term_high


def pi_bounds(bits: int) -> Bounds:
    """Machin: π = 16·arctan(1/5) - 4·arctan(1/239)."""
    fifth, small = _arctan_of_inverse(5, bits), _arctan_of_inverse(239, bits)
    return 16 * fifth[0] - 4 * small[1], 16 * fifth[1] - 4 * small[0]


def _arctan_of_inverse(n: int, bits: int) -> Bounds:
    power, total, k = (1 << bits) // n, 0, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= n * n
        k += 1
    # each of the k terms, and the remainder, is off by less than 2
    return total - 2 * k - 2, total + 2 * k + 2


def normal_tail_within(distance: int, variance: Fraction, limit: Fraction, bits: int) -> bool:
    """True if P(N(0, variance) ≥ distance) ≤ limit is *proven* with so many bits; distance ≥ 0.

    With u = distance²/(2·variance), P = 1/2 - E(u)·√(u/π), where E(u) = e^-u · Σ (2u)^n/(1·3·…·(2n+1)). So for
    limit < 1/2 the test is u·E(u)² ≥ π·(1/2 - limit)²; only a lower bound of E is needed.
    """
    if limit >= Fraction(1, 2):
        return True
    u = Fraction(distance**2) / (2 * variance)
    if u >= bits:
        # P ≤ e^-u / 2, by Chernoff
        return limit * (2 << bits) >= 1
    work = 3 * bits  # e^u is below 2^(2·bits)
    term = total = 1 << work
    n = 0
    over, under = 2 * u.numerator, u.denominator
    while term:
        term = term * over // (under * (2 * n + 3))
        total += term
        n += 1
    series = decay_bounds(u, work)[0] * total >> work
    left = u.numerator * series * series
    gap = Fraction(1, 2) - limit
    right = gap**2 * pi_bounds(2 * work)[1]
    return left * right.denominator >= u.denominator * right.numerator


@dataclass(frozen=True, slots=True)
class Decay:
    """How the weight decreases with the distance from 0."""

    rate: Fraction
    power: Literal[1, 2]

    def exponent(self, x: int) -> Fraction:
        return self.rate * (x if self.power == 1 else x * x)

    def thinned(self, shift: int) -> "Decay":
        """The weights at every 2^shift-th x, which have the same form."""
        return Decay(self.rate * (1 << shift * self.power), self.power)


@dataclass(frozen=True, slots=True)
class DecayWeights:
    """The weights of 0 … n-1, enclosed, and an upper bound of the sum of all others."""

    lows: list[int]
    highs: list[int]
    rest: int


def decay_weights(decay: Decay, bits: int, least: int) -> DecayWeights:
    """All weights up to where the sum of the others is below `least`/2^bits."""
    lows: list[int] = []
    highs: list[int] = []
    one = 1 << bits
    for low, high, ratio in _falling(decay, bits):
        rest = -(-(high << bits) // (one - ratio)) if ratio < one else one << bits
        if rest < least:
            return DecayWeights(lows, highs, rest)
        lows.append(low)
        highs.append(high)
    raise AssertionError("weights fall for ever")


def _falling(decay: Decay, bits: int) -> Iterator[tuple[int, int, int]]:
    """Bounds of each weight, and an upper bound of the ratio to the next one."""
    one = 1 << bits
    low = high = one
    ratio_low, ratio_high = decay_bounds(decay.rate, bits)
    # (x+1)² - x² grows by 2 with every x, so the ratio falls by a factor; for power 1 it stays
    fall: Bounds = (one, one) if decay.power == 1 else decay_bounds(2 * decay.rate, bits)
    while True:
        yield low, high, ratio_high
        low, high = low * ratio_low >> bits, divide_up(high * ratio_high, bits)
        ratio_low, ratio_high = ratio_low * fall[0] >> bits, divide_up(ratio_high * fall[1], bits)


SUMMED_VARIANCE = 1 << 16  # the largest whose weights are summed one by one
_FIRST_BITS = 128
_ATTEMPTS = 4
_REMEMBERED = 1024
_SMALLEST_GUESSED = 1e-300


@lru_cache(maxsize=_REMEMBERED)
def laplace_reach(scale: Fraction, limit: Fraction) -> int:
    """With a = e^(-1/b): P(X ≥ k) = a^k/(1+a) for k ≥ 0."""
    _check(limit)
    first = _bits_for(limit) + int(scale).bit_length()  # neighbours differ by a 1/b-th part

    def within(k: int) -> bool:
        for attempt in range(_ATTEMPTS):
            bits = first << attempt
            one = 1 << bits
            a = decay_bounds(1 / scale, bits)
            power = decay_bounds(k / scale, bits)
            if power[1] * limit.denominator <= limit.numerator * (one + a[0]):
                return True
            if power[0] * limit.denominator > limit.numerator * (one + a[1]):
                return False
        return False

    return _smallest(within, int(scale * Fraction(max(-_log(limit) - log(2), 0))))


@lru_cache(maxsize=_REMEMBERED)
def gaussian_reach(variance: Fraction, limit: Fraction) -> int:
    """The bound by sums of weights where that is fast, otherwise by the normal distribution."""
    _check(limit)
    if variance > SUMMED_VARIANCE:
        return 1 + _normal_reach(variance, limit)
    bits = _bits_for(limit)
    found, smallest = _summed_reach(variance, limit, bits)
    for _ in range(1, _ATTEMPTS):
        if smallest:
            break
        bits *= 2
        found, smallest = _summed_reach(variance, limit, bits)
    return found


def _summed_reach(variance: Fraction, limit: Fraction, bits: int) -> tuple[int, bool]:
    """The smallest k for which the sums prove it, and whether they disprove it for k - 1."""
    known = decay_weights(Decay(1 / (2 * variance), 2), bits, 1 << bits // 4)
    size = len(known.lows)
    # tails[i]: the sum of the last i weights and of all that follow
    tails_low = list(accumulate(reversed(known.lows), initial=0))
    tails_high = list(accumulate(reversed(known.highs), initial=known.rest))
    one = 1 << bits  # the weight of 0, which both halves have
    all_low, all_high = 2 * tails_low[size] - one, 2 * tails_high[size] - one
    over, under = limit.numerator, limit.denominator

    def proven(k: int) -> bool:
        return tails_high[size - k] * under <= over * all_low

    found = bisect_left(range(size), True, key=proven)
    if not proven(found):
        raise AssertionError("the weights end before the limit")
    return found, found == 0 or tails_low[size - found + 1] * under > over * all_high


def _normal_reach(variance: Fraction, limit: Fraction) -> int:
    """The smallest k ≥ 0 for which P(N ≥ k) ≤ limit is proven."""
    bits = _bits_for(limit) + int(variance).bit_length() // 2
    guess = -NormalDist().inv_cdf(max(float(limit), _SMALLEST_GUESSED))
    spread = isqrt(int(variance))
    return _smallest(
        lambda k: normal_tail_within(k, variance, limit, bits),
        int(spread * Fraction(max(guess, 0))),
    )


def _smallest(holds: Callable[[int], bool], guess: int) -> int:
    """The smallest k ≥ 0 that holds, where all larger ones hold too; found fast near the guess."""
    if holds(guess):
        low, high, step = guess - 1, guess, 1
        while low >= 0 and holds(low):
            low, high, step = low - 2 * step, low, 2 * step
        low = max(low, -1)
    else:
        low, high, step = guess, guess + 1, 1
        while not holds(high):
            low, high, step = high, high + 2 * step, 2 * step
    # now `high` holds and `low` does not, or is -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _bits_for(limit: Fraction) -> int:
    """Enough bits for the limit itself and as many again for its neighbourhood."""
    return _FIRST_BITS + 2 * (limit.denominator // limit.numerator).bit_length()


def _check(limit: Fraction) -> None:
    if not 0 < limit < 1:
        raise ValueError("a limit is between 0 and 1")


def _log(limit: Fraction) -> float:
    """The logarithm, also of a fraction that is too small for a float."""
    return log(limit.numerator) - log(limit.denominator)


_MOST: Final = 1_024


class TableCache:
    """Remembers the distributions that were drawn from last."""

    def __init__(self, most: int = _MOST) -> None:
        self._seen: LruCache[Decay, bool] = LruCache(most)

    def __call__(self, decay: Decay) -> bool:
        """True if this distribution was used before."""
        before = self._seen.find(decay) is not None
        if not before:
            self._seen.put(decay, True)
        return before
