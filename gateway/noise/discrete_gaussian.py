"""Discrete Gaussian distribution, P(x) ∝ e^(-x²/2v) over all integers: the reference sampler.

Algorithm 3 of Canonne, Kamath, Steinke (2020): rejection from the discrete Laplace distribution.
"""

from fractions import Fraction
from math import isqrt

from gateway.noise.bernoulli import draw_decay
from gateway.noise.discrete_laplace import discrete_laplace
from gateway.noise.entropy import Entropy


def discrete_gaussian(variance: Fraction, entropy: Entropy) -> int:
    """One exact draw, for a variance parameter v above 0."""
    # any t gives the right distribution; about the square root of v is fast
    t = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        drawn = discrete_laplace(Fraction(t), entropy)
        # e^(-y²/2v) = const · e^(-|y|/t) · e^(-(|y| - v/t)²/2v): keep with the last factor
        exponent = (abs(drawn) - variance / t) ** 2 / (2 * variance)
        if draw_decay(exponent.numerator, exponent.denominator, entropy):
            return drawn
