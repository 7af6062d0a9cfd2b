"""Variances, slopes and correlations of many rows at once are those of one row after the other."""

from fractions import Fraction
from random import Random

import pytest
from sensitivity.analyses import analysed, dataset, whole

from gateway.catalog.domains import Interval
from gateway.catalog.types import parse_type
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.exact_formulas import evaluate_curve
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteLaplace
from gateway.plan.fields import DOUBLE, NUMERIC
from gateway.plan.formulas import AggregateRef, NumberForm, Root, Times
from gateway.results.value_texts import column_texts
from gateway.sensitivity.analysis import Analysis, scale_formula
from gateway.sensitivity.formulas import SPREADS, CurveFormula, shift_formula
from gateway.sensitivity.measurement import Rows, Total

_T = dataset(
    1,
    {
        "x": ("numeric(14,2)", Interval(Fraction(0), Fraction(20_000), Fraction(1, 100))),
        "y": ("integer", whole(-7, 120)),
    },
)
_ROWS = 120


def _asked(function: str, *, pairs: bool) -> Analysis:
    arguments = "x" if len(SPREADS[function].squares) == 1 else "y, x"
    return analysed(f"SELECT {function}({arguments}) FROM t", pairs=pairs, of=_T)


def _formula(analysis: Analysis) -> CurveFormula:
    [formula] = analysis.formulas
    assert isinstance(formula, CurveFormula)
    return formula


def _columns(analysis: Analysis, seed: str) -> list[list[int]]:
    """From nobody, and less than nobody, to many; anything may have been drawn."""
    random = Random(seed)  # noqa: S311 - a table of a test
    counts = [random.choice([-2, 0, 1, 2, random.randint(3, 900)]) for _ in range(_ROWS)]
    columns = []
    for one in analysis.measurements:
        match one.quantity:
            case Rows():
                columns.append(counts)
            case Total(origin=origin) if origin.value != "middle":
                columns.append([count * one.most // 2 + random.randint(-9, 9) for count in counts])
            case _:
                columns.append(
                    [random.randint(-one.most, one.most) * count // 4 for count in counts]
                )
    return columns


_every = pytest.mark.parametrize("function", sorted(SPREADS))
_both = pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])


@_every
@_both
@pytest.mark.parametrize("clamp", [True, False], ids=["clamped", "as it is"])
def test_column_is_the_formula_of_every_row(function: str, *, pairs: bool, clamp: bool) -> None:
    """The very numbers, and no value just where the formula has none."""
    analysis = _asked(function, pairs=pairs)
    formula, columns = _formula(analysis), _columns(analysis, function)
    found = evaluate_curve(columns, _ROWS, formula, clamp=clamp)
    wanted = [
        formula.clamped(row) if clamp else formula.value(row) for row in zip(*columns, strict=True)
    ]
    assert [None if one is None else Fraction(*one) for one in found] == wanted
    assert None in found
    assert any(one is not None for one in found)


@_every
@_both
def test_column_is_the_same_in_parts_of_one_and_behind_other_measurements(
    function: str, *, pairs: bool
) -> None:
    """Weights measure in parts of one, grouping sets stand one behind the other: no value changes."""
    analysis = _asked(function, pairs=pairs)
    formula, columns = _formula(analysis), _columns(analysis, function)
    changed = shift_formula(scale_formula(formula, [2**16] * 100), 2)
    assert isinstance(changed, CurveFormula)
    parts = [[0] * _ROWS, [1] * _ROWS, *([one * 2**16 for one in column] for column in columns)]
    found = [
        None if one is None else Fraction(*one) for one in evaluate_curve(parts, _ROWS, changed)
    ]
    plain = [
        None if one is None else Fraction(*one) for one in evaluate_curve(columns, _ROWS, formula)
    ]
    assert found == plain


def test_texts_are_null_where_there_is_no_value() -> None:
    """PostgreSQL's variance of one row is NULL, whatever the type."""
    analysis = _asked("var_samp", pairs=False)
    table = _table(analysis, [[1, 0, 10], [0, 0, 0], [0, 0, 0]])
    found = column_texts(table, _formula(analysis), NUMERIC)
    assert [one is None for one in found] == [True, True, False]
    again = column_texts(table, _formula(analysis), parse_type("double precision"), clamp=False)
    assert again[:2] == [None, None]
    assert float(again[2] or "nan") == pytest.approx(float(found[2] or "nan"))


def _table(analysis: Analysis, columns: list[list[int]]) -> NoisyTable:
    """Of noise as large as what one person can add."""
    noises = tuple(DiscreteLaplace(Fraction(one.most)) for one in analysis.measurements)
    keys = tuple((place,) for place in range(len(columns[0])))
    return NoisyTable(keys, tuple(map(tuple, columns)), noises)


def test_interval_of_a_root_is_the_root_of_the_interval() -> None:
    """A standard deviation is told as well as its variance, down to 0, where no plane touches the root."""
    variance, deviation = _asked("var_pop", pairs=False), _asked("stddev_pop", pairs=False)
    [_, _, squares] = variance.measurements
    far, near, below = 0, -squares.most * 300, -squares.most * 300 * 6
    columns = [[1_000] * 3, [0] * 3, [far, near, below]]
    formulas = (_formula(variance), _formula(deviation))
    intervals = Intervals(_table(variance, columns), formulas)
    for row, (of, rooted, again) in enumerate(
        zip(
            intervals.column(AggregateRef(0)),
            intervals.column(AggregateRef(1)),
            intervals.column(Root(AggregateRef(0))),
            strict=True,
        )
    ):
        assert of is not None
        assert rooted == again
        if row == 2:
            assert of[1] < 0
            assert rooted is None, "no root is below 0"
            continue
        assert rooted is not None
        assert rooted[0] == pytest.approx(max(of[0], 0) ** 0.5)
        assert rooted[1] == pytest.approx(of[1] ** 0.5)


def test_correlation_has_no_interval_where_a_variance_may_be_zero() -> None:
    """What nothing varies for cannot be told; a cell that is computed from it neither."""
    analysis = _asked("corr", pairs=False)
    places = {type(one.quantity).__name__: at for at, one in enumerate(analysis.measurements)}
    columns = [[100_000, 100_000] for _ in analysis.measurements]
    for at, one in enumerate(analysis.measurements):
        columns[at] = [100_000 if at == places["Rows"] else 0] * 2
        if type(one.quantity).__name__ == "Squares":
            # as many squares as there can be, and none: the constant that was taken away is missing
            columns[at] = [100_000 * one.most // 2, -100_000 * one.most]
    intervals = Intervals(_table(analysis, columns), analysis.formulas)
    first, second = intervals.column(AggregateRef(0))
    assert first is not None
    assert second is None
    doubled = intervals.column(Times(NumberForm(Fraction(2)), AggregateRef(0)))
    assert doubled[1] is None
    assert doubled[0] is not None
    assert list(doubled[0]) == pytest.approx([2 * end for end in first])


def test_values_of_many_groups_are_all_there() -> None:
    """Thousands of groups, each by itself."""
    analysis = _asked("corr", pairs=True)
    columns = [one * 20 for one in _columns(analysis, "many")]
    found = column_texts(_table(analysis, columns), _formula(analysis), DOUBLE)
    assert len(found) == 20 * _ROWS
    assert found[:_ROWS] == found[_ROWS : 2 * _ROWS]
