"""Variances, covariances and lines, from sums that are known exactly."""

import statistics
from fractions import Fraction
from math import isclose, sqrt
from random import Random

from laws import for_each

from gateway.plan.formulas import form_text
from gateway.sensitivity.formulas import (
    SPREADS,
    CurveFormula,
    Linear,
    SpreadAxis,
    curve_formula,
    square_root,
)

_ONE = Fraction(1)


def _line(place: int, weight: Fraction = _ONE) -> Linear:
    return Linear(((place, weight),))


def _of(function: str, ys: list[int], xs: list[int]) -> Fraction | None:
    """Measured as the source would, on a lattice of halves, around centers that are no means."""
    rows = list(zip(ys, xs, strict=True))
    count = len(rows)
    y, x = (
        SpreadAxis(
            Fraction(-50),
            Fraction(50),
            Fraction(origin),
            _line(away),
            Fraction(center),
            Fraction(k),
            _line(squares),
        )
        for origin, away, center, k, squares in ((3, 1, -7, 40, 2), (-2, 3, 5, 60, 4))
    )
    measured = [
        count,
        sum(y - 3 for y, _ in rows),
        sum((y + 7) ** 2 - 40 for y, _ in rows),
        sum(x + 2 for _, x in rows),
        sum((x - 5) ** 2 - 60 for _, x in rows),
        sum((y + 7) * (x - 5) for y, x in rows),
    ]
    axes = (x,) if len(SPREADS[function].squares) == 1 else (y, x)
    return curve_formula(function, _line(0), axes, _line(5)).value(measured)


@for_each("function", sorted(SPREADS))
def test_a_spread_is_what_it_is_defined_as(function: str) -> None:
    """From exact sums every function gives what its definition gives, whatever the centers are."""
    random = Random(function)  # noqa: S311 - a seeded stream for a test
    for _ in range(20):
        count = random.randint(2, 30)
        xs = [random.randint(-50, 50) for _ in range(count)]
        ys = [random.randint(-20, 20) + x // 3 for x in xs]
        if len(set(xs)) < 2 or len(set(ys)) < 2:
            continue
        found = _of(function, ys, xs)
        assert found is not None
        assert isclose(float(found), _defined(function, ys, xs), rel_tol=1e-12, abs_tol=1e-12)


def _defined(function: str, ys: list[int], xs: list[int]) -> float:
    n, mx, my = len(xs), statistics.fmean(xs), statistics.fmean(ys)
    sxx = sum((x - mx) ** 2 for x in xs)
    syy = sum((y - my) ** 2 for y in ys)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    return {
        "var_pop": sxx / n,
        "var_samp": sxx / (n - 1),
        "variance": sxx / (n - 1),
        "stddev_pop": sqrt(sxx / n),
        "stddev_samp": sqrt(sxx / (n - 1)),
        "stddev": sqrt(sxx / (n - 1)),
        "covar_pop": sxy / n,
        "covar_samp": sxy / (n - 1),
        "corr": sxy / sqrt(sxx * syy),
        "regr_r2": sxy**2 / (sxx * syy),
        "regr_slope": sxy / sxx,
        "regr_intercept": my - sxy / sxx * mx,
        "regr_avgx": mx,
        "regr_avgy": my,
        "regr_sxx": sxx,
        "regr_syy": syy,
        "regr_sxy": sxy,
    }[function]


@for_each("function", sorted(SPREADS))
def test_a_spread_of_too_few_rows_is_null(function: str) -> None:
    """A variance over nobody, and one of a sample of one, have no value."""
    axis = SpreadAxis(
        Fraction(0), Fraction(9), Fraction(4), _line(1), Fraction(4), Fraction(8), _line(2)
    )
    made = curve_formula(function, _line(0), (axis,) * len(SPREADS[function].squares), _line(3))
    for count in range(-3, SPREADS[function].rows):
        assert made.value([count, 1, 1, 1]) is None
    assert made.clamped([-1, 1, 1, 1]) is None


@for_each("function", sorted(SPREADS))
def test_a_spread_stays_in_its_natural_range(function: str) -> None:
    """Whatever the noise was: no variance is below 0 or wider than its domain, no correlation beyond 1."""
    random = Random(function)  # noqa: S311 - a seeded stream for a test
    axis = SpreadAxis(
        Fraction(0), Fraction(9), Fraction(4), _line(1), Fraction(4), Fraction(8), _line(2)
    )
    made = curve_formula(function, _line(0), (axis,) * len(SPREADS[function].squares), _line(3))
    beyond = 0
    for _ in range(300):
        found = made.clamped(
            [random.randint(2, 30), *(random.randint(-999, 999) for _ in range(3))]
        )
        raw = made.value([random.randint(2, 30), *(random.randint(-999, 999) for _ in range(3))])
        if found is not None and made.low is not None:
            assert found >= made.low
        if found is not None and made.high is not None:
            assert found <= made.high
        if raw is not None and made.low is not None and raw < made.low:
            beyond += 1
    if made.low is not None and not function.startswith("stddev") and function != "regr_r2":
        assert beyond > 0, "the clamp never had anything to do"


def test_a_correlation_without_any_spread_is_null() -> None:
    """As PostgreSQL says it: nothing varies, so nothing varies together."""
    axis = SpreadAxis(
        Fraction(0), Fraction(9), Fraction(4), _line(1), Fraction(4), Fraction(8), _line(2)
    )
    made = curve_formula("corr", _line(0), (axis, axis), _line(3))
    assert made.value([10, 0, -80, 0]) is None


def test_a_root_is_exact_to_128_bits() -> None:
    """The square of it is next to what it is the root of, for large and small numbers."""
    random = Random(4)  # noqa: S311 - a seeded stream for a test
    for _ in range(500):
        value = Fraction(random.randint(1, 10 ** random.randint(1, 40)), random.randint(1, 10**30))
        assert abs(square_root(value) ** 2 - value) < value / 2**120
    assert square_root(Fraction(-1)) == 0
    assert square_root(Fraction(0)) == 0


def test_a_form_is_shown_as_people_write_it() -> None:
    """Golden files and explanations show what a cell is computed from."""
    axis = SpreadAxis(
        Fraction(0), Fraction(9), Fraction(4), _line(1), Fraction(4), Fraction(8), _line(2)
    )
    made: CurveFormula = curve_formula("stddev_pop", _line(0), (axis,), None)
    assert form_text(made.form).startswith("sqrt(")
    assert "greatest(m1, 1)" in form_text(made.form)
