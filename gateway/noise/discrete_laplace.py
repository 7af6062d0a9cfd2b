"""Discrete Laplace distribution, P(x) ∝ e^(-|x|/b) over all integers: the reference sampler.

Algorithm 2 of Canonne, Kamath, Steinke (2020), in whole numbers. The vectors of `vector_sampler` must have this
distribution; the tests compare the two.
"""

from fractions import Fraction

from gateway.noise.bernoulli import draw_below, draw_bernoulli, draw_decay
from gateway.noise.entropy import Entropy


def discrete_laplace(scale: Fraction, entropy: Entropy) -> int:
    """One exact draw, for a scale b = t/s above 0."""
    t, s = scale.numerator, scale.denominator
    while True:
        # fine = rest + t·whole is geometric with e^-(1/t), for e^-(fine/t) = e^-(rest/t) · e^-whole
        rest = draw_below(t, entropy)
        if not draw_decay(rest, t, entropy):
            continue
        whole = 0
        while draw_decay(1, 1, entropy):
            whole += 1
        # s steps of it are one step of a geometric with e^-(s/t) = e^-(1/b)
        size = (rest + t * whole) // s
        negative = draw_bernoulli(1, 2, entropy)
        if not (negative and size == 0):  # otherwise zero would come twice as often
            return -size if negative else size
