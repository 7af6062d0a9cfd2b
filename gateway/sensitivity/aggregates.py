"""From aggregates to what is measured for them, and to the formulas that give them back.

What two aggregates need both is measured once. In the pure currency a sum over a domain is measured from both
of its ends, as one slot: the count comes free. In zCDP it is measured around the middle, with the count.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import Family
from gateway.errors import Code, UnsupportedSql
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure
from gateway.plan.fields import Tie
from gateway.plan.scalars import Literal, Ref, Scalar
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.sensitivity.formulas import SPREADS, Formula, Linear, Quotient
from gateway.sensitivity.lattice import lattice_of
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Measurement,
    Quantity,
    Rows,
    Slot,
    Units,
)
from gateway.sensitivity.require_bounds import no_bound
from gateway.sensitivity.spread_aggregates import Spreads
from gateway.sensitivity.summands import Distance, Summand, count_rows, where_not_null

_ONE = Fraction(1)
_MEANS = frozenset({"sum", "avg"})


class MeasurementBuilder:
    """Collects slots, each once. `rows` is R; `pairs` says that noise is Laplace's."""

    def __init__(self, columns: Mapping[str, Bounds], rows: int, *, pairs: bool) -> None:
        self._columns = columns
        self.rows = rows
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
        return Summand(value, measure.where, found, lattice_of(found, self.rows))

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
            return count_rows(measure.arguments, measure.where), self.rows
        value = measure.arguments[0]
        if measure.counts_units:
            return Units(_where_present(value, measure.where)), 1
        return Different(value, measure.where), min(self.rows, _most_different(value, self.rows))

    def count(self, rows: Rows) -> Linear:
        """A count of rows: from a pair where one was measured, else by itself."""
        if (known := self._counts.get(rows)) is None:
            place = self.measure(rows, self.rows)
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
            most = self.rows * width
            self._add((Measurement(low, most), Measurement(high, most)), most)
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
        """From where the sum is told, and how far it is from there times the count."""
        lattice = summed.lattice
        if lattice.width == 0:
            # all values are one: how many there are is all that can be told
            return Distance(lattice.low * lattice.step, Linear(()))
        if not self.pairs:
            place = self.measure(summed.total(DistanceOrigin.MIDDLE), self.rows * lattice.reach)
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


def _most_different(value: Scalar, rows: int) -> int:
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
    return rows


def _times(form: Linear, factor: Fraction) -> tuple[tuple[int, Fraction], ...]:
    return tuple((place, weight * factor) for place, weight in form.weights)


def _added(
    one: tuple[tuple[int, Fraction], ...], other: tuple[tuple[int, Fraction], ...]
) -> tuple[tuple[int, Fraction], ...]:
    weights: dict[int, Fraction] = {}
    for place, weight in (*one, *other):
        weights[place] = weights.get(place, Fraction(0)) + weight
    return tuple((place, weight) for place, weight in sorted(weights.items()) if weight)
