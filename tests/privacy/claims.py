"""What an answer says that it costs, as a bound on any event; and what a pair of chances proves against it.

Take two databases that differ in one person, the distributions P and Q of the answers to one question over
them, and any set S of answers, with p = P(S) and q = Q(S).

**Pure.** An answer says `charged_epsilon` and `delta`: P(S) <= e^epsilon Q(S) + delta. So p and q prove

    epsilon >= ln((p - delta) / q).

**Concentrated.** An answer says `rho` and `delta`: there are events E and F, with P(E) and Q(F) at least
1 - delta, such that D_a(P|E || Q|F) <= rho a for the Renyi divergence of every order a > 1 (rho-zCDP up to
delta; here delta is what thresholds take, the ledger's own conversion takes the other half for all questions
together). For S, p' = P(S|E) >= P(S and E) >= p - delta, and q' = Q(S|F) <= q / (1 - delta). Whether S
happened is computed from the answer, and computing lowers no divergence that was not there, so

    rho a >= D_a(p' || q') = ln(p'^a q'^(1-a) + (1 - p')^a (1 - q')^(1-a)) / (a - 1)    for every a > 1,

and p' and q' prove rho >= D_a(p' || q') / a: the largest over some orders is taken, each of them is valid. The
bound of a single question by (epsilon', delta'), P(S) <= e^epsilon' Q(S) + delta(rho, epsilon') + delta for all
epsilon' at once, is derived from these divergences and so is never stronger: every event that breaks it breaks
this. The account's own (epsilon, delta) is no claim about one question: it is about all of them.

INVARIANT: while q <= p, what is proven grows with p and falls with q, so a lower bound of p and an upper bound of
q prove a lower bound. Where q is not below p nothing is proven.
"""

from dataclasses import dataclass
from math import exp, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_ORDERS = 1 + np.geomspace(1e-3, 300, 240)
_LEAST = 1e-300


@dataclass(frozen=True)
class Pure:
    """(epsilon, delta)."""

    amount: float
    delta: float = 0.0

    def proven(self, p: Floats, q: Floats) -> Floats:
        """The least epsilon that these chances leave possible; 0 says nothing."""
        above = np.maximum(p - self.delta, _LEAST)
        return np.maximum(np.log(above / np.maximum(q, _LEAST)), 0.0)


@dataclass(frozen=True)
class Concentrated:
    """rho-zCDP up to delta."""

    amount: float
    delta: float = 0.0

    def proven(self, p: Floats, q: Floats) -> Floats:
        """The least rho that these chances leave possible; 0 says nothing."""
        left = np.clip(p - self.delta, _LEAST, 1.0)
        right = np.clip(q / (1 - self.delta), _LEAST, 1.0)
        divergences = np.stack([divergence(order, left, right) / order for order in _ORDERS])
        return np.where(left > right, np.max(divergences, axis=0), 0.0)


Claim: TypeAlias = Pure | Concentrated


def divergence(order: float, p: Floats, q: Floats) -> Floats:
    """The Renyi divergence of an event that happens with p from one that happens with q."""
    happens = order * np.log(p) + (1 - order) * np.log(q)
    otherwise = order * np.log(np.maximum(1 - p, _LEAST)) + (1 - order) * np.log(
        np.maximum(1 - q, _LEAST)
    )
    summed: Floats = np.logaddexp(happens, otherwise) / (order - 1)
    return summed


def delta_of(rho: float, epsilon: float) -> float:
    """The delta that goes with epsilon under rho-zCDP: the least over orders above 1."""
    orders = (1 + step / 100 for step in range(1, 3_000))
    return exp(min((a - 1) * (a * rho - epsilon) + a * log(1 - 1 / a) - log(a - 1) for a in orders))
