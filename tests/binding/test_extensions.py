"""Extensions of SQL: the ends of intervals as columns, and medians by their name."""

from fractions import Fraction

import pytest
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.binding.describe import constant_columns, empty_select
from gateway.binding.extensions import describable_sql, replace_own_aggregates
from gateway.plan.fields import BIGINT, DOUBLE
from gateway.plan.formulas import AggregateRef, NumberForm, Over, Times


@for_each(
    ("sql", "asked"),
    [
        ("SELECT 1", "SELECT 1"),
        (
            "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo",
            "SELECT COUNT(*) AS n, NULL::float8       AS lo",
        ),
        (
            "SELECT x FROM t WHERE dp_interval_low(n) > 3",
            "SELECT x FROM t WHERE NULL::float8       > 3",
        ),
        (
            "SELECT DP_INTERVAL_HIGH(n * (2 + 1)), 2",
            "SELECT (SELECT NULL::float8 AS dp_interval_high), 2",
        ),
        (
            "SELECT a, DP_INTERVAL_LOW(n)::int FROM t",
            "SELECT a, (SELECT NULL::float8 AS dp_interval_low)::int FROM t",
        ),
        ('SELECT "dp_interval_low"(n) AS x', "SELECT NULL::float8         AS x"),
        ('SELECT "DP_INTERVAL_LOW"(n) AS x', 'SELECT "DP_INTERVAL_LOW"(n) AS x'),
        ("SELECT s.dp_interval_low(n) AS x", "SELECT s.dp_interval_low(n) AS x"),
        ("SELECT 'dp_interval_low(n)' AS x", "SELECT 'dp_interval_low(n)' AS x"),
        ("SELECT dp_interval_low FROM t", "SELECT dp_interval_low FROM t"),
        ("SELECT DP_INTERVAL_LOW(n", "SELECT DP_INTERVAL_LOW(n"),
    ],
)
def test_text_has_a_null_in_the_place_of_a_call_when_postgresql_is_asked(
    sql: str, asked: str
) -> None:
    """A call becomes a NULL with its type and name, and, where it has a name already, with its length."""
    assert describable_sql(sql) == asked


def test_constant_has_the_ends_between_measures_and_number() -> None:
    """For each form that is asked for a release has two columns, in the order of the forms."""
    sql = """SELECT SUM(income) AS s, COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n),
    DP_INTERVAL_LOW(SUM(income) / COUNT(*) * 2) FROM patients"""
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    [release] = bound.releases
    ratio = Times(Over(AggregateRef(0), AggregateRef(1)), NumberForm(Fraction(2)))
    assert release.bounds == (AggregateRef(1), ratio)
    names = [name for name, _ in constant_columns(release)]
    assert names == ["m1", "m2", "l1", "h1", "l2", "h2", "n"]
    assert [of for _, of in constant_columns(release)][2:] == [DOUBLE] * 4 + [BIGINT]
    assert 'CAST(NULL AS double precision) AS "h2"' in empty_select(release)


def test_release_is_one_when_ends_are_asked_for_beside_it() -> None:
    """A subquery that asks for an end and one that does not are the same release, at the same price."""
    sql = """SELECT (SELECT COUNT(*) FROM patients) AS n, (SELECT DP_INTERVAL_LOW(COUNT(*)) FROM patients) AS lo,
    (SELECT DP_INTERVAL_HIGH(COUNT(*)) FROM patients) AS hi"""
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    [release] = bound.releases
    assert release.bounds == (AggregateRef(0),)


def test_statement_has_no_ends_when_none_are_asked_for() -> None:
    """What nobody asks for is not computed."""
    bound = bind("SELECT COUNT(*) AS dp_interval_low FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    assert [one.bounds for one in bound.releases] == [()]


_MEDIAN = "(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a){} AS median)"


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT MEDIAN(a), b", f"SELECT {_MEDIAN.format('')}, b"),
        ('SELECT "median"(a)::int', f"SELECT {_MEDIAN.format('')}::int"),
        (
            "SELECT median(a) FILTER (WHERE (b) > 1) + 1",
            f"SELECT {_MEDIAN.format(' FILTER (WHERE (b) > 1)')} + 1",
        ),
        (
            "SELECT 1 HAVING median(a) > 1 ORDER BY Median(a)",
            f"SELECT 1 HAVING {_MEDIAN.format('')} > 1 ORDER BY {_MEDIAN.format('')}",
        ),
        (
            "SELECT x, DP_TOP(f(a, b), 3) FILTER (WHERE c), dp_top(a)",
            "SELECT x, (SELECT array_agg(f(a, b)) FILTER (WHERE c) AS dp_top), dp_top(a)",
        ),
        ("SELECT median(), s.median(a)", "SELECT median(), s.median(a)"),
        ('SELECT "MEDIAN"(a), median, median(*)', 'SELECT "MEDIAN"(a), median, median(*)'),
        ("SELECT 'median(a)', median(a", "SELECT 'median(a)', median(a"),
    ],
)
def test_text_has_a_percentile_in_the_place_of_a_median_when_postgresql_is_asked(
    sql: str, asked: str
) -> None:
    """The subquery around it keeps the name of its column; what is no call stays."""
    assert replace_own_aggregates(sql) == asked


def test_median_is_the_percentile() -> None:
    """The same release, so the same price; an array is each of its fractions by itself."""
    percentile = "percentile_cont(0.5) WITHIN GROUP (ORDER BY income)"
    sqls = (
        "SELECT MEDIAN(income) FROM patients",
        f"SELECT {percentile} FROM patients",
        f"SELECT MEDIAN(income), {percentile} FROM patients",
        f"SELECT {percentile.replace('0.5', 'ARRAY[0.5]')} FROM patients",
    )
    plans = []
    for sql in sqls:
        bound = bind(sql, CLINIC)
        assert isinstance(bound, Cut)
        plans.append(bound.releases[0].plan)
    assert plans == [plans[0]] * len(sqls)
