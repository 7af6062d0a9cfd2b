"""Which weight a uniform number falls on: X = the number of k with F(k) ≤ U, F the cumulated share.

U is an infinite string of fair bits, of which as many are read as the answer takes. With n bits read,
U lies in a cell [u, u+1)/2^n; the table knows for each k whole numbers low ≤ F(k)·2^n ≤ high. If
u < low, then U < F(k); if u ≥ high, then U ≥ F(k); in between - a case in 2^50 - more bits are read.

INVARIANT: a table never decides what its bounds leave open, and ends where it stops knowing. So X is
what the exact F and the infinite U give, whatever the number of bits.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from gateway.noise.decay import Decay, weights
from gateway.noise.entropy import Entropy

_GUARD = 64


@dataclass(frozen=True, slots=True)
class Shares:
    """Bounds of F(k)·2^bits, for some number of bits, for k = 0 … n-1, in rising order; nothing is known beyond."""

    lows: list[int]
    highs: list[int]

    def find(self, u: int) -> int | None:
        """The X of all U in the cell of u, or None when the cell leaves it open."""
        found = bisect_right(self.lows, u)
        if found == len(self.lows) or (found and u < self.highs[found - 1]):
            return None
        return found


def shares(decay: Decay, bits: int) -> Shares:
    """As many as lie below 1 - 2^-bits or so; what is beyond is left open."""
    work = bits + _GUARD
    known = weights(decay, work, 1 << _GUARD)
    total_low, total_high = sum(known.lows), sum(known.highs) + known.rest
    return Shares(
        [(low << bits) // total_high for low in accumulate(known.lows)],
        [min(-(-(high << bits) // total_low), 1 << bits) for high in accumulate(known.highs)],
    )


def settle(decay: Decay, u: int, bits: int, entropy: Entropy) -> int:
    """Read on after the first bits, u, which leave the answer open, until X is certain."""
    while True:
        u = u << bits | entropy.bits(bits)
        bits *= 2
        found = shares(decay, bits).find(u)
        if found is not None:
            return found
