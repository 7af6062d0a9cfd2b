"""Permute-and-flip: the largest of `score + exponential noise`, by coins, for pure epsilon alone.

With q the best score, a candidate's noisy score exceeds q with probability e^(-gap/scale), independently of the
others; that of the best one always does. The excess is exponential again, and the same for all of these. So the
largest is one of those that exceed q, each with equal probability: this is permute-and-flip.

A coin of e^(-gap/scale) is tossed in two parts, by the table of `exponential`: one of weight/2^binary, which is
exact, and, if it succeeds, one of e^(-gap/scale)·2^binary/weight.

INVARIANT: whole numbers decide, never floats; `keeps` decides what `sure` leaves open.
"""

import numpy as np

from gateway.noise.bernoulli import draw_below
from gateway.noise.entropy import Entropy
from gateway.noise.exponential import GapWeights, Scores, Words, best_of, is_accepted, steps_of

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
