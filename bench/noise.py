"""How long a draw takes: one by one, in vectors, and by OpenDP; and what a table costs once.

Goal: at most 0.6 µs a draw in vectors of 100,000.
"""

import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import opendp.prelude as dp

from gateway.noise.enclosure import Decay
from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace
from gateway.noise.samplers import discrete_gaussian, discrete_laplace, draw_noise, make_staircase

SCALES = (Fraction(3, 10), Fraction(50), Fraction(1000), Fraction(10**9), Fraction(10**25))
COUNTS = (1, 100, 6_000, 100_000)
_SLOW = 6_000  # larger vectors are not drawn one by one
_LARGEST_OPENDP = 2**53

Work = Callable[[int], object]


def main() -> None:
    dp.enable_features("contrib")
    print(f"{'ns a draw':26}" + "".join(f"{count:>12,}" for count in COUNTS) + f"{'table ms':>12}")
    for scale in SCALES:
        _rows(f"Laplace {float(scale):g}", Decay(1 / scale, 1), _one_laplace(scale), scale)
    for scale in SCALES:
        decay = Decay(1 / (2 * scale**2), 2)
        _rows(f"Gaussian {float(scale):g}", decay, _one_gaussian(scale**2), scale)
    _intervals()


def _rows(name: str, decay: Decay, one: Work, scale: Fraction) -> None:
    make_staircase.cache_clear()
    before = time.perf_counter()
    stairs = make_staircase(decay)
    table = (time.perf_counter() - before) * 1e3
    print(f"{name:26}")
    _row("  one by one", one, _SLOW)
    _row(
        "  vector",
        lambda count: draw_noise(stairs, count, SYSTEM_ENTROPY),
        COUNTS[-1],
        f"{table:12.1f}",
    )
    if scale < _LARGEST_OPENDP:
        _row("  OpenDP", _opendp(decay.power == 1, float(scale)), COUNTS[-1])


def _row(name: str, work: Work, most: int, last: str = "") -> None:
    print(f"{name:26}", end="")
    for count in COUNTS:
        print(f"{_took(work, count) / count:12,.0f}" if count <= most else f"{'-':>12}", end="")
    print(last)


def _took(work: Work, count: int) -> float:
    """Nanoseconds, the median of several rounds."""
    rounds = max(3, min(200, 20_000 // count))
    took = []
    for _ in range(rounds):
        before = time.perf_counter_ns()
        work(count)
        took.append(time.perf_counter_ns() - before)
    return statistics.median(took)


def _one_laplace(scale: Fraction) -> Work:
    return lambda count: [discrete_laplace(scale, SYSTEM_ENTROPY) for _ in range(count)]


def _one_gaussian(variance: Fraction) -> Work:
    return lambda count: [discrete_gaussian(variance, SYSTEM_ENTROPY) for _ in range(count)]


def _opendp(laplace: bool, scale: float) -> Work:  # noqa: FBT001 - one of two
    space = dp.vector_domain(dp.atom_domain(T=int))
    if laplace:
        measurement = dp.m.make_laplace(space, dp.l1_distance(T=int), scale)
    else:
        measurement = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale)
    return lambda count: measurement([0] * count)


def _intervals() -> None:
    """Margins and thresholds are remembered; this is what the first one takes."""
    print(f"\n{'ms, first time':26}{'margin':>12}{'threshold':>12}")
    for scale in SCALES:
        for mechanism in (DiscreteLaplace(scale), DiscreteGaussian(scale**2)):
            before = time.perf_counter()
            mechanism.margin()
            between = time.perf_counter()
            mechanism.reach(Fraction(1, 10**10))
            after = time.perf_counter()
            name = f"{type(mechanism).__name__[8:]} {float(scale):g}"
            print(f"{name:26}{(between - before) * 1e3:12.2f}{(after - between) * 1e3:12.2f}")


if __name__ == "__main__":
    main()
