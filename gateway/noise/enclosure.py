"""Enclosures in whole numbers: of e^-x, π, the normal distribution's tail, and the weights of noise.

`bits` is the place of the binary point: (low, high) stands for low/2^bits ≤ value ≤ high/2^bits. Weights are
e^-(rate·x^power) for x = 0, 1, 2, …: half of a discrete Laplace (1) or Gaussian (2).

Recently used distributions are remembered: for these a sampling table pays even for few draws. A table takes
milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds. Prices and queries
repeat, so scales do. The decision changes the time of a draw and nothing in its distribution. The scales follow
from queries and policies, never from data.

INVARIANT: every step that rounds, rounds the lower bound down and the upper bound up. How close the bounds are is a
matter of speed; that they enclose the value is what the other modules rely on.
INVARIANT: weights and sums are enclosed; the tail that is not summed is bounded from above by a geometric series,
for the ratio of neighbours never grows with x.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
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
