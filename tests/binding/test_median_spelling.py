"""Medians by their name: what PostgreSQL is asked about, and what is read."""

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.binding.extensions import replace_own_aggregates

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
