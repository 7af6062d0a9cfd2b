"""Released tables as constants of the twin: every text arrives as it was, every interval beside its group."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import psycopg
import pytest
from binding.clinic import CLINIC
from fix_sample import plain
from hypothesis import given, settings
from hypothesis import strategies as st
from noise.streams import Stream

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Release
from gateway.columnar.intervals import Interval, IntervalEnds
from gateway.columnar.texts import Row, array_text
from gateway.exact import ExactTable
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.digits import round_outward
from gateway.noise.add_noise import add_noise
from gateway.noise.allocation import Distribution, price_noise
from gateway.plan.formulas import AggregateRef, Form, Over
from gateway.postgres_server import Lease
from gateway.results.columns import answer_intervals
from gateway.results.constants import release_constant
from gateway.results.rollup import NoisyRelease, PricedRelease, roll_up
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets

SQL = "SELECT birth_year, COUNT(*), AVG(income) FROM patients GROUP BY birth_year"
TEXTS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["NULL", "", '"', "\\", '\\"', "{}", ",", "{a,b}", '","', " ", "\n"]),
)


@pytest.fixture(scope="module")
def postgresql(sample_server: Lease) -> Iterator[psycopg.Connection]:
    """A server that only reads arrays."""
    url = sample_server.address.url(
        user=sample_server.superuser,
        password=sample_server.superuser_password,
        database="postgres",
    )
    with psycopg.connect(plain(url), autocommit=True) as connection:
        yield connection


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=8))
def test_column_arrives_as_it_was_whatever_is_in_its_texts(
    postgresql: psycopg.Connection, texts: list[str | None]
) -> None:
    """PostgreSQL reads as many elements, each of them whole, and NULL where NULL was."""
    found = postgresql.execute("SELECT CAST(%s AS text[])", [array_text(texts)]).fetchone()
    assert found == (texts,)


def _cut() -> Cut:
    bound = bind(SQL, CLINIC)
    assert isinstance(bound, Cut)
    assert bound.traced is not None
    return bound


def _released() -> tuple[Release, NoisyRelease, Intervals]:
    step = _cut().releases[0]
    one_set = partial(analyze_release, pairs=False, enumerated_groups=10_000, min_units=10)
    made = analyze_grouping_sets(step.plan, one_set)
    parts = price_noise(made.parts, Distribution.GAUSSIAN, Fraction(1, 100), Fraction(1, 10**9))
    exact = ExactTable(((1950,), (1990,)), tuple((5000, 90) for _ in parts[0].noises))
    table = add_noise(exact, parts[0], Stream("finishing"))
    release = roll_up(PricedRelease(made, parts), [table])
    return step, release, Intervals(table, parts[0].analysis.formulas)


def test_constant_has_the_ends_of_intervals_before_the_numbers_of_its_rows() -> None:
    """Two columns for each form that is wanted, in their order, as doubles that read back the same."""
    step, release, intervals = _released()
    forms: tuple[Form, ...] = (AggregateRef(1), Over(AggregateRef(1), AggregateRef(0)))
    bare = release_constant(step, release)
    constant = release_constant(replace(step, bounds=forms), release)
    names = [name for name, _ in constant.columns]
    assert names[-5:] == ["l1", "h1", "l2", "h2", "n"]
    assert len(constant.texts) == len(names) == len(bare.texts) + 4
    assert constant.texts[:-5] == bare.texts[:-1]
    assert list(constant.texts[-1]) == [str(row) for row in range(release.rows)]
    for place, form in enumerate(forms):
        lows, highs = constant.texts[2 * place - 5], constant.texts[2 * place - 4]
        column = round_outward(IntervalEnds.of(intervals.column(form)))
        assert None in column
        assert [(low, high) for low, high in map(_ends, lows, highs) if low is not None] == [
            one for one in column if one is not None
        ]
        assert [low is None for low in lows] == [one is None for one in column]


def _ends(low: str | None, high: str | None) -> tuple[float | None, float | None]:
    return (None if low is None else float(low)), (None if high is None else float(high))


def test_counts_are_below_zero_where_the_policy_does_not_clamp() -> None:
    """And 0 where it does: with 100 empty groups some noise is negative (all but 1 in 2^100 times)."""
    step, release, _ = _released()
    plainly = release_constant(step, release, clamp=False).texts[1]
    shown = release_constant(step, release).texts[1]
    assert min(int(one or 0) for one in plainly) < 0
    assert [max(0, int(one or 0)) for one in plainly] == [int(one or 0) for one in shown]


def _one_by_one(
    cut: Cut, rows: Sequence[Row], intervals: Intervals
) -> tuple[tuple[Interval, ...], ...]:
    assert cut.traced is not None
    forms = cut.traced.cells.forms
    columns = {
        form: round_outward(IntervalEnds.of(intervals.column(form)))
        for form in forms
        if form is not None
    }
    return tuple(
        tuple(
            None if form is None or cell is None or row[-1] is None else columns[form][int(row[-1])]
            for form, cell in zip(forms, row, strict=False)
        )
        for row in rows
    )


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 100),
            st.booleans(),
            st.sampled_from([None, "1"]),
            st.sampled_from([None, "1", "2.5"]),
        ),
        max_size=12,
    )
)
def test_interval_is_that_of_the_row_a_cell_comes_from_in_any_order(
    picked: list[tuple[int, bool, str | None, str | None]],
) -> None:
    """Rows may be missing, come twice, come from none, or have NULL: that has no interval."""
    cut, (step, release, intervals) = _cut(), _released()
    rows: tuple[Row, ...] = tuple(
        ("1950", count, mean, None if nowhere else str(number))
        for number, nowhere, count, mean in picked
    )
    found = answer_intervals(cut, rows, {step.name: release})
    assert found == _one_by_one(cut, rows, intervals)


@pytest.mark.parametrize("missing", [None, 0, 7])
@pytest.mark.parametrize("left_out", [0, 1])
def test_interval_is_that_of_its_row_when_all_rows_come_in_order(
    missing: int | None, left_out: int
) -> None:
    """As they mostly do; a NULL among them has none, and the last rows may be cut off."""
    cut, (step, release, intervals) = _cut(), _released()
    rows: tuple[Row, ...] = tuple(
        ("1950", None if row == missing else "1", "2.5", str(row))
        for row in range(release.rows - left_out)
    )
    found = answer_intervals(cut, rows, {step.name: release})
    assert found == _one_by_one(cut, rows, intervals)
    assert any(one is not None for row in found for one in row)


def test_answer_has_no_intervals_when_its_rows_are_not_traced() -> None:
    """Shaped like the rows all the same."""
    cut, (step, release, _) = _cut(), _released()
    noisy = {step.name: release}
    untraced = replace(cut, traced=None, result=())
    assert answer_intervals(untraced, ((), ()), noisy) == ((), ())
    assert answer_intervals(cut, (), noisy) == ()
