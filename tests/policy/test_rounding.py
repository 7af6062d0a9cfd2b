"""Which results are reported in which ranges: by what an aggregate is computed from, the widest of all."""

from fractions import Fraction

import pytest
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.tables import ColumnRef
from gateway.errors import Code, NotPermitted
from gateway.plan.aggregates import Aggregate
from gateway.policy.policy import ReportedRanges
from gateway.policy.rounding import range_notices, ranges_of

REPORTED = ReportedRanges(
    Fraction(10),
    {
        ColumnRef("patients", "income"): Fraction(1000),
        ColumnRef("visits", "cost"): Fraction(50),
        ColumnRef("visits", "visit_date"): Fraction(7),
    },
)


def _plan(items: str, rows: str = "patients") -> Aggregate:
    bound = bind(f"SELECT {items} FROM {rows}", CLINIC)
    assert isinstance(bound, Cut)
    [release] = bound.releases
    return release.plan


@for_each(
    ("item", "width"),
    [
        ("count(*)", 10),
        ("count(income)", 10),
        ("count(DISTINCT patient_id)", 10),
        ("regr_count(income, birth_year)", 10),
        ("sum(1)", 10),
        ("sum(CASE WHEN income > 5 THEN 1 ELSE 0 END)", 10),
        ("sum(smoker::integer)", 10),
        ("avg(CASE WHEN income > 5 THEN 1.0 ELSE 0 END)", None),
        ("avg(birth_year)", None),
        ("sum(birth_year)", None),
        ("avg(birth_year) FILTER (WHERE income > 5)", None),
        ("avg(income)", 1000),
        ("sum(income + birth_year)", 1000),
        ("sum(CASE WHEN smoker THEN income ELSE 0 END)", 1000),
        ("max(round(income, -3))", 1000),
        ("stddev_samp(income)", 1000),
        ("regr_intercept(birth_year, income)", 1000),
        ("var_samp(income)", 1000**2),
        ("covar_pop(birth_year, income)", 1000**2),
        ("corr(birth_year, birth_year)", None),
    ],
)
def test_ranges_are_those_of_what_a_result_is_computed_from(item: str, width: int | None) -> None:
    """Counts have their own; a condition alone is not what a value is computed from."""
    assert ranges_of(_plan(item), REPORTED) == (None if width is None else Fraction(width),)


def test_ranges_of_several_columns_are_the_widest() -> None:
    """Also of what was computed for each person before."""
    both = "patients p JOIN visits v ON v.patient_id = p.patient_id"
    assert ranges_of(_plan("avg(v.cost * p.income)", both), REPORTED) == (Fraction(1000),)
    each = (
        "(SELECT patient_id, sum(cost) AS total, count(*) AS n FROM visits GROUP BY patient_id) t"
    )
    found = ranges_of(_plan("avg(total), sum(n), max(n)", each), REPORTED)
    assert found == (Fraction(50), Fraction(10), None)


@pytest.mark.parametrize("item", ["corr(income, birth_year)", "regr_slope(income, birth_year)"])
def test_result_without_ranges_of_a_column_with_ranges_is_refused(item: str) -> None:
    """It is no amount of the column, and shown as it is would be finer than the policy says."""
    with pytest.raises(NotPermitted) as refusal:
        ranges_of(_plan(item), REPORTED)
    assert refusal.value.code is Code.OPERATION_NOT_PERMITTED
    # the negative control: the column's ranges are the reason
    assert ranges_of(_plan(item), ReportedRanges(Fraction(10))) == (None,)


def test_notices_tell_the_ranges_in_the_unit_of_the_result() -> None:
    """Days of dates; nothing of what is shown as it is."""
    plan = _plan("count(*), max(visit_date), avg(weight)", "visits")
    assert tuple(range_notices(plan, ranges_of(plan, REPORTED))) == (
        "`count(*)` is reported in ranges of 10",
        "`max(visits.visit_date)` is reported in ranges of 7 days",
    )
    assert tuple(range_notices(plan, ())) == ()
