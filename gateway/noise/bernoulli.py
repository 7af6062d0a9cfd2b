"""Exact Bernoulli and uniform draws: below n, with probability n/d, and with probability e^-x.

They use fair bits and whole numbers alone. `draw_decay` is algorithm 1 of Canonne, Kamath, Steinke: The Discrete
Gaussian for Differential Privacy (2020).

INVARIANT: no float and no rounding; each function returns exactly the distribution it names.
"""

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
