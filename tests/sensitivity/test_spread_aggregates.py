"""What is measured for variances, covariances and lines, and that nothing of it is measured twice."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each
from samples import draws
from sensitivity.analyses import analysed, dataset, whole
from sensitivity.reference import COLUMNS
from sensitivity.released import Person, released

from gateway.catalog.domains import Interval
from gateway.errors import Code, Unbounded
from gateway.noise.allocation import Distribution, cost_of, price_noise
from gateway.ranges.lattice import Lattice, unit_of
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.formulas import SPREADS, CurveFormula, Linear
from gateway.sensitivity.measurement import Products, Squares, nearest_multiple

_T = dataset(
    3,
    {
        "x": ("numeric", Interval(Fraction(0), Fraction(10), Fraction(1, 100))),
        "y": ("integer", whole(-4, 5)),
        "wide": ("numeric", Interval(Fraction(0), Fraction(10**6), Fraction(1, 100))),
        "same": ("integer", whole(7, 7)),
        "free": ("numeric", None),
    },
)
_both = pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])


def _of(items: str, *, pairs: bool, rest: str = "") -> Analysis:
    return analysed(f"SELECT {items} FROM t {rest}", pairs=pairs, of=_T)


def _kinds(analysis: Analysis) -> list[str]:
    return [
        "+".join(type(one.quantity).__name__ for one in slot.measurements)
        for slot in analysis.slots
    ]


@for_each(
    ("aggregate", "gaussian", "laplace"),
    [
        ("VAR_POP(x)", 3, 2),
        ("VARIANCE(x)", 3, 2),
        ("STDDEV(x)", 3, 2),
        ("COVAR_POP(x, y)", 4, 3),
        ("COVAR_SAMP(x, y)", 4, 3),
        ("CORR(x, y)", 6, 5),
        ("REGR_SLOPE(x, y)", 5, 4),
        ("REGR_INTERCEPT(x, y)", 5, 4),
        ("REGR_R2(x, y)", 6, 5),
        ("REGR_COUNT(x, y)", 1, 1),
        ("REGR_AVGX(x, y)", 2, 1),
        ("REGR_SXX(x, y)", 3, 2),
        ("REGR_SXY(x, y)", 4, 3),
    ],
)
def test_spread_takes_so_many_parts_of_the_price(
    aggregate: str, gaussian: int, laplace: int
) -> None:
    """A count, a sum and squares for every value that needs them, products: as the docs say."""
    assert len(_of(aggregate, pairs=False).slots) == gaussian
    assert len(_of(aggregate, pairs=True).slots) == laplace


@_both
@pytest.mark.parametrize(
    ("alone", "together"),
    [
        ("VAR_POP(x)", "VAR_POP(x), STDDEV(x), AVG(x), SUM(x), COUNT(x), VAR_SAMP(x)"),
        ("CORR(x, y)", "CORR(x, y), CORR(y, x), REGR_R2(x, y), REGR_SLOPE(x, y), REGR_SLOPE(y, x)"),
        ("CORR(x, y)", "COVAR_POP(y, x), REGR_COUNT(x, y), REGR_COUNT(y, x), CORR(x, y)"),
        (
            "REGR_SLOPE(x, y)",
            "REGR_SLOPE(x, y), REGR_INTERCEPT(x, y), REGR_SXX(x, y), REGR_AVGY(x, y)",
        ),
        (
            "VAR_POP(x) FILTER (WHERE y > 1)",
            "VAR_POP(x) FILTER (WHERE y > 1), AVG(x) FILTER (WHERE y > 1)",
        ),
    ],
)
def test_moment_is_measured_once_when_aggregates_share_it(
    alone: str, together: str, *, pairs: bool
) -> None:
    """However many ask for it, its part of the price is paid once."""
    assert sorted(_kinds(_of(together, pairs=pairs))) == sorted(_kinds(_of(alone, pairs=pairs)))


@_both
def test_moment_is_measured_again_when_other_rows_count(*, pairs: bool) -> None:
    """Rows where the other value is NULL, or a filter, make another sum of it."""
    one = len(_of("VAR_POP(x)", pairs=pairs).slots)
    filtered = _of("VAR_POP(x), VAR_POP(x) FILTER (WHERE y > 1)", pairs=pairs)
    assert len(filtered.slots) == 2 * one
    paired = _of("VAR_POP(x), CORR(x, y)", pairs=pairs)
    assert len(paired.slots) == one + len(_of("CORR(x, y)", pairs=pairs).slots)


@_both
def test_nothing_is_measured_of_what_does_not_vary(*, pairs: bool) -> None:
    """The squares of a constant are known; how many there are is not."""
    assert _kinds(_of("VAR_POP(same)", pairs=pairs)) == ["Rows"]
    assert "Products" not in _kinds(_of("COVAR_POP(x, same)", pairs=pairs))


@pytest.mark.parametrize("noise", list(Distribution))
def test_price_is_what_the_noise_costs(noise: Distribution) -> None:
    """Every part is paid for, and nothing else is."""
    pairs = noise is Distribution.LAPLACE
    for function, needs in SPREADS.items():
        arguments = "x" if len(needs.squares) == 1 else "x, y"
        analysis = _of(f"y, {function}({arguments})", pairs=pairs, rest="GROUP BY y")
        price = Fraction(1, 3)
        cost = cost_of(price_noise([analysis], noise, price, Fraction(1, 10**9)))
        assert price * (1 - Fraction(1, 2**40)) <= cost <= price


@pytest.mark.parametrize(
    "aggregate",
    [
        "STDDEV(free)",
        "CORR(x, free)",
        "REGR_SLOPE(free, x)",
    ],
)
@_both
def test_spread_of_what_nothing_bounds_is_refused(aggregate: str, *, pairs: bool) -> None:
    """With the column, as for SUM; REGR_COUNT needs no bound."""
    with pytest.raises(Unbounded) as refused:
        _of(aggregate, pairs=pairs)
    assert refused.value.code is Code.NO_BOUND
    assert "`t.free`" in refused.value.detail
    assert len(_of("REGR_COUNT(x, free)", pairs=pairs).slots) == 1
    assert len(_of("REGR_SXX(free, x)", pairs=pairs).slots) == 3 - pairs


def _moves(quantity: Squares | Products, one: int, other: int) -> int:
    """What a row of these distances from the middle adds."""
    if isinstance(quantity, Squares):
        return nearest_multiple(one * one, quantity.unit) - quantity.less
    return nearest_multiple(one * other, quantity.unit)


@settings(max_examples=draws(300), deadline=None, derandomize=True)
@given(
    st.integers(1, 40), st.integers(0, 1), st.integers(1, 40), st.integers(0, 1), st.integers(1, 60)
)
def test_reach_is_the_most_that_any_row_adds(
    low: int, more: int, other_low: int, other_more: int, unit: int
) -> None:
    """Over all values of both lattices: none adds more, and some as much."""
    step = Fraction(1)
    first = Lattice(step, -low, low + more)
    second = Lattice(step, -other_low, other_low + other_more)
    ones = [i - first.middle for i in range(first.low, first.high + 1)]
    others = [i - second.middle for i in range(second.low, second.high + 1)]
    column = COLUMNS["a"]
    squares = Squares(column, first, unit)
    assert max(abs(_moves(squares, i, i)) for i in ones) == squares.reach
    products = Products(column, first, column, second, unit)
    assert max(abs(_moves(products, i, j)) for i in ones for j in others) == products.reach


@settings(max_examples=draws(200), deadline=None, derandomize=True)
@given(st.integers(1, 2**60))
def test_products_of_rows_that_weigh_as_much_as_they_can_fit_a_bigint(largest: int) -> None:
    """Rows weigh 2^30 together at most, and each row's product is an INTEGER; small products stay exact."""
    unit = unit_of(largest)
    assert nearest_multiple(largest, unit) < 2**30
    assert 2**30 * nearest_multiple(largest, unit) < 2**63
    if largest < 2**30 - 1:
        assert unit == 1


_rows = st.fixed_dictionaries(
    {
        "t.x": st.one_of(st.none(), st.integers(0, 1000).map(lambda n: Fraction(n, 100))),
        "t.y": st.one_of(st.none(), st.integers(-4, 5).map(Fraction)),
        "t.wide": st.one_of(st.none(), st.integers(0, 10**8).map(lambda n: Fraction(n, 100))),
    }
)
_ANALYSES = [
    _of(
        "VAR_POP(x), COVAR_POP(x, y), REGR_COUNT(x, y), VAR_POP(wide), COVAR_POP(x, wide)",
        pairs=one,
    )
    for one in (True, False)
]


@pytest.mark.parametrize("analysis", _ANALYSES, ids=["laplace", "gaussian"])
@settings(max_examples=draws(100), deadline=None, derandomize=True)
@given(rows=st.lists(_rows, min_size=1, max_size=12))
def test_formula_gives_the_exact_spread_when_nothing_is_cut_or_added(
    analysis: Analysis, rows: list[dict[str, Fraction | None]]
) -> None:
    """Of small products to the last digit; of large ones no further off than half a unit of each row."""
    people = [Person(place, "p", row) for place, row in enumerate(rows)]
    measured = released(people, analysis)["p"]
    variance, common, count, wide, mixed = analysis.formulas
    xs = [row["t.x"] for row in rows if row["t.x"] is not None]
    both = [(row["t.x"], row["t.y"]) for row in rows]
    there = [(x, y) for x, y in both if x is not None and y is not None]
    wides = [row["t.wide"] for row in rows if row["t.wide"] is not None]
    products = [(row["t.x"], row["t.wide"]) for row in rows]
    mixes = [(x, w) for x, w in products if x is not None and w is not None]
    assert isinstance(variance, CurveFormula)
    assert isinstance(common, CurveFormula)
    assert isinstance(count, Linear)
    assert isinstance(wide, CurveFormula)
    assert isinstance(mixed, CurveFormula)
    assert variance.value(measured) == _common([(x, x) for x in xs])
    assert common.value(measured) == _common(there)
    assert count.value(measured) == len(there)
    _is_near(wide.value(measured), _common([(w, w) for w in wides]), _half_unit(analysis, Squares))
    _is_near(mixed.value(measured), _common(mixes), _half_unit(analysis, Products))


def _common(pairs: list[tuple[Fraction, Fraction]]) -> Fraction | None:
    """The covariance, by its definition."""
    if not pairs:
        return None
    n = len(pairs)
    one, other = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    return Fraction(sum((x - one) * (y - other) for x, y in pairs)) / n


def _half_unit(analysis: Analysis, kind: type[Squares | Products]) -> Fraction:
    """Of the coarsest of its kind."""
    found = Fraction(0)
    for one in analysis.measurements:
        quantity = one.quantity
        if isinstance(quantity, Squares) and kind is Squares:
            found = max(found, quantity.unit * quantity.lattice.step**2 / 2)
        if isinstance(quantity, Products) and kind is Products:
            steps = quantity.lattice.step * quantity.other_lattice.step
            found = max(found, quantity.unit * steps / 2)
    return found


def _is_near(found: Fraction | None, wanted: Fraction | None, away: Fraction) -> None:
    if found is None or wanted is None:
        assert found is wanted
        return
    assert abs(found - wanted) <= away
