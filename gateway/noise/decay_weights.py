"""Weights e^-(rate·x^power) for x = 0, 1, 2, …: half of a discrete Laplace (1) or Gaussian (2).

INVARIANT: weights and sums are enclosed as in `enclosure`; the tail that is not summed is bounded
from above by a geometric series, for the ratio of neighbours never grows with x.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from gateway.noise.enclosure import Bounds, decay_bounds, divide_up


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
