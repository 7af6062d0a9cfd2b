"""Cell intervals: 95 % intervals of an answer's cells, from noisy integers and the noise they got.

This is post-processing of released values. An interval contains the value without noise; it does not cover the
effect of weights, which `visible_loss.py` adds as far as it is known, or of clamped values. It is computed before a cell is moved into its domain.

One noise alone gives its own exact quantile. Several are added by their variances, with a correction for their
tails. A product or a quotient is replaced by its tangent plane at the released values. For a quotient a/b the
plane is close only if b is away from 0. Let t be b's own margin divided by b. The r for which |a - r·b| is
within its margin (the set of Fieller, 1954) end about a/b ± margin/(1 - t²), so that is the interval; for t ≥
1, b may be 0, every r is consistent with the released values, and there is no interval. Without this
correction, percentages of very small groups missed the value in 7 of 100 answers instead of 5.

The promise: of 100 answers at most 5 have an interval that does not contain the value. The few intervals over a
count that is nothing but noise may miss more often. All rows are computed at once, in floats. A row with a
number that is not finite has no interval.

docs/proofs/answers.md has the argument; tests/privacy/test_interval_coverage.py tries to disprove it.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, nan
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.columnar.intervals import Interval, IntervalEnds
from gateway.intervals.exact_formulas import Wholes, common_denominator, evaluate_linear
from gateway.intervals.margins import (
    DualNumber,
    Floats,
    Widths,
    add_duals,
    clamp_dual,
    divide_duals,
    multiply_duals,
    root_dual,
)
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import CONFIDENCE
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
)
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear

_ZERO: Final = np.float64(0)

Scalar = TypeVar("Scalar", np.float64, np.bool_)
Parts: TypeAlias = "tuple[Linear, ...] | None"


class Intervals:
    """Computes the intervals of one release, for all of its rows at once."""

    def __init__(
        self,
        table: NoisyTable,
        formulas: tuple[Formula, ...],
        confidence: Fraction = CONFIDENCE,
    ) -> None:
        self._table = table
        self._formulas = formulas
        self._rows = len(table.keys)
        self._widths = Widths(table.noises, confidence)
        self._linear: dict[Linear, DualNumber] = {}
        self._columns: dict[Form, IntervalEnds] = {}

    def interval(self, form: Form, row: int) -> Interval:
        """The ends of the interval; None if the error cannot be bounded, such as near a zero denominator."""
        return self.column(form)[row]

    def column(self, form: Form) -> Sequence[Interval]:
        """The interval in each row."""
        found = self._columns.get(form)
        if found is None:
            found = self._columns[form] = self._column(form)
        return found

    def _column(self, form: Form) -> IntervalEnds:
        if isinstance(form, Each):
            return IntervalEnds.none(self._rows)
        with np.errstate(all="ignore"):  # what is not finite has no interval
            estimated, is_root = self._rooted(form)
            half = self._half(estimated)
            low, high = estimated.value - half, estimated.value + half
            there = estimated.there & np.isfinite(low) & np.isfinite(high)
            if is_root:
                there &= high > 0
                low, high = (np.sqrt(np.maximum(end, 0)) for end in (low, high))
        rows = self._rows
        return IntervalEnds(_in_rows(low, rows), _in_rows(high, rows), _in_rows(there, rows))

    def _half(self, of: DualNumber) -> Floats:
        return self._widths.half(of.slopes) + of.beyond

    def _of(  # noqa: PLR0911 - one answer for each kind
        self, form: Arithmetic, parts: Parts = None
    ) -> DualNumber:
        match form:
            case NumberForm(value):
                number = np.float64(_nearest(value.numerator, value.denominator))
                return DualNumber(number, {}, np.isfinite(number))
            case AggregateRef(place):
                if parts is not None:
                    return self._of_linear(parts[place])
                return self._of_formula(self._formulas[place])
            case Plus(left, right):
                return add_duals(self._of(left, parts), self._of(right, parts))
            case Times(left, right):
                one, other = self._of(left, parts), self._of(right, parts)
                both = _ZERO if parts is None else self._half(one) * self._half(other)
                return multiply_duals(one, other, both)
            case Over(above, below):
                under = self._of(below, parts)
                return divide_duals(self._of(above, parts), under, self._half(under))
            case Root(of):
                inner = self._of(of, parts)
                return root_dual(inner, self._half(inner))
            case AtLeast(of, least):
                inner = self._of(of, parts)
                half = _ZERO if parts is None else self._half(inner)
                return clamp_dual(inner, _nearest(least.numerator, least.denominator), half)

    def _of_formula(self, formula: Formula) -> DualNumber:
        if isinstance(formula, Linear):
            return self._of_linear(formula)
        if isinstance(formula, Chosen):
            # its error is in ranks, not in values
            return DualNumber(np.float64(nan), {}, np.False_)
        if isinstance(formula, CurveFormula):
            return self._of_curved(formula, formula.form)
        below = self._of_linear(formula.below)
        mean = divide_duals(self._of_linear(formula.above), below, self._half(below))
        return replace(mean, there=mean.there & (below.value >= 1))  # not divided by an empty group

    def _of_curved(self, curved: CurveFormula, form: Arithmetic) -> DualNumber:
        """A value that so few rows do not determine has no interval."""
        made, count = self._of(form, curved.parts), self._of_linear(curved.parts[0])
        return replace(made, there=made.there & (count.value >= curved.rows))

    def _rooted(self, form: Arithmetic) -> tuple[DualNumber, bool]:
        """The interval of a square root: the roots of the ends below it."""
        if isinstance(form, Root):
            return self._of(form.of), True
        formula = self._formulas[form.place] if isinstance(form, AggregateRef) else None
        if isinstance(formula, CurveFormula) and isinstance(formula.form, Root):
            return self._of_curved(formula, formula.form.of), True
        return self._of(form), False

    def _of_linear(self, linear: Linear) -> DualNumber:
        found = self._linear.get(linear)
        if found is None:
            under = common_denominator(linear)
            value = _floats(evaluate_linear(self._table.measured, self._rows, linear, under), under)
            slopes: dict[int, Floats] = {}
            for place, weight in linear.weights:
                slope = np.float64(_nearest(weight.numerator, weight.denominator))
                slopes[place] = slopes.get(place, _ZERO) + slope
            found = self._linear[linear] = DualNumber(value, slopes, np.isfinite(value))
        return found


def _in_rows(one: "NDArray[Scalar] | Scalar", rows: int) -> NDArray[Scalar]:
    """The column of a number that may be the same in all rows."""
    if isinstance(one, np.ndarray) and one.shape == (rows,):
        return one
    return np.broadcast_to(one, rows)


def _floats(above: Wholes, below: int) -> Floats:
    """The nearest floats; infinite beyond the range of floats."""
    try:
        return np.array(above, dtype=np.float64) / below
    except OverflowError:
        return np.array([_nearest(one, below) for one in above])


def _nearest(above: int, below: int) -> float:
    try:
        return above / below
    except OverflowError:
        return inf if above > 0 else -inf
