"""Rounding of results to ranges, for policies that report columns in ranges: post-processing of noisy values.

Ranges of width w lie around the multiples of w, from (k - 1/2)·w up to but excluding (k + 1/2)·w, and a result
is moved to the middle of its range, k·w: 0 stays 0, the rounding has no bias, and a sum of whole numbers is
whole. Dates are counted in days, times in seconds, both from 2001-01-01, a Monday.

An interval becomes all ranges it touches, after it was extended by a visible loss. A value computed from results lies between the ends that their ranges
give, if all of their intervals hold at once: the intervals of k results are made at 1 - 0.05/k, so that this is
so in 95 of 100 answers.

INVARIANT: if a result is reported in ranges, its cells are middles of ranges or ends of its domain, and the
ends of its intervals are ends of ranges.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import floor, inf, isfinite, sqrt
from typing import Final, TypeAlias

from gateway.catalog.domains import Bound, Interval
from gateway.catalog.types import ColumnType, Family
from gateway.columnar.intervals import Interval as CellInterval
from gateway.columnar.intervals import IntervalEnds
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.digits import round_outward
from gateway.intervals.visible_loss import VisibleLoss, form_loss
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import CONFIDENCE
from gateway.plan.aggregates import Measure
from gateway.plan.formulas import (
    AggregateRef,
    Arithmetic,
    AtLeast,
    Each,
    Form,
    NumberForm,
    Over,
    Plus,
    Root,
    Times,
    aggregate_places,
)
from gateway.results.value_texts import number_texts
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear, Quotient

Widths: TypeAlias = Sequence[Fraction | None]
Ends: TypeAlias = tuple[float, float]
Limits: TypeAlias = tuple[Bound | None, Bound | None]

NOWHERE: Final[Limits] = (None, None)
_FIRST: Final = datetime(2001, 1, 1)  # noqa: DTZ001 - times are local
_MICROSECOND: Final = timedelta(microseconds=1)
_HALF: Final = Fraction(1, 2)


def range_middle(value: Fraction, width: Fraction) -> Fraction:
    """The middle of the range that contains the value."""
    return _place(value, width) * width


def round_to_ranges(
    texts: Sequence[str | None], width: Fraction, of: ColumnType, ends: Limits = NOWHERE
) -> list[str | None]:
    """A column of results, each moved to the middle of its range, or to the end of the domain if the middle is
    beyond it.
    """
    match of.family:
        case Family.DATE:
            return [None if one is None else _date(one, width, ends) for one in texts]
        case Family.TIMESTAMP:
            return [None if one is None else _time(one, width, ends) for one in texts]
    there = [Fraction(one) for one in texts if one is not None]
    moved = iter(number_texts([_number(range_middle(one, width), ends) for one in there], of))
    return [None if one is None else next(moved) for one in texts]


def ends_of(formula: Formula, measure: Measure) -> Limits:
    """The ends of an aggregate's domain, as far as they are declared."""
    match formula:
        case Linear(_, least):
            return least, None
        case Quotient() | CurveFormula():
            return formula.low, formula.high
        case Chosen():
            domain = measure.arguments[0].domain if measure.arguments else None
            return (domain.low, domain.high) if isinstance(domain, Interval) else NOWHERE


class RoundedColumn:
    """The intervals of a release, extended by visible losses, with some aggregates reported in ranges."""

    def __init__(
        self,
        table: NoisyTable,
        formulas: tuple[Formula, ...],
        widths: Widths,
        losses: Sequence[VisibleLoss | None] = (),
    ) -> None:
        """`widths` and `losses` correspond to the formulas; without any, nothing is in ranges, or extended."""
        self._table = table
        self._formulas = formulas
        self._widths = dict(enumerate(widths))
        self._losses = losses
        self._as_they_are = Intervals(table, formulas)

    def column(self, form: Form) -> Sequence[CellInterval]:
        """The interval in each row, with the decimals that its margin leaves it; ends of ranges and choices stay."""
        found = self._column(form, whole_ranges)
        return round_outward(found) if isinstance(found, IntervalEnds) else found

    def expected(self, form: Form) -> Sequence[CellInterval]:
        """The interval in each row, if the place of the result in its range is not known."""
        return self._column(form, _any_place)

    def _column(
        self, form: Form, widened: Callable[[Ends, Fraction], Ends]
    ) -> Sequence[CellInterval]:
        if isinstance(form, Each):
            return self._as_they_are.column(form)
        places = sorted(set(aggregate_places(form)))
        chosen = any(isinstance(self._formulas[place], Chosen) for place in places)
        loss = form_loss(form, self._losses)
        if not chosen and not any(self._widths.get(place) for place in places):
            return _extended(self._as_they_are.column(form), loss)
        if chosen and len(places) > 1:
            # choices are drawn at 95 %: together with others, both would hold less often
            return [None] * len(self._table.keys)
        at_once = Intervals(self._table, self._formulas, 1 - (1 - CONFIDENCE) / len(places))
        columns = []
        for place in places:
            formula, width = self._formulas[place], self._widths.get(place)
            if isinstance(formula, Chosen):
                column = self._of_chosen(formula)
            else:
                # where the form is extended, each of its aggregates is: they are added up
                own = None if loss is None else self._losses[place]
                column = _extended(at_once.column(AggregateRef(place)), own)
            if width is not None:
                column = [None if one is None else widened(one, width) for one in column]
            columns.append(column)
        return [_between(form, dict(zip(places, row, strict=True))) for row in zip(*columns)]  # noqa: B905 - of one table

    def _of_chosen(self, formula: Chosen) -> Sequence[CellInterval]:
        """The interval between the drawn spans, which contains the answer; none if no span was drawn."""
        table = self._table
        drawn = [table.spans[place] for place in (formula.place, *formula.limits) if table.spans]
        if not any(drawn):
            return [None] * len(table.keys)
        found: list[CellInterval] = []
        rows = zip(table.chosen[formula.place], *filter(None, drawn), strict=True)
        for value, *spans in rows:
            low, high = max(one for one, _ in spans), min(other for _, other in spans)
            if isinstance(value, int | Fraction):
                low, high = min(low, value), max(high, value)
            found.append((_nearest(Fraction(low)), _nearest(Fraction(high))))
        return found


def _extended(column: Sequence[CellInterval], loss: VisibleLoss | None) -> Sequence[CellInterval]:
    return column if loss is None else loss.extended(IntervalEnds.of(column))


def whole_ranges(interval: Ends, width: Fraction) -> Ends:
    """All ranges that the interval touches."""
    low, high = (_place(Fraction(end), width) for end in interval)
    return _nearest((low - _HALF) * width), _nearest((high + _HALF) * width)


def _any_place(interval: Ends, width: Fraction) -> Ends:
    half = float(width / 2)
    return interval[0] - half, interval[1] + half


def _nearest(value: Fraction) -> float:
    """The nearest float; infinite, and so without an interval, beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _place(value: Fraction, width: Fraction) -> int:
    return floor(value / width + _HALF)


def _between(form: Arithmetic, measured: dict[int, CellInterval]) -> CellInterval:
    """The ends of the formula's value if each aggregate is within its interval."""
    ends = _of(form, measured)
    return ends if ends is not None and all(map(isfinite, ends)) else None


def _of(form: Arithmetic, measured: dict[int, CellInterval]) -> CellInterval:  # noqa: PLR0911 - one answer for each kind
    match form:
        case NumberForm(value):
            return float(value), float(value)
        case AggregateRef(place):
            return measured[place]
        case Root(of):
            return _mapped(_of(of, measured), lambda end: sqrt(max(end, 0)))
        case AtLeast(of, least):
            return _mapped(_of(of, measured), lambda end: max(end, float(least)))
        case Plus(left, right):
            one, other = _of(left, measured), _of(right, measured)
            if one is None or other is None:
                return None
            return one[0] + other[0], one[1] + other[1]
        case Times(left, right):
            return _product(_of(left, measured), _of(right, measured))
        case Over(above, below):
            under = _of(below, measured)
            if under is None or under[0] <= 0 <= under[1]:
                return None
            return _product(_of(above, measured), (1 / under[1], 1 / under[0]))


def _mapped(ends: CellInterval, growing: Callable[[float], float]) -> CellInterval:
    return None if ends is None else (growing(ends[0]), growing(ends[1]))


def _product(one: CellInterval, other: CellInterval) -> CellInterval:
    if one is None or other is None:
        return None
    products = [left * right for left in one for right in other]
    return min(products), max(products)


def _number(value: Fraction, ends: Limits) -> Fraction:
    low, high = (Fraction(one) if isinstance(one, int | Fraction) else None for one in ends)
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _date(text: str, width: Fraction, ends: Limits) -> str:
    days = (date.fromisoformat(text) - _FIRST.date()).days
    found = _moved(floor(range_middle(Fraction(days), width)), timedelta(days=1)).date()
    low, high = (one if type(one) is date else None for one in ends)
    found = found if low is None else max(found, low)
    return (found if high is None else min(found, high)).isoformat()


def _time(text: str, width: Fraction, ends: Limits) -> str:
    """The time in the zone in which it is written, if there is one."""
    read = datetime.fromisoformat(text)
    seconds = Fraction((read.replace(tzinfo=None) - _FIRST) // _MICROSECOND, 1_000_000)
    found = _moved(floor(range_middle(seconds, width) * 1_000_000), _MICROSECOND)
    found = found.replace(tzinfo=read.tzinfo)
    low, high = (one if isinstance(one, datetime) else None for one in ends)
    found = found if low is None else max(found, low)
    return (found if high is None else min(found, high)).isoformat(sep=" ")


def _moved(count: int, unit: timedelta) -> datetime:
    """The moment, kept within the calendar."""
    try:
        return _FIRST + count * unit
    except OverflowError:
        return datetime.max if count > 0 else datetime.min  # noqa: DTZ901 - see above
