"""Results in ranges: the cell is the middle of its range, the interval all ranges that are touched."""

from datetime import date, datetime
from fractions import Fraction
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.catalog.types import Family, parse_type
from gateway.columnar.intervals import IntervalEnds
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.digits import round_outward
from gateway.intervals.visible_loss import LossSide, VisibleLoss
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteGaussian
from gateway.plan.aggregates import Measure
from gateway.plan.formulas import AggregateRef, AtLeast, Form, NumberForm, Over, Plus, Root, Times
from gateway.results.rounding import (
    RoundedColumn,
    ends_of,
    range_middle,
    round_to_ranges,
    whole_ranges,
)
from gateway.results.value_texts import column_texts
from gateway.sensitivity.formulas import Formula, Linear, Quotient

WIDTHS = st.fractions(min_value=Fraction(1, 100), max_value=10**6, max_denominator=100)
VALUES = st.fractions(min_value=-(10**7), max_value=10**7, max_denominator=1000)
_MEASURE = Measure("avg", (), parse_type("numeric"))
NOISE = DiscreteGaussian(Fraction(9))
COUNT = Linear(((0, Fraction(1)),), Fraction(0))
SUM = Linear(((1, Fraction(1, 2)),))
MEAN = Quotient(SUM, Linear(((0, Fraction(1)),)), Fraction(-40), Fraction(40))
FORMULAS: tuple[Formula, ...] = (COUNT, SUM, MEAN)
M1, M2, M3 = (AggregateRef(place) for place in range(3))
TABLE = NoisyTable(
    ((1,), (2,), (3,), (4,)), ((1000, 503, 60, -3), (7000, -12000, 333, 10)), (NOISE, NOISE)
)


@given(VALUES, WIDTHS)
def test_middle_is_a_multiple_no_further_away_than_half_a_range(
    value: Fraction, width: Fraction
) -> None:
    """0 stays 0, what is moved once stays, and of two that are equally near it is the higher."""
    found = range_middle(value, width)
    assert (found / width).denominator == 1
    assert -width / 2 < found - value <= width / 2
    assert range_middle(found, width) == found
    assert range_middle(Fraction(0), width) == 0


@for_each(
    ("of", "width", "texts", "found"),
    [
        ("bigint", "10", ["4", "5", "14", "-5", "-6", None], ["0", "10", "10", "0", "-10", None]),
        ("numeric", "10000", ["53812.7", "55000", "0"], ["50000", "60000", "0"]),
        ("numeric(8,2)", "0.5", ["12.34", "-0.25"], ["12.5", "0"]),
        ("double precision", "0.1", ["0.26", "1e+20"], ["0.3", "1e+20"]),
        ("real", "100", ["149.5", "150"], ["100.0", "200.0"]),
        ("smallint", "1000", ["32700"], ["32767"]),
        ("date", "7", ["2024-01-01", "2024-01-04", "2024-01-05"], ["2024-01-01"] * 2 + ["2024-01-08"]),
        ("date", "4000000", ["9000-01-01"], ["9999-12-31"]),
        ("timestamp", "900", ["2024-01-01 12:07:29.5", "2024-01-01 12:07:30"],
         ["2024-01-01 12:00:00", "2024-01-01 12:15:00"]),
        ("timestamptz", "86400", ["2024-01-01 13:00:00+00:00"], ["2024-01-02 00:00:00+00:00"]),
    ],
)  # fmt: skip
def test_result_is_the_middle_of_its_range_in_its_own_type(
    of: str, width: str, texts: list[str | None], found: list[str | None]
) -> None:
    """Whole numbers stay whole, decimals and dates what they are; NULL is NULL, no type is left."""
    kind = parse_type(of)
    made = round_to_ranges(texts, Fraction(width), kind)
    if kind.family is Family.FLOAT:
        assert [float(one or 0) for one in made] == [float(one or 0) for one in found]
    else:
        assert made == found


def test_middle_beyond_the_domain_is_its_end_where_results_are_clamped() -> None:
    """A mean within -40 and 40 in ranges of 30 is never 60; without clamping it is what the range says."""
    numeric, width = parse_type("numeric"), Fraction(30)
    assert round_to_ranges(["46", "-50", "44"], width, numeric, ends_of(MEAN, _MEASURE)) == [
        "40",
        "-40",
        "30",
    ]
    assert round_to_ranges(["46", "-50", "44"], width, numeric) == ["60", "-60", "30"]
    assert round_to_ranges(["-7"], Fraction(5), parse_type("bigint"), ends_of(COUNT, _MEASURE)) == [
        "0"
    ]
    days, times = parse_type("date"), parse_type("timestamp")
    ends = date(2020, 1, 1), date(2020, 12, 31)
    assert round_to_ranges(["2020-01-01", "2020-12-31"], Fraction(7), days, ends) == [
        "2020-01-01",
        "2020-12-28",
    ]
    assert round_to_ranges(["2020-12-31"], Fraction(15), days, ends) == ["2020-12-31"]
    assert round_to_ranges(["2020-01-01"], Fraction(7), days) == ["2019-12-30"]
    first = datetime(2020, 1, 1, 12)  # noqa: DTZ001 - without zone
    assert round_to_ranges(["2020-01-01 12:00:00"], Fraction(3 * 86_400), times, (first, None)) == [
        "2020-01-01 12:00:00"
    ]


def test_interval_is_all_ranges_that_the_noise_touches() -> None:
    """50,000 ± 6,000 is from 35,000 to 65,000; within one range it is that range."""
    width = Fraction(10_000)
    assert whole_ranges((44_000.0, 56_000.0), width) == (35_000, 65_000)
    assert whole_ranges((46_000.0, 54_999.0), width) == (45_000, 55_000)
    assert whole_ranges((46_000.0, 55_000.0), width) == (45_000, 65_000)


@pytest.mark.parametrize("place", range(3))
def test_interval_of_a_result_holds_that_of_the_noise_and_its_cell(place: int) -> None:
    """Its ends are ends of ranges, and not one range is there that is not touched."""
    width, form = Fraction(7), AggregateRef(place)
    wide = RoundedColumn(TABLE, FORMULAS, (width,) * 3).column(form)
    narrow = Intervals(TABLE, FORMULAS).column(form)
    texts = column_texts(TABLE, FORMULAS[place], parse_type("numeric"), clamp=False)
    cells = round_to_ranges(texts, width, parse_type("numeric"))
    for ends, own, cell in zip(wide, narrow, cells, strict=True):
        assert (ends is None) == (own is None)
        if ends is None or own is None:
            continue
        assert ends[0] <= own[0] < ends[0] + 7
        assert ends[1] - 7 <= own[1] < ends[1]
        assert all((Fraction(end) / width).denominator == 2 for end in ends)
        assert ends[0] <= float(cell or 0) <= ends[1]


@pytest.mark.parametrize(
    ("form", "ends"),
    [
        (Plus(M1, NumberForm(Fraction(5))), (1000, 1010)),
        (Times(NumberForm(Fraction(-2)), M1), (-2010, -1990)),
        (Over(NumberForm(Fraction(1)), M1), (1 / 1005, 1 / 995)),
        (Root(M1), (995**0.5, 1005**0.5)),
        (AtLeast(M1, Fraction(1000)), (1000, 1005)),
    ],
)
def test_what_is_computed_from_one_result_is_between_what_its_range_gives(
    form: Form, ends: tuple[float, float]
) -> None:
    """1000 ± 5 in ranges of 10 is from 995 to 1005, as the noise of 1000 is not wider."""
    quiet = NoisyTable(((),), ((1000,), (7000,)), (DiscreteGaussian(Fraction(1)),) * 2)
    [found] = RoundedColumn(quiet, FORMULAS, (Fraction(10), None, None)).column(form)
    assert found is not None
    assert all(isclose(one, other, rel_tol=1e-12) for one, other in zip(found, ends, strict=True))


def test_what_is_computed_from_several_results_tells_nothing_finer_than_their_ranges() -> None:
    """A quotient is the same whatever two noisy values in the same ranges are, and holds the plain interval."""
    widths = (Fraction(100), Fraction(1000), None)
    found = []
    for count, total in ((1010, 20_050), (980, 19_900)):
        table = NoisyTable(((),), ((count,), (2 * total,)), (NOISE, NOISE))
        [ends] = RoundedColumn(table, FORMULAS, widths).column(Over(M2, M1))
        [own] = Intervals(table, FORMULAS).column(Over(M2, M1))
        assert ends is not None
        assert own is not None
        assert ends[0] < own[0] < own[1] < ends[1]
        found.append(ends)
    assert found[0] == found[1]
    # the negative control: without ranges they differ
    assert Intervals(TABLE, FORMULAS).column(M2)[0] != Intervals(TABLE, FORMULAS).column(M2)[1]


def test_cell_without_interval_keeps_none() -> None:
    """Below a line that may be 0 there is none, with ranges or without."""
    widths = (Fraction(10), None, None)
    assert RoundedColumn(TABLE, FORMULAS, widths).column(Over(M2, M1))[3] is None
    assert RoundedColumn(TABLE, FORMULAS, (None, None, Fraction(5))).column(M3)[3] is None


def test_nothing_is_in_ranges_where_the_policy_says_so_of_nothing() -> None:
    """Intervals are those of the noise, with the digits that their margins leave them."""
    for form in (M1, M3, Over(M2, M1)):
        plain = round_outward(IntervalEnds.of(Intervals(TABLE, FORMULAS).column(form)))
        assert RoundedColumn(TABLE, FORMULAS, ()).column(form) == plain
        assert RoundedColumn(TABLE, FORMULAS, (None, None, None)).column(form) == plain


def test_expected_interval_holds_any_place_in_the_range() -> None:
    """Half a range on either side of what the noise may do."""
    [own] = Intervals(NoisyTable(((),), ((0,), (0,)), (NOISE, NOISE)), FORMULAS).column(M1)
    table = NoisyTable(((),), ((0,), (0,)), (NOISE, NOISE))
    assert own is not None
    [wide] = RoundedColumn(table, FORMULAS, (Fraction(10), None, None)).expected(M1)
    assert wide == (own[0] - 5, own[1] + 5)


def test_interval_of_a_total_is_extended_before_it_becomes_ranges() -> None:
    """Its ends are ends of ranges, and hold the extended interval; a mean of the same numbers stays as it is."""
    losses = (VisibleLoss(0.2, LossSide.ABOVE), VisibleLoss(0.2, LossSide.EITHER), None)
    widths = (None, Fraction(7), None)
    plain = RoundedColumn(TABLE, FORMULAS, widths)
    extended = RoundedColumn(TABLE, FORMULAS, widths, losses)
    for before, after in zip(plain.column(M1), extended.column(M1), strict=True):
        assert before is not None
        assert after is not None
        assert after[0] == before[0]
        assert after[1] == pytest.approx(before[1] / 0.8 if before[1] > 0 else before[1])
    own = Intervals(TABLE, FORMULAS).column(M2)
    for narrow, after in zip(own, extended.column(M2), strict=True):
        assert narrow is not None
        assert after is not None
        low, high = narrow[0] - abs(narrow[0]) / 4, narrow[1] + abs(narrow[1]) / 4
        assert after[0] <= low < after[0] + 7
        assert after[1] - 7 <= high < after[1]
        assert all((Fraction(end) / 7).denominator == 2 for end in after)
    for form in (M3, Over(M2, M1), Plus(M1, Times(NumberForm(Fraction(-1)), M2))):
        assert list(extended.column(form)) == list(plain.column(form))
