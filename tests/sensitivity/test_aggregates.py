"""What is measured for the aggregates of a release."""

from fractions import Fraction

import pytest
from sensitivity.analyses import analysed, dataset, whole

from gateway.catalog.domains import Interval
from gateway.errors import Code, Refusal
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.formulas import Linear, Quotient
from gateway.sensitivity.measurement import Different, DistanceOrigin, Rows, Total, Units

_WHOLE = 2**16
_ROWS = 5
_CLIPPED = _ROWS * _WHOLE
"""What the rows of one person add to a count at most, in 2^16-ths."""
_CENTS = Interval(Fraction(0), Fraction(10), Fraction(1, 100))
_T = dataset(
    _ROWS,
    {
        "x": ("numeric", _CENTS),
        "same": ("integer", whole(7, 7)),
        "free": ("numeric", None),
        "big": ("bigint", None),
        "flag": ("boolean", None),
    },
)


def _of(sql: str, *, pairs: bool) -> Analysis:
    return analysed(sql, pairs=pairs, of=_T)


def _shapes(analysis: Analysis) -> list[tuple[str, ...]]:
    return [
        tuple(
            one.quantity.origin.value
            if isinstance(one.quantity, Total)
            else type(one.quantity).__name__
            for one in slot.measurements
        )
        for slot in analysis.slots
    ]


def test_sum_is_measured_from_both_ends_when_noise_is_laplace() -> None:
    """SUM, AVG and COUNT of one value are one slot, moved by the clip times the width of its domain."""
    found = _of("SELECT COUNT(x), SUM(x), AVG(x) FROM t", pairs=True)
    assert _shapes(found) == [("low", "high")]
    assert found.slots[0].most == _CLIPPED * 1000


def test_sum_is_measured_around_the_middle_when_noise_is_gaussian() -> None:
    """SUM, AVG and COUNT of one value are two slots: the count, and the sum around the middle."""
    found = _of("SELECT COUNT(x), SUM(x), AVG(x) FROM t", pairs=False)
    assert _shapes(found) == [("Rows",), ("middle",)]
    assert [slot.most for slot in found.slots] == [_CLIPPED, _CLIPPED * 500]


@pytest.mark.parametrize("pairs", [True, False])
def test_measurement_is_made_once_when_aggregates_share_it(pairs: bool) -> None:  # noqa: FBT001
    """However often something is asked in one statement, its part of the price is paid once."""
    once = _of("SELECT COUNT(*), AVG(x) FROM t", pairs=pairs)
    often = _of(
        "SELECT COUNT(*), AVG(x), SUM(x), COUNT(x), COUNT(*) + 1, AVG(x) FROM t", pairs=pairs
    )
    assert often.slots == once.slots


def test_filter_makes_a_measurement_of_its_own() -> None:
    """An aggregate with a FILTER is another one, over a narrower domain where the filter says so."""
    found = _of("SELECT SUM(x), SUM(x) FILTER (WHERE x <= 5) FROM t", pairs=True)
    assert [slot.most for slot in found.slots] == [_CLIPPED * 1000, _CLIPPED * 500]


@pytest.mark.parametrize("pairs", [True, False])
def test_value_that_is_always_the_same_is_only_counted(pairs: bool) -> None:  # noqa: FBT001
    """A domain of one value tells nothing but how many there are."""
    found = _of("SELECT SUM(same), AVG(same) FROM t", pairs=pairs)
    assert _shapes(found) == [("Rows",)]
    total, mean = found.formulas
    assert isinstance(total, Linear)
    assert isinstance(mean, Quotient)
    assert total.value([3 * _WHOLE]) == 21
    assert mean.value([3 * _WHOLE]) == 7
    assert mean.clamped([-2]) == 7


def test_count_of_units_moves_by_one() -> None:
    """COUNT(DISTINCT unit) is moved by one however many rows a unit has; COUNT(unit) counts rows."""
    found = _of("SELECT COUNT(DISTINCT u), COUNT(u) FROM t", pairs=True)
    assert [(one.quantity, one.most) for one in found.measurements] == [
        (Units(), _WHOLE),
        (Rows(), _CLIPPED),
    ]


def test_count_of_different_values_moves_by_no_more_than_there_are() -> None:
    """A unit has at most R different values, and of a boolean two."""
    found = _of(
        "SELECT COUNT(DISTINCT x), COUNT(DISTINCT flag), COUNT(DISTINCT same) FROM t", pairs=True
    )
    assert all(isinstance(one.quantity, Different) for one in found.measurements)
    assert [one.most for one in found.measurements] == [5, 2, 1]


def test_column_without_a_domain_is_summed_in_the_range_of_its_type() -> None:
    """Whole numbers are bounded by their type; the lattice is coarse, and the answer is given."""
    found = _of("SELECT SUM(big) FROM t", pairs=True)
    [pair] = [slot.measurements[0].quantity for slot in found.slots]
    assert isinstance(pair, Total)
    assert pair.origin is DistanceOrigin.LOW
    assert pair.lattice.step > 2**30


@pytest.mark.parametrize("function", ["SUM", "AVG"])
def test_sum_is_refused_when_nothing_bounds_the_column(function: str) -> None:
    """The refusal names the column and what to declare."""
    with pytest.raises(Refusal) as caught:
        _of(f"SELECT {function}(free) FROM t", pairs=True)
    assert caught.value.code is Code.NO_BOUND
    assert "`t.free`" in caught.value.detail
    assert "domain: {between" in caught.value.hint
    assert "`t.free`" in caught.value.hint


@pytest.mark.parametrize(
    "way_out",
    [
        "SELECT SUM(free) FROM t WHERE free BETWEEN 0 AND 9",
        "SELECT SUM(free) FILTER (WHERE free > 0 AND free < 9) FROM t",
        "SELECT SUM(GREATEST(LEAST(free, 9), 0)) FROM t",
        "SELECT SUM(CASE WHEN free BETWEEN 0 AND 9 THEN free END) FROM t",
        "SELECT SUM(CAST(free AS smallint)) FROM t",
    ],
)
def test_sum_is_answered_when_the_statement_bounds_the_column(way_out: str) -> None:
    """An analyst may say the bound, in any of the usual ways."""
    assert len(_of(way_out, pairs=True).slots) == 1


@pytest.mark.parametrize("aggregate", ["MIN(x)", "MAX(x)"])
def test_ends_are_chosen_and_nothing_is_measured_for_them(aggregate: str) -> None:
    """They are no integers over all rows."""
    found = _of(f"SELECT {aggregate} FROM t", pairs=True)
    assert found.slots == ()
    assert len(found.choices) == 1


def test_count_is_not_shown_below_zero_and_mean_not_outside_of_its_domain() -> None:
    """Raw values are kept; what is shown is clamped."""
    count = Linear(((0, Fraction(1)),), Fraction(0))
    assert count.value([-4]) == -4
    assert count.clamped([-4]) == 0
    total = Linear(((0, Fraction(1)),))
    assert total.clamped([-4]) == -4
    mean = Quotient(total, Linear(((1, Fraction(1)),)), Fraction(0), Fraction(10), Fraction(5))
    assert mean.value([90, 3]) == 30
    assert mean.clamped([90, 3]) == 10
    # of nobody it is the middle and what is away from it, however far below one the count is
    assert mean.value([0, 0]) == 5
    assert mean.value([-20, -4]) == 5
