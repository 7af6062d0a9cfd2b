"""Column metadata and cell intervals of an answer: whether a column is noisy, how much, and its widest margin."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.binding.bound import Bound, Cut, ResultColumn, TracedSql
from gateway.columnar.intervals import Floats, IntervalEnds, IntervalRows
from gateway.columnar.texts import Row, TextRows, Texts
from gateway.noise.combined_noise import AnyNoise, CombinedNoise
from gateway.noise.convolution import SummedNoise
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import DiscreteLaplace
from gateway.plan.fields import NUMBERS
from gateway.plan.formulas import AggregateRef, Form
from gateway.policy.rounding import range_notices
from gateway.requests.request import AnswerColumn
from gateway.results.rollup import NoisyRelease, PricedRelease, weighted_totals
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import CurveFormula, Linear
from gateway.sensitivity.grouping_sets import AnalyzedRelease, GroupingSet

Noisy = Mapping[str, NoisyRelease]
Places: TypeAlias = NDArray[np.int64]
_CHOSEN: Final = "exponential"


def answer_columns(bound: Bound, noisy: Noisy) -> tuple[AnswerColumn, ...]:
    """The columns of the answer. Names and types are PostgreSQL's; if provenance is unknown, every column
    counts as noisy.
    """
    result = bound.result or ()
    if not isinstance(bound, Cut) or not noisy:
        return tuple(AnswerColumn(one.name, one.type_name, noisy=False) for one in result)
    mechanism = _name(next(iter(noisy.values())).priced)
    if bound.traced is None:
        touched = [True] * len(result) if bound.again is None else map(bool, bound.again.reads)
        return tuple(
            AnswerColumn(
                one.name, one.type_name, noisy=noise, mechanism=mechanism if noise else None
            )
            for one, noise in zip(result, touched, strict=True)
        )
    return tuple(_column(one, place, bound.traced, noisy) for place, one in enumerate(result))


def _column(column: ResultColumn, place: int, traced: TracedSql, noisy: Noisy) -> AnswerColumn:
    """A column with cells from several releases: their common properties, and the widest error."""
    cells = [one for one in traced.readings if one.forms[place] is not None] or [traced.cells]
    touched = traced.cells.noisy[place]
    told = [(one.forms[place], noisy[one.name].priced) for one in cells]
    scales = {_scale(form, priced) for form, priced in told}
    errors = [missed for form, priced in told if (missed := priced.rank_error(form)) is not None]
    return AnswerColumn(
        column.name,
        column.type_name,
        noisy=touched,
        mechanism=_mechanism(*told[-1]) if touched else None,
        scale=scales.pop() if len(scales) == 1 else None,
        rank_error=max(errors, default=None),
    )


def answer_intervals(cut: Cut, rows: Sequence[Row], noisy: Noisy) -> IntervalRows:
    """95 % intervals, shaped like the rows; None where a cell has none."""
    width = len(cut.result or ()) if cut.traced is None else len(cut.traced.cells.forms)
    if cut.traced is None or not (width and rows):
        return IntervalRows((None,) * width, len(rows))
    columns = TextRows.of(rows).columns
    formed: list[IntervalEnds | None] = [None] * width
    for cells, numbers in zip(cut.traced.readings, columns[width:], strict=True):
        forms = list(dict.fromkeys(one for one in cells.forms if one is not None))
        intervals = dict(zip(forms, noisy[cells.name].intervals(*forms), strict=True))
        places = _places(numbers)
        for at, form in enumerate(cells.forms):
            if form is not None:
                own = _of_column(IntervalEnds.of(intervals[form]), places, columns[at])
                before = formed[at]  # a row comes from one of two releases
                formed[at] = own if before is None else own.filled(before)
    return IntervalRows(formed, len(rows))


@dataclass(frozen=True, slots=True)
class ColumnMargin:
    """How far off the cells of a noisy column may be: the largest distance to an end of their 95 % intervals, also where
    these are extended by what weights take, or the rows by which a choice misses its aim; neither, where only the rows of the answer could tell.
    """

    name: str
    margin: float | None
    rank_error: int | None


def widest_margins(
    cut: Cut, noisy: Noisy, small: Mapping[str, frozenset[int]]
) -> tuple[ColumnMargin, ...]:
    """The margins of the noisy columns, over all groups of their releases, except those in `small`, which are blank.

    HAVING and LIMIT are not applied yet, so a margin may be that of a group that is not shown. Columns of interval ends,
    and those of releases without a group, have no margin to speak of and are left out.
    """
    widest: dict[int, float] = {}
    silent = {place for place, _ in enumerate(cut.result or ()) if _is_end(cut, place)}
    for cells in () if cut.traced is None else cut.traced.readings:
        release = noisy[cells.name]
        shown = np.ones(release.rows, dtype=np.bool_)
        shown[list(small.get(cells.name, ()))] = False
        forms = list(dict.fromkeys(one for one in cells.forms if one is not None))
        found = dict(zip(forms, release.intervals(*forms), strict=True))
        halves = {
            form: _widest(release, form, IntervalEnds.of(one).where(shown))
            for form, one in found.items()
        }
        for place, form in enumerate(cells.forms):
            half = None if form is None else halves[form]
            if half is not None:
                widest[place] = max(half, widest.get(place, 0.0))
            elif form is not None and not release.rows:
                silent.add(place)
    return tuple(
        ColumnMargin(column.name, widest.get(place), column.rank_error)
        for place, column in enumerate(answer_columns(cut, noisy))
        if column.noisy and (place in widest or place not in silent)
    )


def _is_end(cut: Cut, place: int) -> bool:
    """Whether a column consists of ends of intervals."""
    reads = frozenset() if cut.again is None else cut.again.reads[place]
    return bool(reads) and all(one.release and one.place is None for one in reads)


def _widest(release: NoisyRelease, form: Form, column: IntervalEnds) -> float | None:
    """Half of the widest interval; of one that need not be even, the largest distance from a value to an end."""
    reach = (column.high - column.low) / 2
    there = column.there
    values = _leaning_values(release, form)
    if values is None and release.priced.loss(form) is not None:
        [even] = weighted_totals(release).intervals(form)
        values = IntervalEnds.of(even).middles
    if values is not None:
        reach = np.maximum(values - column.low, column.high - values)
        there = there & np.isfinite(values)
    return float(np.max(reach[there])) if there.any() else None


def _leaning_values(release: NoisyRelease, form: Form) -> Floats | None:
    """The values of a choice or a deviation, whose intervals lean to one side; None for others."""
    rolled = release.priced.rolled
    if not isinstance(form, AggregateRef) or any(rolled.ranges[form.place : form.place + 1]):
        return None
    formulas = [level.formulas[form.place] for level in rolled.levels]
    _, measure = rolled.plan.measures[form.place]
    leans = any(isinstance(one, Chosen | CurveFormula) for one in formulas)
    if not leans or measure.type.family not in NUMBERS:
        return None
    texts = (
        text for one in release.levels for text in one.texts(form.place, measure.type, clamp=True)
    )
    found = (nan if text is None else float(text) for text in texts)
    return np.fromiter(found, dtype=np.float64, count=release.rows)


def in_ranges(releases: Iterable[AnalyzedRelease]) -> tuple[str, ...]:
    """Notices about results that the policy reports in ranges."""
    return tuple(line for one in releases for line in range_notices(one.plan, one.ranges))


def _places(numbers: Texts) -> Places | None:
    """The release row of each answer row, -1 if it has none; None if they correspond one to one."""
    counted = map(str, range(len(numbers)))
    if all(part == list(islice(counted, len(part))) for part in numbers.parts()):
        return None
    found = (-1 if number is None else int(number) for number in numbers)
    return np.fromiter(found, dtype=np.int64, count=len(numbers))


def _of_column(column: IntervalEnds, places: Places | None, cells: Texts) -> IntervalEnds:
    """The intervals of a column, by the release rows behind the answer's rows; NULL has no interval."""
    if places is None:
        found = column if len(column) == len(cells) else column.part(slice(len(cells)))
    else:
        found = column.taken(places, places >= 0)
    if not cells.has_missing:  # by far the most
        return found
    there = (one is not None for one in cells)
    return found.where(np.fromiter(there, dtype=np.bool_, count=len(cells)))


def _scale(form: Form | None, release: PricedRelease) -> float | None:
    """The noise parameter, if the column is one measurement as it is, with the same noise in all rows."""
    if not isinstance(form, AggregateRef):
        return None
    scales = {_scale_in(level, form.place, release) for level in release.rolled.levels}
    return scales.pop() if len(scales) == 1 else None


def _scale_in(level: GroupingSet, measure: int, release: PricedRelease) -> float | None:
    formula = level.formulas[measure]
    if not isinstance(formula, Linear) or len(formula.weights) != 1:
        return None
    [(place, weight)] = formula.weights
    noise = release.noises(level)[place]
    if isinstance(noise, SummedNoise | CombinedNoise | FittedNoise):
        # a sum of several has no parameter
        return None
    parameter = noise.scale if isinstance(noise, DiscreteLaplace) else noise.variance**0.5
    return float(parameter) * abs(float(weight))


def _mechanism(form: Form | None, release: PricedRelease) -> str:
    return _CHOSEN if release.bought(form) else _name(release)


def _name(release: PricedRelease) -> str:
    if not any(part.noises for part in release.parts):
        return _CHOSEN
    laplace = any(_has_laplace(one) for part in release.parts for one in part.noises)
    return "discrete_laplace" if laplace else "discrete_gaussian"


def _has_laplace(noise: AnyNoise) -> bool:
    match noise:
        case CombinedNoise():
            return any(_has_laplace(one.noise) for one in noise.terms)
        case SummedNoise():
            return _has_laplace(noise.noise)
        case _:
            return isinstance(noise, DiscreteLaplace)
