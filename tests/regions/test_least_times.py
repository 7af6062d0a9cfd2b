"""MIN and MAX of functions of times: one number of a person in all spellings, with the value that it has."""

import duckdb
import pytest
from laws import for_each
from overlap.walk import parts

_VISITS = "SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING {}) t"
_COHORTS = (
    "SELECT k, COUNT(*) FROM (SELECT patient_id, {} AS k FROM visits GROUP BY 1) t GROUP BY 1"
)
_ORDERS = "SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY 1 HAVING {}) t"

_EQUAL = (
    (
        "clinic",
        _VISITS,
        "MAX(date_trunc('month', visit_date)) >= '2025-01-01'",
        "date_trunc('month', MAX(visit_date)) >= '2025-01-01'",
    ),
    (
        "clinic",
        _COHORTS,
        "MIN(date_trunc('month', visit_date))::date",
        "date_trunc('month', MIN(visit_date))::date",
    ),
    (
        "clinic",
        _COHORTS,
        "MIN(date_trunc('month', visit_date)::date)",
        "date_trunc('month', MIN(visit_date))::date",
    ),
    (
        "clinic",
        _COHORTS,
        "MIN(extract(year FROM visit_date))",
        "extract(year FROM MIN(visit_date))",
    ),
    (
        "clinic",
        _VISITS,
        "MIN(current_date - visit_date) <= 90",
        "current_date - MAX(visit_date) <= 90",
    ),
    (
        "clinic",
        _VISITS,
        "MAX(visit_date - DATE '2020-01-01') <= 90",
        "MAX(visit_date) - DATE '2020-01-01' <= 90",
    ),
    (
        "clinic",
        _VISITS,
        "MIN(DATE '2026-01-01' - visit_date) FILTER (WHERE cost > 5) <= 90",
        "DATE '2026-01-01' - MAX(visit_date) FILTER (WHERE cost > 5) <= 90",
    ),
    (
        "shop",
        _ORDERS,
        "MAX(ordered_at::date) >= '2026-01-01'",
        "MAX(ordered_at)::date >= '2026-01-01'",
    ),
)


@for_each("case", _EQUAL)
def test_function_of_times_is_one_of_the_least_or_the_greatest(
    case: tuple[str, str, str, str],
) -> None:
    """Each spelling is compared as the one with the function outside."""
    catalog, statement, inside, outside = case
    made, plain = (
        [one.scope for one in parts(catalog, statement.format(each))] for each in (inside, outside)
    )
    assert made == plain


_DIFFERENT = (
    ("MIN(extract(month FROM visit_date)) >= 3", "extract(month FROM MIN(visit_date)) >= 3"),
    ("MIN(current_date - visit_date) <= 90", "current_date - MIN(visit_date) <= 90"),
    ("COUNT(date_trunc('month', visit_date)) >= 3", "COUNT(visit_date) >= 4"),
)


@for_each("case", _DIFFERENT)
def test_other_functions_stay_inside(case: tuple[str, str]) -> None:
    """What rises and falls again, or another end, is another number."""
    inside, outside = (
        {one.scope for one in parts("clinic", _VISITS.format(each))} for each in case
    )
    assert inside != outside


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("min(date_trunc('week', t))", "date_trunc('week', min(t))"),
        ("max(date_trunc('quarter', t)::date)", "date_trunc('quarter', max(t))::date"),
        ("min(extract(year FROM t))", "extract(year FROM min(t))"),
        ("max(t::date)", "max(t)::date"),
        ("min(DATE '2026-03-01' - t::date)", "DATE '2026-03-01' - max(t)::date"),
        ("max(t::date - DATE '2026-03-01')", "max(t)::date - DATE '2026-03-01'"),
    ],
)
def test_function_has_the_same_value_outside(inside: str, outside: str) -> None:
    """Over any set of times, with NULL among them and alone."""
    rows = (
        "SELECT i % 97 AS person, CASE WHEN i % 5 > 0 AND i % 97 <> 7"
        " THEN TIMESTAMP '1901-03-04 05:06:07' + to_seconds(i * 7919173 % 6000000007) END AS t FROM range(2000) r(i)"
    )
    wrong = f"SELECT count(*) FROM (SELECT {inside} IS DISTINCT FROM {outside} AS w FROM ({rows}) GROUP BY person) WHERE w"
    assert duckdb.sql(wrong).fetchall() == [(0,)]


def test_number_of_different_months_is_no_condition_on_a_month() -> None:
    """It is that of the person's groups by month, unless the query chose where these begin."""
    months = parts("clinic", _VISITS.format("COUNT(DISTINCT date_trunc('month', visit_date)) >= 3"))
    assert not any(one.scope.unreadable for one in months)
    chosen = parts(
        "clinic",
        _VISITS.format("COUNT(DISTINCT date_trunc('month', visit_date + interval '11 days')) >= 3"),
    )
    assert any(one.scope.unreadable for one in chosen)
    halves = parts("clinic", _VISITS.format("COUNT(DISTINCT visit_date >= DATE '2024-03-05') = 2"))
    assert any(
        "visits.visit_date" in {axis.name for axis in one.scope.region.axes} for one in halves
    )
