"""Tail bounds of noise, for intervals and thresholds: the smallest k ≥ 0 with P(X ≥ k) ≤ limit.

For Laplace, and for Gaussian noise up to a variance of 2^16, the bounds are as close as needed and k is the
smallest. Beyond that P(X ≥ k) ≤ P(N ≥ k-1) is used, with N the normal distribution, and k may be one too large.
Floats only say where the search starts. The argument: docs/proofs/noise.md.

INVARIANT: k is never too small. It is taken only when the inequality is proven with bounds on the safe side; what
is still open after `_ATTEMPTS` doublings of the precision counts as not proven.
"""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt, log
from statistics import NormalDist

from gateway.noise.enclosure import Decay, decay_bounds, decay_weights, normal_tail_within

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
