"""What a front end says about each column and cell of an answer: whether it is noisy, and how much."""

from collections.abc import Mapping

from gateway.binding.bound import Bound, Cut, Traced
from gateway.finishing import Row
from gateway.noise.cells import Intervals
from gateway.noise.mechanism import DiscreteLaplace, Mechanism
from gateway.noise.noisy import NoisyTable
from gateway.noise.pricing import Priced
from gateway.plan.forms import Form, Measured
from gateway.question import AnswerColumn
from gateway.sensitivity.formula import Linear

Noisy = Mapping[str, tuple[Priced, NoisyTable]]
Interval = tuple[float, float] | None


def answer_columns(bound: Bound, noisy: Noisy) -> tuple[AnswerColumn, ...]:
    """Names and types are PostgreSQL's; of what cannot be told apart all is called noisy."""
    result = bound.result or ()
    if not isinstance(bound, Cut) or not noisy:
        return tuple(AnswerColumn(one.name, one.type_name, noisy=False) for one in result)
    mechanism = _name(next(iter(noisy.values()))[0].noises)
    if bound.traced is None:
        return tuple(
            AnswerColumn(one.name, one.type_name, noisy=True, mechanism=mechanism) for one in result
        )
    release, _ = noisy[bound.traced.cells.name]
    return tuple(
        AnswerColumn(
            one.name,
            one.type_name,
            noisy=touched,
            mechanism=mechanism if touched else None,
            scale=_scale(form, release),
        )
        for one, form, touched in zip(
            result, bound.traced.cells.forms, bound.traced.cells.noisy, strict=True
        )
    )


def answer_intervals(
    cut: Cut, rows: tuple[Row, ...], noisy: Noisy
) -> tuple[tuple[Interval, ...], ...]:
    """95 % intervals, shaped like the rows; None where a cell has none."""
    if cut.traced is None:
        width = len(cut.result or ())
        return tuple((None,) * width for _ in rows)
    release, table = noisy[cut.traced.cells.name]
    intervals = Intervals(table, release.analysis.formulas)
    return tuple(_of_row(cut.traced, intervals, row) for row in rows)


def _of_row(traced: Traced, intervals: Intervals, row: Row) -> tuple[Interval, ...]:
    number = row[-1]
    if number is None:
        return tuple(None for _ in traced.cells.forms)
    return tuple(
        None if form is None or cell is None else intervals.interval(form, int(number))
        for form, cell in zip(traced.cells.forms, row, strict=False)
    )


def _scale(form: Form | None, release: Priced) -> float | None:
    """The parameter of the noise, where a column is one measurement as it is."""
    if not isinstance(form, Measured):
        return None
    formula = release.analysis.formulas[form.place]
    if not isinstance(formula, Linear) or len(formula.weights) != 1:
        return None
    [(place, weight)] = formula.weights
    noise = release.noises[place]
    parameter = noise.scale if isinstance(noise, DiscreteLaplace) else noise.variance**0.5
    return float(parameter) * abs(float(weight))


def _name(noises: tuple[Mechanism, ...]) -> str:
    laplace = any(isinstance(one, DiscreteLaplace) for one in noises)
    return "discrete_laplace" if laplace else "discrete_gaussian"
