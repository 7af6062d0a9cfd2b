"""Interval arithmetic in whole numbers: enclosures of e^-x, π, and the normal distribution's tail.

`bits` is the place of the binary point: (low, high) stands for low/2^bits ≤ value ≤ high/2^bits.

INVARIANT: every step that rounds, rounds the lower bound down and the upper bound up. How close the bounds are
is a matter of speed; that they enclose the value is what the other modules rely on.
"""

from fractions import Fraction

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
