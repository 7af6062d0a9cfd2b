"""From aggregates to measurements and formulas, variances and correlations among them.

What two aggregates need both is measured once. In the pure currency a sum over a domain is measured from both of
its ends, as one slot: the count comes free. In zCDP it is measured around the middle, with the count.

For variances, covariances and lines through points are measured: of every value its count, its sum, as for AVG,
and its squares around the middle; of two values their products, too, and only rows that have both count. Whatever
aggregates of the statement share is measured once.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, TypeAlias

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import Family
from gateway.errors import Code, UnsupportedSql
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure
from gateway.plan.fields import Tie
from gateway.plan.scalars import Literal, Ref, Scalar
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.ranges.lattice import lattice_of, unit_of
from gateway.sensitivity.formulas import (
    SPREADS,
    CurveFormula,
    Formula,
    Linear,
    Quotient,
    SpreadAxis,
    curve_formula,
)
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Measurement,
    Products,
    Quantity,
    Rows,
    Slot,
    Squares,
    Units,
)
from gateway.sensitivity.summands import (
    Distance,
    Summand,
    count_rows,
    no_bound,
    require_known_lengths,
    where_not_null,
)

_NONE = Linear(())
_UNUSED = SpreadAxis(Fraction(0), Fraction(0), Fraction(0), _NONE, Fraction(0))
Summands: TypeAlias = tuple[Summand | None, ...]
"""The values of an aggregate; None for one that is only looked at for NULL, and needs no bounds."""


class Sums(Protocol):
    """What measures counts and sums: each once. `pairs` says that noise is Laplace's."""

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

    def values(self, measure: Measure) -> Summands:
        """Each in the rows that have all of them; or the refusal of what nothing bounds."""
        sums = SPREADS[measure.function].sums
        return tuple(
            self._summed(measure, one) if needed else None
            for one, needed in zip(measure.arguments, sums, strict=False)  # there may be one
        )

    def measure_pairs(self, measure: Measure, values: Summands) -> None:
        """The totals from both ends, and the count that follows from them: the mean of what each says."""
        there = dict.fromkeys(one for one in values if one is not None)
        found = [self._sums.measure_pair(one) for one in there]
        counts = [one for one in found if one is not None]
        if counts:
            self._sums.counted_by(self._rows(measure), _mean(counts))

    def formula(self, measure: Measure, values: Summands) -> CurveFormula:
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
        lattice = summed.lattice
        if lattice.width == 0:
            return Fraction(0), _NONE  # nothing varies: there is nothing to measure
        unit = unit_of(lattice.reach**2)
        # NULL is in no sum, so a condition on other values is all that a row has to meet
        squares = Squares(summed.value, lattice, unit, summed.where)
        place = self._sums.measure(squares, squares.reach)
        size = unit * lattice.step**2
        return squares.less * size, Linear(((place, size),))

    def _products(self, measure: Measure, values: Summands) -> Linear:
        """Of both values' distances from their middles."""
        first = self._ordered(measure)[0]
        one, other = values if measure.arguments[0] == first else (values[1], values[0])
        if one is None or other is None or one.lattice.width == 0 or other.lattice.width == 0:
            return _NONE
        unit = unit_of(one.lattice.reach * other.lattice.reach)
        # NULL times anything is NULL: both values are there without being asked for
        products = Products(one.value, one.lattice, other.value, other.lattice, unit, measure.where)
        place = self._sums.measure(products, products.reach)
        return Linear(((place, unit * one.lattice.step * other.lattice.step),))


def _mean(counts: list[Linear]) -> Linear:
    """Each of several measurements of one count with the same weight."""
    return Linear(
        tuple((place, weight / len(counts)) for one in counts for place, weight in one.weights)
    )


_ONE = Fraction(1)
_MEANS = frozenset({"sum", "avg"})


class MeasurementBuilder:
    """Collects slots, each once, with what one row moves them by, or one unit.

    `values` is how many different values of a unit count in a group; `pairs` says that noise is Laplace's.
    """

    def __init__(self, columns: Mapping[str, Bounds], values: int, *, pairs: bool) -> None:
        self._columns = columns
        self._values = values
        self.pairs = pairs
        self._spreads = Spreads(self)
        self._slots: list[Slot] = []
        self._places: dict[Quantity, int] = {}
        self._counts: dict[Rows, Linear] = {}

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(self._slots)

    def formulas(self, measures: Sequence[Measure]) -> tuple[Formula, ...]:
        """One formula for each aggregate, in their order."""
        summed = {one: self.summed(one, one.arguments[0]) for one in measures if _sums(one)}
        spread = {one: self._spreads.values(one) for one in measures if one.function in SPREADS}
        if self.pairs:
            # before any count is measured, so that counts come from the pairs
            for sum_ in summed.values():
                self.measure_pair(sum_)
            for one, values in spread.items():
                self._spreads.measure_pairs(one, values)
        return tuple(
            self._of_sum(one.function, summed[one])
            if one in summed
            else self._spreads.formula(one, spread[one])
            if one in spread
            else self._of_count(one)
            for one in measures
        )

    def place_of(self, quantity: Quantity) -> int | None:
        """Where something is measured, if it is."""
        return self._places.get(quantity)

    def measure(self, quantity: Quantity, most: int) -> int:
        """The place of a measurement that has a slot of its own."""
        if quantity not in self._places:
            self._add((Measurement(quantity, most),), most)
        return self._places[quantity]

    def _add(self, measurements: tuple[Measurement, ...], most: int) -> None:
        for one in measurements:
            self._places[one.quantity] = len(self._places)
        self._slots.append(Slot(measurements, most))

    def summed(self, measure: Measure, value: Scalar) -> Summand:
        """The value where the aggregate counts it; or the refusal of what nothing bounds."""
        columns = self._columns
        if measure.where is not None:
            columns = narrow_columns(measure.where, columns, bounds_of)
        found = bounds_of(value, columns).range
        if found is None:
            raise no_bound(value, columns, f"`{measure.function}`")
        require_known_lengths(value, found, columns, f"`{measure.function}`")
        return Summand(value, measure.where, found, lattice_of(found))

    def _of_count(self, measure: Measure) -> Formula:
        if measure.function == "regr_count":
            return self._spreads.counted(measure)
        quantity, most = self._counting(measure)
        if isinstance(quantity, Rows):
            return self.count(quantity)
        return Linear(((self.measure(quantity, most), _ONE),), Fraction(0))

    def _counting(self, measure: Measure) -> tuple[Quantity, int]:
        if measure.function != "count":
            raise UnsupportedSql(
                Code.NOT_ANSWERED_YET,
                f"`{measure.function}` is not supported here",
                "use COUNT, SUM, AVG, STDDEV or CORR",
            )
        if not measure.distinct:
            return count_rows(measure.arguments, measure.where), 1
        value = measure.arguments[0]
        if measure.counts_units:
            return Units(_where_present(value, measure.where)), 1
        return Different(value, measure.where), min(
            self._values, _most_different(value, self._values)
        )

    def count(self, rows: Rows) -> Linear:
        """A count of rows: from a pair where one was measured, else by itself."""
        if (known := self._counts.get(rows)) is None:
            place = self.measure(rows, 1)
            known = self._counts[rows] = Linear(((place, _ONE),), Fraction(0))
        return known

    def counted_by(self, rows: Rows, count: Linear) -> None:
        """Says by what rows are counted that are not measured themselves."""
        self._counts.setdefault(rows, count)

    def measure_pair(self, summed: Summand) -> Linear | None:
        """The distances from both ends: one row adds `width` to them together. Gives the count; None: no width."""
        width = summed.lattice.width
        if width == 0:
            return None
        low, high = summed.total(DistanceOrigin.LOW), summed.total(DistanceOrigin.HIGH)
        if low not in self._places:
            self._add((Measurement(low, width), Measurement(high, width)), width)
        both = tuple((self._places[one], Fraction(1, width)) for one in (low, high))
        self.counted_by(summed.counted, Linear(both, Fraction(0)))
        return Linear(both)

    def _of_sum(self, function: str, summed: Summand) -> Formula:
        """The sum is `origin * count + away`, the mean `origin + away / count`."""
        own = self.measure_pair(summed) if self.pairs else None
        count = self.count(summed.counted) if own is None else own
        found = self.away(summed)
        sum_ = Linear(_added(_times(count, found.origin), found.away.weights))
        if function == "avg":
            ends = (summed.range.low, summed.range.high)
            return Quotient(sum_, Linear(count.weights), *ends, found.origin)
        return sum_

    def away(self, summed: Summand) -> Distance:
        """The origin of the sum, and its distance from the origin times the count."""
        lattice = summed.lattice
        if lattice.width == 0:
            # all values are one: how many there are is all that can be told
            return Distance(lattice.low * lattice.step, Linear(()))
        if not self.pairs:
            place = self.measure(summed.total(DistanceOrigin.MIDDLE), lattice.reach)
            return Distance(lattice.middle * lattice.step, Linear(((place, lattice.step),)))
        low, high = (
            self._places[summed.total(one)] for one in (DistanceOrigin.LOW, DistanceOrigin.HIGH)
        )
        half = lattice.step / 2
        return Distance(half * (lattice.low + lattice.high), Linear(((low, half), (high, -half))))


def _sums(measure: Measure) -> bool:
    return measure.function in _MEANS and not measure.distinct and len(measure.arguments) == 1


def _where_present(value: Scalar, where: Scalar | None) -> Scalar | None:
    """A unit that is there only sometimes is counted where it is."""
    if isinstance(value, Ref) and value.field.tie is Tie.ALWAYS:
        return where
    return where_not_null(value, where)


def _most_different(value: Scalar, values: int) -> int:
    """How many different values there can be at all, where enforcing the domain sees to that."""
    if value.type.family is Family.BOOLEAN:
        return 2
    if isinstance(value, Literal):
        return 1
    domain = value.domain
    if isinstance(domain, Values):
        return domain.size
    enforced = isinstance(value, Ref) and value.type.family in {Family.WHOLE, Family.DATE}
    if enforced and isinstance(domain, Interval):
        # a step is declared, not enforced
        return int(domain.width) + 1
    return values


def _times(form: Linear, factor: Fraction) -> tuple[tuple[int, Fraction], ...]:
    return tuple((place, weight * factor) for place, weight in form.weights)


def _added(
    one: tuple[tuple[int, Fraction], ...], other: tuple[tuple[int, Fraction], ...]
) -> tuple[tuple[int, Fraction], ...]:
    weights: dict[int, Fraction] = {}
    for place, weight in (*one, *other):
        weights[place] = weights.get(place, Fraction(0)) + weight
    return tuple((place, weight) for place, weight in sorted(weights.items()) if weight)
