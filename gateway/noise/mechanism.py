"""Laplace and Gaussian mechanisms as values: they know their cost and their width, and draw themselves.

`scale` and `variance` are exact rationals, so the cost computed from a mechanism is an exact rational too.

INVARIANT: what `laplace_for` and `gaussian_for` return never costs more than the given price, and less by at
most a 2^-47th part, because a scale is only ever rounded up.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, sinh, sqrt

from gateway.noise.enclosure import Decay, TableCache
from gateway.noise.entropy import Entropy
from gateway.noise.samplers import discrete_gaussian, discrete_laplace, draw_noise, make_staircase
from gateway.noise.tail_bounds import gaussian_reach, laplace_reach

CONFIDENCE = Fraction(95, 100)
# With so many draws a table is worth making even once. The number of groups decides, so the branch taken shows no
# more than the answer's length does; both branches give the same distribution.
MANY = 64
_asked_again = TableCache()

_KEPT_BITS = 48
_LONGEST = 64
_FLAT = 700  # sinh of more overflows floats, and the noise is 0
_SMOOTH = 16  # from here on, the true variance is the parameter to the last bit of a float


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(x) ∝ e^(-|x|/scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        _check(self.scale, "a scale")

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        decay = Decay(1 / self.scale, 1)
        if count >= MANY or _asked_again(decay):
            return draw_noise(make_staircase(decay), count, entropy)
        return [discrete_laplace(self.scale, entropy) for _ in range(count)]

    @property
    def std(self) -> float:
        """The standard deviation, for display; no decision depends on it."""
        half = float(1 / (2 * self.scale))
        return 0.0 if half > _FLAT else 1 / (sqrt(2) * sinh(half))

    def reach(self, limit: Fraction) -> int:
        """The smallest k ≥ 0 with P(X ≥ k) ≤ limit."""
        return laplace_reach(self.scale, limit)

    def margin(self, confidence: Fraction = CONFIDENCE) -> int:
        """The smallest k with P(|X| ≤ k) ≥ confidence."""
        return _margin(self, confidence)

    def epsilon_for(self, delta1: int) -> Fraction:
        """The pure epsilon of integers whose changes by one unit sum to delta1 at most."""
        _check_sensitivity(delta1)
        return delta1 / self.scale

    def rho_for(self, delta1: int, delta_inf: int) -> Fraction:
        """The zCDP price when no single integer moves by more than delta_inf.

        A change of d is d/b-DP, hence (d/b)²/2-zCDP; and Σ d² ≤ delta_inf·delta1.
        """
        _check_sensitivity(delta1)
        _check_sensitivity(delta_inf)
        return min(delta1, delta_inf) * delta1 / (2 * self.scale**2)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(x) ∝ e^(-x²/(2·variance)); `variance` is a parameter, and the true variance is at most that."""

    variance: Fraction

    def __post_init__(self) -> None:
        _check(self.variance, "a variance")

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        decay = Decay(1 / (2 * self.variance), 2)
        if count >= MANY or _asked_again(decay):
            return draw_noise(make_staircase(decay), count, entropy)
        return [discrete_gaussian(self.variance, entropy) for _ in range(count)]

    @property
    def std(self) -> float:
        """The standard deviation, for display; no decision depends on it."""
        if self.variance >= _SMOOTH:
            return sqrt(self.variance)
        rate = float(1 / (2 * self.variance))
        weights = [exp(-rate * x * x) for x in range(1, 64)]
        moment = fsum(x * x * weight for x, weight in enumerate(weights, 1))
        return sqrt(2 * moment / (1 + 2 * fsum(weights)))

    def reach(self, limit: Fraction) -> int:
        """The smallest k ≥ 0 with P(X ≥ k) ≤ limit, or one more: see `gaussian_reach`."""
        return gaussian_reach(self.variance, limit)

    def margin(self, confidence: Fraction = CONFIDENCE) -> int:
        """The smallest k with P(|X| ≤ k) ≥ confidence; beyond a standard deviation of 256 it may be one more."""
        return _margin(self, confidence)

    def rho_for(self, delta2_squared: Fraction | int) -> Fraction:
        """The zCDP price of integers whose squared changes by one unit sum to delta2_squared at most."""
        _check_sensitivity(delta2_squared)
        return delta2_squared / (2 * self.variance)


Mechanism = DiscreteLaplace | DiscreteGaussian


def laplace_for(epsilon: Fraction, delta1: int) -> DiscreteLaplace:
    """The noise that costs epsilon: b = Δ1/ε."""
    _check(epsilon, "a price")
    _check(Fraction(delta1), "a sensitivity")
    return DiscreteLaplace(round_up(delta1 / epsilon))


def gaussian_for(rho: Fraction, delta2_squared: Fraction | int) -> DiscreteGaussian:
    """The noise that costs rho: variance = Δ2²/(2·rho)."""
    _check(rho, "a price")
    _check(Fraction(delta2_squared), "a sensitivity")
    return DiscreteGaussian(round_up(delta2_squared / (2 * rho)))


def round_up(value: Fraction) -> Fraction:
    """The value itself if it is short, otherwise the next larger number of 48 or 49 bits.

    The result is m·2^e with m > 2^47 and exceeds the value by less than 2^e. So it is below value·(1 + 2^-47),
    and any price that falls as 1/value shrinks by a factor above 1 - 2^-47.
    """
    over, under = value.numerator, value.denominator
    if max(over.bit_length(), under.bit_length()) <= _LONGEST:
        return value
    exponent = over.bit_length() - under.bit_length() - _KEPT_BITS
    power = Fraction(2) ** exponent
    return -(-value // power) * power


def _margin(mechanism: Mechanism, confidence: Fraction) -> int:
    """P(|X| > k) = 2·P(X ≥ k + 1); k ≥ 0, for P(X ≥ 0) is above 1/2 and never within the limit."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence is between 0 and 1")
    return mechanism.reach((1 - confidence) / 2) - 1


def _check(value: Fraction, what: str) -> None:
    if not isinstance(value, Fraction):
        raise TypeError(f"{what} is a Fraction, not {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"{what} of noise is above 0")


def _check_sensitivity(value: Fraction | int) -> None:
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise TypeError(
            f"a sensitivity is a whole number or a Fraction, not {type(value).__name__}"
        )
    if value < 0:
        raise ValueError("a sensitivity is not negative")
