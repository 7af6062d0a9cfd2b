"""From noisy integers to aggregates: formulas over measurements.

Everything here is post-processing: it sees what was released and public parameters, nothing else.

Variances, covariances and lines through points follow from sums, squares and products. With n rows the mean of a
value is `origin + away/n`. Its squares are summed around a center, each less a constant, so that what one row adds
lies around 0: the variance is `squares/n + constant - (mean - center)²`. Of two values, `products/n - (mean -
center)·(mean' - center')` is what they have in common. In PostgreSQL's functions of two values the first is y, the
second x: the line is y = slope·x + intercept.

Counts, sums and means are linear forms of noisy integers, or quotients of two. Places are places among the
measurements of the release, slot by slot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt, lcm
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from gateway.plan.formulas import (
    AggregateRef,
    Arithmetic,
    AtLeast,
    NumberForm,
    Over,
    Plus,
    Root,
    Times,
)
from gateway.sensitivity.choices import Chosen


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `weight * measured[place]`. `least` is what it is never below when clamped."""

    weights: tuple[tuple[int, Fraction], ...]
    least: Fraction | None = None

    def value(self, measured: Sequence[int]) -> Fraction:
        weights, under = _over_one(self.weights)
        return Fraction(sum(weight * measured[place] for place, weight in weights), under)

    def clamped(self, measured: Sequence[int]) -> Fraction:
        raw = self.value(measured)
        return raw if self.least is None else max(raw, self.least)


@dataclass(frozen=True, slots=True)
class Quotient:
    """`above / max(below, 1)`: a mean. `low` and `high` are where its domain ends.

    Where hardly anybody is, it is `middle` and what is away from it, not a sum by itself: the mean of values
    around `middle` is `middle + (above - middle * below) / max(below, 1)`.
    """

    above: Linear
    below: Linear
    low: Fraction
    high: Fraction
    middle: Fraction = Fraction(0)

    def value(self, measured: Sequence[int]) -> Fraction:
        above, below = self.above.value(measured), self.below.value(measured)
        return self.middle + (above - self.middle * below) / max(below, Fraction(1))

    def clamped(self, measured: Sequence[int]) -> Fraction:
        return min(max(self.value(measured), self.low), self.high)


@lru_cache(maxsize=4096)
def _over_one(
    weights: tuple[tuple[int, Fraction], ...],
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Weights as whole numbers over one denominator: sums of thousands of cells are then sums of integers."""
    under = lcm(*(weight.denominator for _, weight in weights))
    return tuple((place, int(weight * under)) for place, weight in weights), under


_ROOT_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class CurveFormula:
    """`form` over `parts`: its places are places among them. `low` and `high` are where its range ends.

    The first part is a count: where less than `rows` rows are told, there is no value, as in PostgreSQL.
    """

    form: Arithmetic
    parts: tuple[Linear, ...]
    rows: int
    low: Fraction | None = None
    high: Fraction | None = None

    def value(self, measured: Sequence[int]) -> Fraction | None:
        parts = [part.value(measured) for part in self.parts]
        return None if parts[0] < self.rows else _value(self.form, parts)

    def clamped(self, measured: Sequence[int]) -> Fraction | None:
        found = self.value(measured)
        if found is None:
            return None
        if self.low is not None:
            found = max(found, self.low)
        return found if self.high is None else min(found, self.high)


def _value(  # noqa: PLR0911 - one answer for each kind
    form: Arithmetic, parts: Sequence[Fraction]
) -> Fraction | None:
    """None where something is divided by 0."""
    match form:
        case NumberForm(value):
            return value
        case AggregateRef(place):
            return parts[place]
        case Root(of):
            inner = _value(of, parts)
            return None if inner is None else square_root(inner)
        case AtLeast(of, least):
            inner = _value(of, parts)
            return None if inner is None else max(inner, least)
        case Plus(one, other) | Times(one, other) | Over(one, other):
            left, right = _value(one, parts), _value(other, parts)
            if left is None or right is None:
                return None
            if isinstance(form, Plus):
                return left + right
            if isinstance(form, Times):
                return left * right
            return left / right if right else None


def square_root(value: Fraction) -> Fraction:
    """The square root, to 128 bits; of what is below 0, it is 0."""
    if value <= 0:
        return Fraction(0)
    # so many places that the whole part of what is rooted has at least twice the bits
    short = 2 * _ROOT_BITS + value.denominator.bit_length() - value.numerator.bit_length()
    places = max(0, -(-short // 2))
    return Fraction(isqrt((value.numerator << (2 * places)) // value.denominator), 1 << places)


Formula: TypeAlias = Linear | Quotient | CurveFormula | Chosen


def shift_formula(formula: Formula, by: int) -> Formula:
    """The formula over measurements that stand behind `by` others."""
    match formula:
        case Linear():
            return _moved(formula, by)
        case Quotient():
            return replace(
                formula, above=_moved(formula.above, by), below=_moved(formula.below, by)
            )
        case CurveFormula():
            return replace(formula, parts=tuple(_moved(one, by) for one in formula.parts))
        case Chosen():  # choices stand in a row of their own
            return formula
        case _:
            assert_never(formula)


def _moved(linear: Linear, by: int) -> Linear:
    return replace(linear, weights=tuple((place + by, weight) for place, weight in linear.weights))


_ZERO: Final = Fraction(0)
_ONE: Final = Fraction(1)


@dataclass(frozen=True, slots=True)
class SpreadAxis:
    """One value, from `low` to `high`: its sum away from `origin`, its squares around `center`."""

    low: Fraction
    high: Fraction
    origin: Fraction
    away: Linear
    center: Fraction
    constant: Fraction = _ZERO
    squares: Linear | None = None

    @property
    def most(self) -> Fraction:
        """No variance between these ends is above this."""
        return ((self.high - self.low) / 2) ** 2


@dataclass(frozen=True, slots=True)
class Spread:
    """What a function needs, beside the count. `sums` and `squares` go with its values."""

    squares: tuple[bool, ...]
    products: bool
    rows: int = 1
    sums: tuple[bool, ...] = (True, True)


_ONLY_Y: Final = (True, False)
_ONLY_X: Final = (False, True)

SPREADS: Final[Mapping[str, Spread]] = MappingProxyType(
    {
        **dict.fromkeys(("var_pop", "stddev_pop"), Spread((True,), products=False)),
        **dict.fromkeys(
            ("var_samp", "variance", "stddev_samp", "stddev"),
            Spread((True,), products=False, rows=2),
        ),
        "covar_pop": Spread((False, False), products=True),
        "covar_samp": Spread((False, False), products=True, rows=2),
        "corr": Spread((True, True), products=True),
        "regr_slope": Spread((False, True), products=True),
        "regr_intercept": Spread((False, True), products=True),
        "regr_r2": Spread((True, True), products=True),
        "regr_avgx": Spread((False, False), products=False, sums=_ONLY_X),
        "regr_avgy": Spread((False, False), products=False, sums=_ONLY_Y),
        "regr_sxx": Spread((False, True), products=False, sums=_ONLY_X),
        "regr_syy": Spread((True, False), products=False, sums=_ONLY_Y),
        "regr_sxy": Spread((False, False), products=True),
    }
)


def curve_formula(
    function: str, count: Linear, axes: tuple[SpreadAxis, ...], products: Linear | None
) -> CurveFormula:
    """The aggregate as a function of what was measured for it."""
    made = _Parts(count, axes, products)
    form, low, high = _FORMS[function](made)
    return CurveFormula(form, tuple(made.parts), SPREADS[function].rows, low, high)


class _Parts:
    """Names the linear parts, and builds forms over them."""

    def __init__(
        self, count: Linear, axes: tuple[SpreadAxis, ...], products: Linear | None
    ) -> None:
        self.parts = [Linear(count.weights)]
        self.axes = axes
        self._products = products
        self.rows: Arithmetic = AggregateRef(0)
        self._n = AtLeast(self.rows, _ONE)
        self._n_less_1 = AtLeast(_less(self.rows, NumberForm(_ONE)), _ONE)

    @property
    def y(self) -> SpreadAxis:
        return self.axes[0]

    @property
    def x(self) -> SpreadAxis:
        return self.axes[-1]

    def mean(self, axis: SpreadAxis) -> Arithmetic:
        return Plus(NumberForm(axis.origin), Over(self._part(axis.away), self._n))

    def variance(self, axis: SpreadAxis) -> Arithmetic:
        if axis.squares is None:
            raise ValueError("a variance without squares")
        mean = Over(self._part(axis.squares), self._n)
        return _less(Plus(mean, NumberForm(axis.constant)), _square(self._off_center(axis)))

    def common(self) -> Arithmetic:
        """The covariance."""
        if self._products is None:
            raise ValueError("a covariance without products")
        mean = Over(self._part(self._products), self._n)
        return _less(mean, Times(self._off_center(self.y), self._off_center(self.x)))

    def of_sample(self, form: Arithmetic) -> Arithmetic:
        """Divided by one less."""
        return Over(Times(form, self.rows), self._n_less_1)

    def total(self, form: Arithmetic) -> Arithmetic:
        return Times(form, self.rows)

    def _off_center(self, axis: SpreadAxis) -> Arithmetic:
        return Plus(self.mean(axis), NumberForm(-axis.center))

    def _part(self, linear: Linear) -> Arithmetic:
        if linear not in self.parts:
            self.parts.append(linear)
        return AggregateRef(self.parts.index(linear))


_Ranged = tuple[Arithmetic, Fraction | None, Fraction | None]


def _less(one: Arithmetic, other: Arithmetic) -> Arithmetic:
    return Plus(one, Times(NumberForm(-_ONE), other))


def _square(form: Arithmetic) -> Arithmetic:
    return Times(form, form)


def _var_pop(made: _Parts) -> _Ranged:
    return made.variance(made.x), _ZERO, made.x.most


def _var_samp(made: _Parts) -> _Ranged:
    return made.of_sample(made.variance(made.x)), _ZERO, 2 * made.x.most


def _covar_pop(made: _Parts) -> _Ranged:
    most = _most_in_common(made)
    return made.common(), -most, most


def _covar_samp(made: _Parts) -> _Ranged:
    most = 2 * _most_in_common(made)
    return made.of_sample(made.common()), -most, most


def _most_in_common(made: _Parts) -> Fraction:
    """|covariance| is at most the root of both variances' product."""
    return (made.x.high - made.x.low) * (made.y.high - made.y.low) / 4


def _corr(made: _Parts) -> _Ranged:
    both = Times(_not_below_0(made, made.y), _not_below_0(made, made.x))
    return Over(made.common(), Root(both)), -_ONE, _ONE


def _r2(made: _Parts) -> _Ranged:
    both = Times(_not_below_0(made, made.y), _not_below_0(made, made.x))
    return Over(_square(made.common()), both), _ZERO, _ONE


def _slope(made: _Parts) -> _Ranged:
    return Over(made.common(), _not_below_0(made, made.x)), None, None


def _intercept(made: _Parts) -> _Ranged:
    slope, *_ = _slope(made)
    return _less(made.mean(made.y), Times(slope, made.mean(made.x))), None, None


def _not_below_0(made: _Parts, axis: SpreadAxis) -> Arithmetic:
    return AtLeast(made.variance(axis), _ZERO)


def _rooted(ranged: _Ranged) -> _Ranged:
    form, low, high = ranged
    return Root(form), low, None if high is None else square_root(high)


_FORMS: Final[Mapping[str, Callable[[_Parts], _Ranged]]] = MappingProxyType(
    {
        "var_pop": _var_pop,
        "var_samp": _var_samp,
        "variance": _var_samp,
        "stddev_pop": lambda made: _rooted(_var_pop(made)),
        "stddev_samp": lambda made: _rooted(_var_samp(made)),
        "stddev": lambda made: _rooted(_var_samp(made)),
        "covar_pop": _covar_pop,
        "covar_samp": _covar_samp,
        "corr": _corr,
        "regr_r2": _r2,
        "regr_slope": _slope,
        "regr_intercept": _intercept,
        "regr_avgx": lambda made: (made.mean(made.x), made.x.low, made.x.high),
        "regr_avgy": lambda made: (made.mean(made.y), made.y.low, made.y.high),
        "regr_sxx": lambda made: (made.total(made.variance(made.x)), _ZERO, None),
        "regr_syy": lambda made: (made.total(made.variance(made.y)), _ZERO, None),
        "regr_sxy": lambda made: (made.total(made.common()), None, None),
    }
)
