"""The largest of `score + exponential noise`, by coins: for the pure currency alone.

With q the best score, a candidate's noisy score exceeds q with probability e^(-gap/scale), independently of
the others; the best one's always does. By how much is exponential again, and the same for all that do. So the
largest is one of those that exceed q, each as likely as any other: this is permute-and-flip.

A coin of e^(-gap/scale) is tossed in two parts, by the table of `candidates`: one of weight/2^binary, which
is exact, and, where that comes up, one of e^(-gap/scale)·2^binary/weight.

INVARIANT: whole numbers decide, never floats; what `sure` leaves open is decided by `keeps`.
"""

import numpy as np

from gateway.noise.bernoulli import below
from gateway.noise.entropy import Entropy
from gateway.noise.exponential import Proposal, Scores, Words, best_of, keeps, steps_of

_WORD = 64


def flip(table: Proposal, scores: Scores, entropy: Entropy) -> int:
    """The place of one candidate."""
    best = best_of(scores)
    steps = steps_of(table, scores, best)
    exceed = np.flatnonzero(_words(len(scores), table.binary, entropy) < table.weights[steps])
    steps = steps[exceed]
    coins = _words(len(exceed), table.coin, entropy)
    kept = coins < table.sure[steps]
    for i in np.flatnonzero(~kept).tolist():
        gap = best - int(scores[exceed[i]])
        kept[i] = gap == 0 or keeps(table, gap, int(steps[i]), int(coins[i]), entropy)
    exceed = exceed[kept]
    return int(exceed[below(len(exceed), entropy)])


def _words(count: int, bits: int, entropy: Entropy) -> Words:
    """As many uniform numbers of so many bits."""
    words = np.frombuffer(entropy.bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)
    return words >> np.uint64(_WORD - bits)
