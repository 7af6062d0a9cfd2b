"""Expected error of a cell before a release: from its formula and the noise alone.

The error of a sum of counts, sums and numbers does not depend on the data. That of a mean does: the fewer rows
a group has, the larger it is. Let C be the rows of a group, at least n of them, A the sum of their values, N(A)
and N(C) the noise of both, and r = A/C the mean, between the ends of its domain. The released value is (A +
N(A)) / (C + N(C)), and it is at most t off r when |N(A) - r·N(C)| ≤ t·(C + N(C)): when both

N(A) - (r + t)·N(C) ≤ t·C    and    N(A) - (r - t)·N(C) ≥ -t·C.

So this holds, with the confidence, when for both ends v of [low - t, high + t] the half-width of N(A) - v·N(C)
is at most t·n. (Where both hold, C + N(C) is not below 0.) The error of a sum of such values is at most the sum
of their errors, each at a confidence that leaves its part of the misses.

INVARIANT: this module sees no measured integer. docs/proofs/answers.md has the argument.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Final, TypeAlias, TypeVar

import numpy as np

from gateway.intervals.margins import Widths, exact_margin
from gateway.noise.combined_noise import AnyNoise
from gateway.noise.drawn_choices import PricedChoice
from gateway.noise.quantile import rank_error, rank_from_end
from gateway.plan.formulas import (
    AggregateRef,
    AtLeast,
    Each,
    Form,
    NumberForm,
    Over,
    Plus,
    Root,
    Times,
)
from gateway.sensitivity.choices import Chosen, Frequent, QuantileLevel
from gateway.sensitivity.formulas import Formula, Linear, Quotient

Ranges: TypeAlias = Sequence[Fraction | None]
_Of = TypeVar("_Of")
_CLOSE: Final = 1e-9
_STEPS: Final = 2  # above so many steps of the coarsest noise, the steps are small beside it
_LONGEST: Final = 200  # steps of the search for a mean's margin


@dataclass(frozen=True, slots=True)
class Error:
    """The error of a cell: a weighted sum of noises and of errors of means. `slopes` are by the place of a
    noise.

    `beyond` is added whatever is drawn, for example when results are reported in ranges; `known` is the cell's
    value if it has no noise. For a cell that is a choice, `choice` is its place, and the error is in ranks.
    """

    slopes: tuple[tuple[int, Fraction], ...] = ()
    means: tuple[tuple[Quotient, Fraction], ...] = ()
    beyond: Fraction = Fraction(0)
    known: Fraction | None = None
    choice: int | None = None


@dataclass(frozen=True)
class ExpectedDual:
    """Margins over the noises and choices of one grouping set, before it is released.

    Each group has at least `rows` rows, for means.
    """

    noises: Sequence[AnyNoise]
    choices: Sequence[PricedChoice]
    confidence: Fraction
    rows: int | None
    margin: Callable[[AnyNoise, Fraction], int] = exact_margin
    _widths: dict[int, Widths] = field(default_factory=dict)

    def within(self, error: Error, target: Fraction) -> bool:
        """True if a cell is within `target` of the value without noise, with the confidence."""
        if error.choice is None and not error.slopes and len(error.means) == 1:
            [(mean, weight)] = error.means
            t = _nearest((target - error.beyond) / abs(weight))
            return self._reach(mean, t, 1) <= t
        return self.margin_of(error) <= target

    def margin_of(self, error: Error) -> float:
        """The least target for which `within` is true; infinite if there is none."""
        if error.choice is not None:
            return self._ranks(self.choices[error.choice])
        parts = bool(error.slopes) + len(error.means)
        reach = _nearest(error.beyond) + self._half(_floats(error.slopes), parts)
        for mean, weight in error.means:
            reach += abs(_nearest(weight)) * self._of_mean(mean, parts)
        return reach

    def _half(self, slopes: Mapping[int, np.float64], parts: int) -> float:
        """The half-width of the noises together; or separately, each with its part of the misses, if they span
        few steps.
        """
        if not slopes:
            return 0.0
        with np.errstate(all="ignore"):  # what is not finite is no margin
            half = float(self._at(parts).half(slopes))
            if len(slopes) == 1 or half > _STEPS * max(map(abs, slopes.values())):
                return half
            each = self._at(parts * len(slopes))
            apart = sum(float(each.half({place: slope})) for place, slope in slopes.items())
        return min(half, apart)

    def _at(self, parts: int) -> Widths:
        found = self._widths.get(parts)
        if found is None:
            confidence = 1 - (1 - self.confidence) / parts
            found = self._widths[parts] = Widths(self.noises, confidence, self.margin)
        return found

    def _ranks(self, bought: PricedChoice) -> float:
        """The rank error of a choice; of several from one histogram, the one that all of them keep.

        The aim for the smallest and the largest value is a little inside; that distance is included.
        """
        histogram, selection = bought.choice.histogram, bought.selection
        many, whole = histogram.candidates, bought.choice.whole
        together = sum(one.choice.histogram == histogram for one in self.choices)
        limit = (1 - self.confidence) / together
        match bought.choice.sought:
            case Frequent():
                parts = Fraction(max(selection.shortfall(many, limit) - 1, 0))
            case QuantileLevel():
                parts = Fraction(rank_error(bought.question, many, limit))
            case _:
                parts = rank_from_end(selection, many) + rank_error(bought.question, many, limit)
        return float(parts / whole)

    def _of_mean(self, mean: Quotient, parts: int) -> float:
        """The least t for which it holds, searched from below."""
        t = 0.0
        for _ in range(_LONGEST):
            reached = self._reach(mean, t, parts)
            if reached <= t:
                return t
            t = reached * (1 + _CLOSE)
        return inf

    def _reach(self, mean: Quotient, t: float, parts: int) -> float:
        if not self.rows:
            return inf
        ends = (_nearest(mean.low) - t, _nearest(mean.high) + t)
        return max(self._half(_less(mean, end), parts) for end in ends) / self.rows


def error_of(  # noqa: PLR0911 - one answer for each kind
    form: Form, formulas: Sequence[Formula], ranges: Ranges = ()
) -> Error | None:
    """The error; None if it depends on the released values. `ranges` correspond to the formulas, or are empty."""
    match form:
        case NumberForm(value):
            return Error(known=value)
        case AggregateRef(place):
            return _of_formula(formulas[place], ranges[place] if ranges else None)
        case Root() | Each():
            return None
        case AtLeast(of, least):
            # the maximum of a number and a constant is never farther off than the number
            found = error_of(of, formulas, ranges)
            if found is None or found.known is None:
                return found
            return Error(known=max(found.known, least))
    left, right = _of_both(form, formulas, ranges)
    if left is None or right is None or left.choice is not None or right.choice is not None:
        return None
    return _COMBINED[type(form)](left, right)


def _of_both(
    form: Plus | Times | Over, formulas: Sequence[Formula], ranges: Ranges
) -> tuple[Error | None, Error | None]:
    match form:
        case Plus(one, other) | Times(one, other) | Over(one, other):
            return error_of(one, formulas, ranges), error_of(other, formulas, ranges)


def _of_formula(formula: Formula, width: Fraction | None) -> Error | None:
    beyond = Fraction(0) if width is None else width / 2
    match formula:
        case Linear(weights):
            return Error(_gathered(weights), beyond=beyond)
        case Quotient():
            return Error(means=((formula, Fraction(1)),), beyond=beyond)
        case Chosen(place):
            return Error(choice=place)
        case _:
            return None


def _plus(left: Error, right: Error) -> Error:
    if left.known is not None and right.known is not None:
        return Error(known=left.known + right.known)
    return Error(
        _gathered(left.slopes + right.slopes),
        _gathered(left.means + right.means),
        left.beyond + right.beyond,
    )


def _times(left: Error, right: Error) -> Error | None:
    if right.known is not None:
        return _scaled(left, right.known)
    return None if left.known is None else _scaled(right, left.known)


def _over(above: Error, below: Error) -> Error | None:
    return _scaled(above, 1 / below.known) if below.known else None


def _scaled(error: Error, by: Fraction) -> Error:
    if error.known is not None:
        return Error(known=error.known * by)
    return Error(
        _gathered((place, weight * by) for place, weight in error.slopes),
        _gathered((mean, weight * by) for mean, weight in error.means),
        error.beyond * abs(by),
    )


_COMBINED: Final[Mapping[type, Callable[[Error, Error], Error | None]]] = {
    Plus: _plus,
    Times: _times,
    Over: _over,
}


def _gathered(weights: Iterable[tuple[_Of, Fraction]]) -> tuple[tuple[_Of, Fraction], ...]:
    found: dict[_Of, Fraction] = {}
    for of, weight in weights:
        found[of] = found.get(of, Fraction(0)) + weight
    return tuple((of, weight) for of, weight in found.items() if weight)


def _less(mean: Quotient, end: float) -> Mapping[int, np.float64]:
    """The effect of the noises on the sum, minus `end` for each counted row."""
    slopes = dict(_floats(mean.above.weights))
    for place, weight in _floats(mean.below.weights).items():
        slopes[place] = slopes.get(place, np.float64(0)) - end * weight
    return slopes


def _floats(weights: Iterable[tuple[int, Fraction]]) -> dict[int, np.float64]:
    found: dict[int, np.float64] = {}
    for place, weight in weights:
        found[place] = found.get(place, np.float64(0)) + np.float64(_nearest(weight))
    return found


def _nearest(value: Fraction) -> float:
    """The nearest float; infinite beyond the range of floats, and then nothing is promised."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
