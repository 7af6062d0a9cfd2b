"""What variances, covariances and lines through points are measured by.

Of every value its count, its sum, as for AVG, and its squares around the middle; of two values their products,
too, and only rows that have both count. Whatever aggregates of the statement share is measured once.
"""

from fractions import Fraction
from typing import Protocol, TypeAlias

from gateway.plan.aggregates import Measure
from gateway.plan.scalars import Scalar
from gateway.sensitivity.formulas import SPREADS, CurveFormula, SpreadAxis, curve_formula
from gateway.sensitivity.lattice import unit_of
from gateway.sensitivity.linear_formulas import Linear
from gateway.sensitivity.measurement import Products, Quantity, Rows, Squares
from gateway.sensitivity.summands import Distance, Summand, count_rows, where_not_null

_NONE = Linear(())
_UNUSED = SpreadAxis(Fraction(0), Fraction(0), Fraction(0), _NONE, Fraction(0))
Values: TypeAlias = tuple[Summand | None, ...]
"""The values of an aggregate; None for one that is only looked at for NULL, and needs no bounds."""


class Sums(Protocol):
    """What measures counts and sums: each once. `rows` is R; `pairs` says that noise is Laplace's."""

    @property
    def rows(self) -> int: ...
    @property
    def pairs(self) -> bool: ...
    def summed(self, measure: Measure, value: Scalar) -> Summand: ...
    def measure(self, quantity: Quantity, most: int) -> int: ...
    def count(self, rows: Rows) -> Linear: ...
    def counted_by(self, rows: Rows, count: Linear) -> None: ...
    def measure_pair(self, summed: Summand) -> Linear | None: ...
    def away(self, summed: Summand) -> Distance: ...


class Spreads:
    """Formulas of aggregates that are in `SPREADS`, and of REGR_COUNT."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        # corr(x, y) is corr(y, x): what comes first is measured first for both
        self._orders: dict[tuple[frozenset[Scalar], Scalar | None], tuple[Scalar, ...]] = {}

    def values(self, measure: Measure) -> Values:
        """Each in the rows that have all of them; or the refusal of what nothing bounds."""
        sums = SPREADS[measure.function].sums
        return tuple(
            self._summed(measure, one) if needed else None
            for one, needed in zip(measure.arguments, sums, strict=False)  # there may be one
        )

    def measure_pairs(self, measure: Measure, values: Values) -> None:
        """The totals from both ends, and the count that follows from them: the mean of what each says."""
        there = dict.fromkeys(one for one in values if one is not None)
        found = [self._sums.measure_pair(one) for one in there]
        counts = [one for one in found if one is not None]
        if counts:
            self._sums.counted_by(self._rows(measure), _mean(counts))

    def formula(self, measure: Measure, values: Values) -> CurveFormula:
        """The aggregate over what is measured for it."""
        needs = SPREADS[measure.function]
        count = self._sums.count(self._rows(measure))
        axes = tuple(
            _UNUSED if one is None else self._axis(one, squares=squares)
            for one, squares in zip(values, needs.squares, strict=True)
        )
        products = self._products(measure, values) if needs.products else None
        return curve_formula(measure.function, count, axes, products)

    def counted(self, measure: Measure) -> Linear:
        """REGR_COUNT."""
        return self._sums.count(self._rows(measure))

    def _ordered(self, measure: Measure) -> tuple[Scalar, ...]:
        key = frozenset(measure.arguments), measure.where
        return self._orders.setdefault(key, tuple(dict.fromkeys(measure.arguments)))

    def _rows(self, measure: Measure) -> Rows:
        return count_rows(self._ordered(measure), measure.where)

    def _summed(self, measure: Measure, value: Scalar) -> Summand:
        found, where = self._sums.summed(measure, value), measure.where
        for other in self._ordered(measure):
            if other != value and other.nullable:
                where = where_not_null(other, where)
        return Summand(value, where, found.range, found.lattice)

    def _axis(self, summed: Summand, *, squares: bool) -> SpreadAxis:
        lattice, away = summed.lattice, self._sums.away(summed)
        center = lattice.middle * lattice.step
        low, high = summed.range.low, summed.range.high
        if not squares:
            return SpreadAxis(low, high, away.origin, away.away, center)
        constant, linear = self._squares(summed)
        return SpreadAxis(low, high, away.origin, away.away, center, constant, linear)

    def _squares(self, summed: Summand) -> tuple[Fraction, Linear]:
        """The constant that was taken from every square, and the sum of what is left."""
        lattice, rows = summed.lattice, self._sums.rows
        if lattice.width == 0:
            return Fraction(0), _NONE  # nothing varies: there is nothing to measure
        unit = unit_of(lattice.reach**2, rows)
        # NULL is in no sum, so a condition on other values is all that a row has to meet
        squares = Squares(summed.value, lattice, unit, summed.where)
        place = self._sums.measure(squares, rows * squares.reach)
        size = unit * lattice.step**2
        return squares.less * size, Linear(((place, size),))

    def _products(self, measure: Measure, values: Values) -> Linear:
        """Of both values' distances from their middles."""
        first = self._ordered(measure)[0]
        one, other = values if measure.arguments[0] == first else (values[1], values[0])
        if one is None or other is None or one.lattice.width == 0 or other.lattice.width == 0:
            return _NONE
        rows = self._sums.rows
        unit = unit_of(one.lattice.reach * other.lattice.reach, rows)
        # NULL times anything is NULL: both values are there without being asked for
        products = Products(one.value, one.lattice, other.value, other.lattice, unit, measure.where)
        place = self._sums.measure(products, rows * products.reach)
        return Linear(((place, unit * one.lattice.step * other.lattice.step),))


def _mean(counts: list[Linear]) -> Linear:
    """Each of several measurements of one count with the same weight."""
    return Linear(
        tuple((place, weight / len(counts)) for one in counts for place, weight in one.weights)
    )
