"""From aggregates to what is measured for them, and to the formulas that give them back.

What two aggregates need both is measured once. In the pure currency a sum over a domain is measured from both
of its ends, as one slot: the count comes free. In zCDP it is measured around the middle, with the count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import Family
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Measure
from gateway.plan.fields import Tie
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.plan.types import BOOLEAN
from gateway.sensitivity.bounds import Bounds, Range
from gateway.sensitivity.expressions import bounds_of
from gateway.sensitivity.formula import Formula, Linear, Quotient
from gateway.sensitivity.lattice import Lattice, lattice_of
from gateway.sensitivity.measurement import (
    Different,
    Measurement,
    Origin,
    Quantity,
    Rows,
    Slot,
    Total,
    Units,
)
from gateway.sensitivity.narrowed import narrowed_by
from gateway.sensitivity.unbounded import no_bound

_ONE = Fraction(1)
_MEANS = frozenset({"sum", "avg"})


@dataclass(frozen=True, slots=True)
class Summed:
    """A value that is summed: where, within which ends, and on which lattice."""

    value: Scalar
    where: Scalar | None
    range: Range
    lattice: Lattice

    @property
    def counted(self) -> Rows:
        """The rows that its count counts."""
        return counted_rows((self.value,), self.where)

    def total(self, origin: Origin) -> Total:
        return Total(self.value, self.lattice, origin, self.where)


class Measuring:
    """Collects slots, each once. `rows` is R; `pairs` says that noise is Laplace's."""

    def __init__(self, columns: Mapping[str, Bounds], rows: int, *, pairs: bool) -> None:
        self._columns = columns
        self._rows = rows
        self._pairs = pairs
        self._slots: list[Slot] = []
        self._places: dict[Quantity, int] = {}
        self._counts: dict[Rows, Linear] = {}

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(self._slots)

    def formulas(self, measures: Sequence[Measure]) -> tuple[Formula, ...]:
        """One formula for each aggregate, in their order."""
        summed = {place: self._summed(one) for place, one in enumerate(measures) if _sums(one)}
        if self._pairs:
            # before any count is measured, so that counts come from the pairs
            for one in summed.values():
                self._measure_pair(one)
        return tuple(
            self._of_sum(each.function, summed[place]) if place in summed else self._of_count(each)
            for place, each in enumerate(measures)
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

    def _summed(self, measure: Measure) -> Summed:
        value = measure.arguments[0]
        columns = self._columns
        if measure.where is not None:
            columns = narrowed_by(measure.where, columns, bounds_of)
        found = bounds_of(value, columns).range
        if found is None:
            raise no_bound(value, columns, f"`{measure.function}`")
        return Summed(value, measure.where, found, lattice_of(found, self._rows))

    def _of_count(self, measure: Measure) -> Formula:
        quantity, most = self._counting(measure)
        if isinstance(quantity, Rows):
            return self._count(quantity)
        return Linear(((self.measure(quantity, most), _ONE),), Fraction(0))

    def _counting(self, measure: Measure) -> tuple[Quantity, int]:
        if measure.function != "count":
            raise UnsupportedSql(
                Code.NOT_ANSWERED_YET, f"`{measure.function}`", "use COUNT, SUM or AVG"
            )
        if not measure.distinct:
            return counted_rows(measure.arguments, measure.where), self._rows
        value = measure.arguments[0]
        if measure.counts_units:
            return Units(_where_present(value, measure.where)), 1
        return Different(value, measure.where), min(self._rows, _most_different(value, self._rows))

    def _count(self, rows: Rows) -> Linear:
        """A count of rows: from a pair where one was measured, else by itself."""
        if (known := self._counts.get(rows)) is None:
            place = self.measure(rows, self._rows)
            known = self._counts[rows] = Linear(((place, _ONE),), Fraction(0))
        return known

    def _measure_pair(self, summed: Summed) -> None:
        """The distances from both ends: one row adds `width` to them together."""
        width = summed.lattice.width
        low, high = summed.total(Origin.LOW), summed.total(Origin.HIGH)
        if width == 0 or low in self._places:
            return
        most = self._rows * width
        self._add((Measurement(low, most), Measurement(high, most)), most)
        both = tuple((self._places[one], Fraction(1, width)) for one in (low, high))
        self._counts.setdefault(summed.counted, Linear(both, Fraction(0)))

    def _of_sum(self, function: str, summed: Summed) -> Formula:
        """The sum is `middle * count + away`, the mean `middle + away / count`."""
        if summed.lattice.width == 0:
            middle, count, away = self._constant(summed)
        elif self._pairs:
            middle, count, away = self._from_pair(summed)
        else:
            middle, count, away = self._around_middle(summed)
        sum_ = Linear(_added(_times(count, middle), away.weights))
        if function == "avg":
            ends = (summed.range.low, summed.range.high)
            return Quotient(sum_, Linear(count.weights), *ends, middle)
        return sum_

    def _constant(self, summed: Summed) -> tuple[Fraction, Linear, Linear]:
        """All values are one: how many there are is all that can be told."""
        return summed.lattice.low * summed.lattice.step, self._count(summed.counted), Linear(())

    def _from_pair(self, summed: Summed) -> tuple[Fraction, Linear, Linear]:
        lattice = summed.lattice
        low = self._places[summed.total(Origin.LOW)]
        high = self._places[summed.total(Origin.HIGH)]
        count = Linear(((low, Fraction(1, lattice.width)), (high, Fraction(1, lattice.width))))
        half = lattice.step / 2
        away = Linear(((low, half), (high, -half)))
        return half * (lattice.low + lattice.high), count, away

    def _around_middle(self, summed: Summed) -> tuple[Fraction, Linear, Linear]:
        lattice = summed.lattice
        count = self._count(summed.counted)
        place = self.measure(summed.total(Origin.MIDDLE), self._rows * lattice.reach)
        return lattice.middle * lattice.step, count, Linear(((place, lattice.step),))


def _sums(measure: Measure) -> bool:
    return measure.function in _MEANS and not measure.distinct and len(measure.arguments) == 1


def counted_rows(arguments: tuple[Scalar, ...], where: Scalar | None) -> Rows:
    """COUNT(x) counts the rows where x is there: all of them where it always is."""
    return Rows(tuple(one for one in arguments if one.nullable), where)


def _where_present(value: Scalar, where: Scalar | None) -> Scalar | None:
    """A unit that is there only sometimes is counted where it is."""
    if isinstance(value, Ref) and value.field.tie is Tie.ALWAYS:
        return where
    present = Call("is not null", (value,), BOOLEAN, nullable=False)
    return present if where is None else Call("and", (where, present), BOOLEAN)


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
