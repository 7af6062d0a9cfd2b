"""Tails of the two distributions by plain decimal sums: slow, and sharing nothing with the gateway."""

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism

DIGITS = 120


def tails(mechanism: Mechanism, upto: int) -> list[Decimal]:
    """P(X ≥ k) for k = 0 … upto."""
    with localcontext() as context:
        context.prec = DIGITS
        sums, total = [], Decimal(0)
        for x, weight in reversed(list(enumerate(_weights(mechanism, upto)))):
            total += weight
            if x <= upto:
                sums.append(total)
        everything = 2 * total - 1
        return [one / everything for one in reversed(sums)]


def _weights(mechanism: Mechanism, upto: int) -> Iterator[Decimal]:
    """From 0 to far beyond `upto`, where the rest is below 10^-100 of the first."""
    x = 0
    weight = Decimal(1)
    while x <= upto or weight > Decimal(10) ** -100:
        weight = (-decimal(_exponent(mechanism, x))).exp()
        yield weight
        x += 1


def _exponent(mechanism: Mechanism, x: int) -> Fraction:
    match mechanism:
        case DiscreteLaplace(scale):
            return x / scale
        case DiscreteGaussian(variance):
            return x * x / (2 * variance)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
