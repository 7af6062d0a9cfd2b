"""What choices should be: probabilities by plain decimals, and a test that objects to samples."""

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp, log

from scipy.stats import chi2

DIGITS = 60
ALPHA = 1e-9
_LEAST = 10


def exponential(scores: Sequence[int], scale: Fraction) -> list[float]:
    """P(b) of the exponential mechanism."""
    heads = _weights(scores, scale)
    with localcontext() as context:
        context.prec = DIGITS
        total = sum(heads)
        return [float(one / total) for one in heads]


def flipping(scores: Sequence[int], scale: Fraction) -> list[float]:
    """P(b) of the largest of score + exponential noise: all outcomes of one coin for each."""
    heads = [float(one) for one in _weights(scores, scale)]
    found = [0.0] * len(scores)
    for coins in product((False, True), repeat=len(scores)):
        chance = 1.0
        for head, coin in zip(heads, coins, strict=True):
            chance *= head if coin else 1 - head
        if chance:
            for place, coin in enumerate(coins):
                found[place] += coin * chance / sum(coins)
    return found


def objects(drawn: Sequence[int], expected: Sequence[float]) -> bool:
    """Whether Pearson's test finds that the samples are of another distribution, with a false alarm in 10^9.

    Candidates with few expected are one cell; should that have few expected too, it may have no more than
    is believable by Markov's inequality.
    """
    seen = Counter(drawn)
    cells = [
        (seen[place], chance * len(drawn))
        for place, chance in enumerate(expected)
        if chance * len(drawn) >= _LEAST
    ]
    rest = len(drawn) - sum(count for count, _ in cells), len(drawn) - sum(m for _, m in cells)
    if rest[1] >= _LEAST:
        cells.append(rest)
    elif rest[0] > _LEAST + 50:  # Poisson of mean 10 reaches 60 once in 10^25
        return True
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    return bool(statistic > chi2.isf(ALPHA, max(len(cells) - 1, 1)))


def renyi(order: float, one: Sequence[float], other: Sequence[float]) -> float:
    """Rényi's divergence of one distribution from the other."""
    pairs = zip(one, other, strict=True)
    return log(sum(exp(order * log(p) + (1 - order) * log(q)) for p, q in pairs)) / (order - 1)


def worst(order: float, one: Sequence[float], other: Sequence[float]) -> float:
    return max(renyi(order, one, other), renyi(order, other, one))


def repeated(choose: Callable[[], int], count: int) -> list[int]:
    return [choose() for _ in range(count)]


def _weights(scores: Sequence[int], scale: Fraction) -> list[Decimal]:
    with localcontext() as context:
        context.prec = DIGITS
        best = max(scores)
        exponents = {one: (one - best) / scale for one in set(scores)}
        weights = {
            one: (Decimal(x.numerator) / Decimal(x.denominator)).exp()
            for one, x in exponents.items()
        }
        return [weights[one] for one in scores]
