"""Whole columns at once: the very texts, and the intervals, that one row after the other would have."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise.row_by_row import RowByRow, text_of
from samples import draws

from gateway.catalog.types import parse_type
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.exact_formulas import evaluate_ratios
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.results.value_texts import column_texts, interval_texts
from gateway.sensitivity.formulas import Linear, Quotient

TYPES = (
    *("smallint", "integer", "bigint", "real", "double precision", "numeric", "numeric(1,0)"),
    *("numeric(8,2)", "numeric(2,2)", "numeric(12,4)", "numeric(30,10)", "numeric(38,0)"),
)
PLACES = 3
NOISE = DiscreteLaplace(Fraction(1))

_SMALL = st.builds(Fraction, st.integers(-500, 500), st.sampled_from([1, 1, 2, 3, 10, 100, 700]))
_WIDE = st.one_of(
    st.builds(Fraction, st.integers(-(10**9), 10**9), st.integers(1, 10**9)),
    st.builds(
        lambda digits, power: digits * Fraction(10) ** power,
        st.integers(-999, 999),
        st.integers(-330, 330),
    ),
)
_ENDS = [
    *(2**bits + off for bits in (15, 31, 53, 63) for off in (-1, 0, 1)),
    *(10**power + off for power in (1, 2, 6, 15, 30) for off in (-1, 0, 1)),
]
_MEASURED = st.one_of(
    st.integers(-50, 50),
    st.integers(-(10**7), 10**7),
    st.integers(-(2**70), 2**70),
    st.sampled_from([*_ENDS, *(-one for one in _ENDS)]),
)


def _linears(numbers: st.SearchStrategy[Fraction]) -> st.SearchStrategy[Linear]:
    weights = st.lists(st.tuples(st.integers(0, PLACES - 1), numbers), max_size=3).map(tuple)
    return st.builds(Linear, weights, st.one_of(st.none(), st.just(Fraction(0)), numbers))


@st.composite
def _means(draw: st.DrawFn, numbers: st.SearchStrategy[Fraction]) -> Quotient:
    low, high = sorted((draw(numbers), draw(numbers)))
    above, below = draw(_linears(numbers)), draw(_linears(numbers))
    if draw(st.booleans()):
        below = Linear(((0, Fraction(1)),))
    return Quotient(above, below, low, high, draw(numbers))


def _formulas(numbers: st.SearchStrategy[Fraction]) -> st.SearchStrategy[Linear | Quotient]:
    return st.one_of(_linears(numbers), _means(numbers))


_ROWS = st.lists(st.tuples(*[_MEASURED] * PLACES), max_size=12)


def _table(rows: Sequence[tuple[int, ...]], noises: tuple[Mechanism, ...]) -> NoisyTable:
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * PLACES
    return NoisyTable(tuple((place,) for place in range(len(rows))), columns, noises)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=draws(150), deadline=None)
@given(rows=_ROWS, formula=st.one_of(_formulas(_SMALL), _formulas(_WIDE)), clamp=st.booleans())
def test_column_has_the_texts_of_its_rows_whatever_the_formula(
    name: str, rows: list[tuple[int, ...]], formula: Linear | Quotient, *, clamp: bool
) -> None:
    """Digit for digit, of every type, with ends of domains and without."""
    of = parse_type(name)
    texts = column_texts(_table(rows, (NOISE,) * PLACES), formula, of, clamp=clamp)
    assert texts == [text_of(formula, row, of, clamp=clamp) for row in rows]


@settings(max_examples=draws(300), deadline=None)
@given(rows=_ROWS, formula=st.one_of(_formulas(_SMALL), _formulas(_WIDE)), clamp=st.booleans())
def test_ratios_are_the_exact_values_whatever_the_formula(
    rows: list[tuple[int, ...]], formula: Linear | Quotient, *, clamp: bool
) -> None:
    """Nothing is rounded on the way to a text."""
    column = evaluate_ratios(
        _table(rows, (NOISE,) * PLACES).measured, len(rows), formula, clamp=clamp
    )
    wanted = [formula.clamped(row) if clamp else formula.value(row) for row in rows]
    assert [Fraction(above, below) for above, below in column] == wanted
    assert all(below > 0 for _, below in column)


def test_aggregates_are_left_where_they_are_when_nothing_clamps_them() -> None:
    """A count of -5 is shown as -5, a mean beyond its domain as it is; the type's own ends hold."""
    table = NoisyTable(((1,), (2,), (3,)), ((-5, 5, 2**70), (-900, 900, 0)), (NOISE, NOISE))
    count = Linear(((0, Fraction(1)),), Fraction(0))
    mean = Quotient(
        Linear(((1, Fraction(1)),)), Linear(((0, Fraction(1)),)), Fraction(-10), Fraction(10)
    )
    bigint, numeric = parse_type("bigint"), parse_type("numeric")
    assert column_texts(table, count, bigint, clamp=False) == ["-5", "5", str(2**63 - 1)]
    assert column_texts(table, mean, numeric, clamp=False) == ["-900", "180", "0"]
    assert column_texts(table, count, bigint) == ["0", "5", str(2**63 - 1)]
    assert column_texts(table, mean, numeric) == ["-10", "10", "0"]


_COUNT = Linear(((0, Fraction(1)),), Fraction(0))
_PAIRED = Linear(((0, Fraction(1, 7)), (1, Fraction(1, 7))), Fraction(0))
_SUM = Linear(((0, Fraction(250)), (2, Fraction(1, 100))))
_FORMULAS: tuple[Linear | Quotient, ...] = (
    _COUNT,
    _PAIRED,
    _SUM,
    Quotient(_SUM, _COUNT, Fraction(0), Fraction(500), Fraction(250)),
    Quotient(_SUM, _PAIRED, Fraction(0), Fraction(500), Fraction(250)),
    Linear(()),
)
_FORMS: st.SearchStrategy[Form] = st.recursive(
    st.one_of(
        st.builds(AggregateRef, st.integers(0, len(_FORMULAS) - 1)), st.builds(NumberForm, _SMALL)
    ),
    lambda inner: st.one_of(
        st.builds(Plus, inner, inner), st.builds(Times, inner, inner), st.builds(Over, inner, inner)
    ),
    max_leaves=4,
)
_NOISES: st.SearchStrategy[tuple[Mechanism, ...]] = st.tuples(
    *[
        st.builds(
            lambda kind, scale: kind(Fraction(scale)),
            st.sampled_from([DiscreteLaplace, DiscreteGaussian]),
            st.sampled_from([Fraction(1, 10**7), Fraction(1, 3), 2, 20, 300, 10**6]),
        )
    ]
    * PLACES
)
_COUNTS = st.one_of(st.integers(-40, 40), st.integers(-(10**7), 10**7), st.integers(0, 2**60))


@settings(max_examples=draws(600), deadline=None)
@given(
    rows=st.lists(st.tuples(*[_COUNTS] * PLACES), min_size=1, max_size=12),
    noises=_NOISES,
    form=_FORMS,
)
def test_column_has_the_intervals_of_its_rows_whatever_the_form(
    rows: list[tuple[int, ...]], noises: tuple[Mechanism, ...], form: Form
) -> None:
    """The same rows have none, and the ends are the same but for what floats lose on the way."""
    table = _table(rows, noises)
    slow = RowByRow(table, _FORMULAS)
    for row, found in enumerate(Intervals(table, _FORMULAS).column(form)):
        wanted = slow.interval(form, row)
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            near = pytest.approx(wanted, rel=1e-12, abs=1e-12 * slow.size)
            assert found == near


def test_row_has_no_interval_when_a_float_ends_on_the_way() -> None:
    """What is no number is never divided away: one over something infinite is not known to be 0."""
    huge = Times(AggregateRef(0), AggregateRef(0))
    table = _table([(10**200,) * PLACES, (10**400,) * PLACES, (10, 10, 10)], (NOISE,) * PLACES)
    intervals = Intervals(table, _FORMULAS)
    for form in (Over(NumberForm(Fraction(1)), huge), Times(NumberForm(Fraction(0)), huge)):
        assert [one is None for one in intervals.column(form)] == [True, True, False]
    assert [one is None for one in intervals.column(AggregateRef(0))] == [False, True, False]


def test_form_of_numbers_alone_has_the_same_interval_in_every_row() -> None:
    """Also where there is no row."""
    form = Plus(NumberForm(Fraction(1, 2)), NumberForm(Fraction(2)))
    for rows in ([], [(1, 2, 3)], [(1, 2, 3)] * 5):
        column = Intervals(_table(rows, (NOISE,) * PLACES), _FORMULAS).column(form)
        assert column == [(2.5, 2.5)] * len(rows)


def test_ends_of_intervals_are_texts_that_read_as_the_same_doubles() -> None:
    """NULL where there is no interval."""
    column = [(0.1 + 0.2, 1e300), None, (-5e-324, 7.0)]
    lows, highs = interval_texts(column)
    assert [None if text is None else float(text) for text in lows] == [0.1 + 0.2, None, -5e-324]
    assert [None if text is None else float(text) for text in highs] == [1e300, None, 7.0]


def test_mean_is_rounded_to_even_when_it_lies_between_two_texts() -> None:
    """As PostgreSQL's `numeric(8,2)` would be written by a rounding that favours nobody."""
    table = _table([(200, 0, 201), (200, 0, 203), (200, 0, -201)], (NOISE,) * PLACES)
    half = Quotient(
        Linear(((2, Fraction(1)),)), Linear(((0, Fraction(1)),)), Fraction(-9), Fraction(9)
    )
    assert column_texts(table, half, parse_type("numeric(8,2)")) == ["1", "1.02", "-1"]


def test_columns_of_many_rows_keep_their_order() -> None:
    """The place of a cell is the place of its group."""
    table = _table([(place, 0, 0) for place in range(3000)], (NOISE,) * PLACES)
    texts = column_texts(table, _COUNT, parse_type("bigint"))
    assert texts == [str(place) for place in range(3000)]
    lows = [
        one[0] for one in Intervals(table, _FORMULAS).column(AggregateRef(0)) if one is not None
    ]
    assert len(lows) == 3000
    assert all(after - before == 1 for before, after in pairwise(lows))
