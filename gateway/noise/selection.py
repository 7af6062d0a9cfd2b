"""Selection mechanisms as values: they know their cost and their error bound, and draw a candidate.

`Selection` is the exponential mechanism, P(b) ∝ e^(score of b / scale), which is what the largest of `score +
Gumbel(scale)` gives. `PureSelection` is the largest of `score + exponential noise`: nearer to the best score at
the same pure price, and four times as expensive in zCDP. `spread` is how far one unit can move the *difference*
of two scores: twice the sensitivity in general, once where one unit moves all scores in the same direction, as
counts do.

INVARIANT: a selection made for a price never costs more, and less by a 2^-45th part at most. eta²/8 is the
price of `Selection` alone. The argument: docs/proofs/selection.md. OpenDP's mechanisms take 6 to 560
times as long: bench/selection.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

from gateway.noise.enclosure import decay_bounds
from gateway.noise.entropy import Entropy
from gateway.noise.exponential import Scores, choose_candidate, make_proposal
from gateway.noise.mechanism import round_up
from gateway.noise.permute_and_flip import permute_and_flip

_BITS = 64
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Selection:
    """P(b) ∝ e^(score of b / scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        _check(self.scale, "a scale")

    def choose(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the drawn candidate."""
        return choose_candidate(make_proposal(self.scale), scores, entropy)

    def shortfall(self, candidates: int, limit: Fraction) -> int:
        """A k ≥ 0, mostly the smallest, for which P(chosen score ≤ best score - k) ≤ limit, whatever the scores.

        Each candidate so far below has at most e^(-k/scale) of the weight of the best one.
        """
        return _reach(self.scale, candidates, limit)

    def eta_for(self, spread: int) -> Fraction:
        """The pure price of one draw."""
        return spread / self.scale

    def rho_for(self, spread: int) -> Fraction:
        """The zCDP price of one draw, whose range is bounded by eta: eta²/8."""
        return self.eta_for(spread) ** 2 / 8


@dataclass(frozen=True, slots=True)
class PureSelection:
    """The largest of score + exponential noise of this scale. It has no zCDP price, because that would be too
    high.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        _check(self.scale, "a scale")

    def choose(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the drawn candidate."""
        return permute_and_flip(make_proposal(self.scale), scores, entropy)

    def shortfall(self, candidates: int, limit: Fraction) -> int:
        """As for `Selection`, with half the probability: a chosen candidate shares its chance with a better
        one.
        """
        return max(1, _reach(self.scale, candidates, 2 * limit))

    def eta_for(self, spread: int) -> Fraction:
        """The pure price of one draw."""
        return spread / self.scale


Choice: TypeAlias = Selection | PureSelection


def selection_for(eta: Fraction, spread: int) -> PureSelection:
    """The selection that costs eta in pure epsilon."""
    return PureSelection(_scale(eta, spread))


def selection_within(rho: Fraction, spread: int) -> Selection:
    """The selection that costs rho in zCDP: eta = √(8·rho), rounded down."""
    _check(rho, "a price")
    return Selection(_scale(_root(8 * rho), spread))


def _scale(eta: Fraction, spread: int) -> Fraction:
    _check(eta, "a price")
    _check(Fraction(spread), "a spread")
    return round_up(spread / eta)


@lru_cache(maxsize=_REMEMBERED)
def _reach(scale: Fraction, candidates: int, limit: Fraction) -> int:
    """A k for which candidates·e^(-k/scale) ≤ limit is proven, while for k - 1 it is not."""
    if candidates < 1 or limit <= 0:
        raise ValueError("a shortfall has candidates and a limit above 0")
    limit /= candidates
    bits = _BITS + limit.denominator.bit_length() + int(scale).bit_length()

    def proven(k: int) -> bool:
        return decay_bounds(k / scale, bits)[1] * limit.denominator <= limit.numerator << bits

    if proven(0):
        return 0
    low, high = 0, 1
    while not proven(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proven(middle) else (middle, high)
    return high


def _root(value: Fraction) -> Fraction:
    """√value, or a fraction below it by at most a 2^-62nd part."""
    shift = max(0, 2 * _BITS + value.denominator.bit_length() - value.numerator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((value.numerator << shift) // value.denominator), 1 << shift // 2)


def _check(value: Fraction, what: str) -> None:
    if not isinstance(value, Fraction):
        raise TypeError(f"{what} is a Fraction, not {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"{what} of a choice is above 0")
