"""Linear reconstruction: from noisy counts of subsets to a guess of everybody's bit; and what may be right of it.

**The attack.** The counts are y = A x + noise, a row of A for each subset and a bit of x for each person. Before any
answer a bit is 1/2 on average with a variance of 1/4, so the best linear estimate, least squares with that much trust
in what was known before, is

    x = 1/2 + A' (A A' + 4 V)^-1 (y - A 1/2),

V the variances of the noise, which the gateway tells. A bit is guessed to be what its estimate is nearer to. Where
there is no noise and enough questions this solves the equations.

**What may be right.** All answers together, T, are (epsilon, delta)-indistinguishable for one person of those that
are counted more or less, and here a bit is whether a person is counted. Bits are fair and independent coins. Take the
people one after the other. Given T = t and the bits of those before, person i has bit 1 with a chance of
P1 / (P0 + P1), where P0 and P1 are the densities of t for either bit, averaged over the bits of those who come after.
So whatever is guessed is right with a chance of at most

    max(P0, P1) / (P0 + P1) <= p + x_i,    p = e^epsilon / (1 + e^epsilon),
    x_i = (max - e^epsilon min)+ / ((1 + e^epsilon) (P0 + P1)),

and the mean of x_i over t is at most delta / 2, as both integrals of (P1 - e^epsilon P0)+ and (P0 - e^epsilon P1)+
are at most delta. With one uniform number for each person "right" implies "number below p" or "number in the next
x_i", hence

    P(more than k of n are right) <= P(Binomial(n, p) > k) + n delta / 2.

p is 1/2 plus half of the advantage (e^epsilon - 1) / (e^epsilon + 1). Pure epsilon has delta 0; rho is converted at a
delta so small that n delta / 2 is a tenth of the false alarms that are allowed. Refusals, reuse and the order of the
questions are functions of T and of what is public.
"""

from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray
from privacy.claims import delta_of
from privacy.reconstruction.people import Bools
from scipy.stats import binom

FALSE_ALARM = 1e-6
_JITTER = 1e-9


def guessed(
    subsets: Sequence[Bools], counts: Sequence[float], deviations: Sequence[float]
) -> Bools:
    """The bits by what was told about the subsets."""
    rows = np.array(subsets, dtype=np.float64)
    seen = np.array(counts) - rows.sum(axis=1) / 2
    spread = rows @ rows.T + np.diag(4 * np.square(deviations) + _JITTER)
    estimates = rows.T @ np.linalg.solve(spread, seen)
    return np.asarray(estimates > 0)


def right(guesses: Bools, secret: NDArray[np.bool_]) -> int:
    """Of how many people the bit was guessed."""
    return int((guesses == secret).sum())


def most_right(people: int, epsilon: float, alpha: float = FALSE_ALARM) -> int:
    """More than so many are right with a chance below alpha, whatever was done with the answers."""
    return int(binom.isf(alpha, people, 1 / (1 + exp(-epsilon))))


def most_right_at_rho(people: int, rho: float, alpha: float = FALSE_ALARM) -> int:
    """The same where rho was spent."""
    return most_right(people, epsilon_of(rho, alpha / 5 / people), alpha * 9 / 10)


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon (to 10^-6, from above) that rho is worth at this delta."""
    low, high = 0.0, 1.0
    while delta_of(rho, high) > delta:
        high *= 2
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(rho, middle) <= delta else (middle, high)
    return high
