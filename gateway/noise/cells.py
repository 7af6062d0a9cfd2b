"""The cells of an answer and their 95 % intervals, from noisy integers and the noise they got.

Post-processing of what was released. An interval says where the value without noise lies; that rows of a
person were cut off, or values clamped, is not in it. It is formed before a cell is moved into its domain.

One noise alone gives its own exact quantile. Several are added by their variances, with what their tails add.
A product or a quotient is taken for the plane that touches it at what was released. For a quotient a/b that is
near the truth only where b is away from 0. Let t be the share of b's own margin in b. The r for which
|a - r·b| is within its margin (the set of Fieller, 1954) end about a/b ± margin/(1 - t²), so that is the
interval; from t = 1 on b may be 0, every r fits what was released, and there is no interval at all.
Without this, percentages of handfuls of people missed the value in 7 of 100 answers instead of 5.

What is promised: of 100 answers at most 5 have an interval that does not hold the value. The few intervals
that are formed over a count that is in truth no more than noise may be wrong more often than that.
docs/proofs/answers.md has the argument, tests/privacy/test_coverage.py tries to disprove it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, sqrt
from typing import Final, TypeAlias

from gateway.noise.mechanism import DiscreteLaplace, Mechanism
from gateway.noise.noisy import NoisyTable
from gateway.plan.forms import Form, Measured, Number, Over, Plus, Times
from gateway.sensitivity.formula import Formula, Linear

_Z: Final = 1.959963984540054  # 95 % of a normal distribution
_EXCESS: Final = (_Z**3 - 3 * _Z) / 24  # Cornish and Fisher: what heavier tails than normal add
_LAPLACE: Final = 3.0  # the excess kurtosis of a Laplace distribution


@dataclass(frozen=True, slots=True)
class Felt:
    """A number, and how it moves with each of the noisy integers it was computed from."""

    value: float
    slopes: dict[int, float]


_How: TypeAlias = Callable[[Felt, Felt], Felt | None]


class Intervals:
    """Forms the intervals of one release, row by row."""

    def __init__(self, table: NoisyTable, formulas: tuple[Formula, ...]) -> None:
        self._table = table
        self._formulas = formulas
        self._stds = [noise.std for noise in table.noises]
        self._margins = [noise.margin() for noise in table.noises]
        self._below: dict[tuple[tuple[int, float], ...], float] = {}

    def interval(self, form: Form, row: int) -> tuple[float, float] | None:
        """From where to where; None where no error follows, as beside a zero below a line."""
        felt = self._felt(form, [column[row] for column in self._table.measured])
        if felt is None:
            return None
        half = self._half(felt.slopes)
        low, high = felt.value - half, felt.value + half
        return (low, high) if isfinite(low) and isfinite(high) else None

    def _half(self, slopes: dict[int, float]) -> float:
        moving = [(place, abs(slope)) for place, slope in slopes.items() if slope]
        if not moving:
            return 0.0
        if len(moving) == 1:  # one distribution, known exactly
            [(place, slope)] = moving
            return slope * self._margins[place]
        variance = sum((slope * self._stds[place]) ** 2 for place, slope in moving)
        if not variance:
            return 0.0
        fourth = sum(
            _kurtosis(self._table.noises[place]) * (slope * self._stds[place]) ** 4
            for place, slope in moving
        )
        steps = max(slope for _, slope in moving) / 2  # the noise is whole numbers
        return sqrt(variance) * (_Z + _EXCESS * fourth / variance**2) + steps

    def _half_below(self, slopes: dict[int, float]) -> float:
        """Of what stands below a line, which is mostly the same in every row."""
        key = tuple(slopes.items())
        half = self._below.get(key)
        if half is None:
            half = self._below[key] = self._half(slopes)
        return half

    def _felt(self, form: Form, row: list[int]) -> Felt | None:
        match form:
            case Number(value):
                return Felt(float(value), {})
            case Measured(place):
                return self._of_formula(self._formulas[place], row)
            case Plus(left, right):
                return _both(self._felt(left, row), self._felt(right, row), _plus)
            case Times(left, right):
                return _both(self._felt(left, row), self._felt(right, row), _times)
            case Over(above, below):
                return _both(self._felt(above, row), self._felt(below, row), self._over)

    def _of_formula(self, formula: Formula, row: list[int]) -> Felt | None:
        if isinstance(formula, Linear):
            return _of_linear(formula, row)
        below = _of_linear(formula.below, row)
        if below.value < 1:
            return None  # a mean over nobody
        return self._over(_of_linear(formula.above, row), below)

    def _over(self, above: Felt, below: Felt) -> Felt | None:
        half = self._half_below(below.slopes)
        if abs(below.value) <= half:
            return None  # it may be 0
        value, part = above.value / below.value, half / below.value
        moved = 1 / (below.value * (1 - part**2))
        return Felt(value, _mixed(above, moved, below, -value * moved))


def _of_linear(linear: Linear, row: list[int]) -> Felt:
    return Felt(float(linear.value(row)), _slopes(linear))


@lru_cache(maxsize=4096)
def _slopes(linear: Linear) -> dict[int, float]:
    """The same in every row; nobody changes it."""
    slopes: dict[int, float] = {}
    for place, weight in linear.weights:
        slopes[place] = slopes.get(place, 0.0) + float(weight)
    return slopes


def _both(left: Felt | None, right: Felt | None, how: _How) -> Felt | None:
    return None if left is None or right is None else how(left, right)


def _plus(left: Felt, right: Felt) -> Felt:
    return Felt(left.value + right.value, _mixed(left, 1.0, right, 1.0))


def _times(left: Felt, right: Felt) -> Felt:
    return Felt(left.value * right.value, _mixed(left, right.value, right, left.value))


def _mixed(left: Felt, weight: float, right: Felt, other: float) -> dict[int, float]:
    slopes = {place: slope * weight for place, slope in left.slopes.items()}
    for place, slope in right.slopes.items():
        slopes[place] = slopes.get(place, 0.0) + slope * other
    return slopes


def _kurtosis(noise: Mechanism) -> float:
    return _LAPLACE if isinstance(noise, DiscreteLaplace) else 0.0
