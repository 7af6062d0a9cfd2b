"""Conditions on how far two times of a row are apart are conditions on an axis of their own."""

from laws import for_each
from regions.ward import scope

_SECONDS = "visits.admitted - visits.visit_date"
_DAYS = "visits.admitted::date - visits.visit_date"
_SAME = """
admitted - visit_date < interval '2 days'
admitted < visit_date + interval '2 days'
visit_date + 2 > admitted
visit_date > admitted - interval '48 hours'
interval '2 days' > admitted - visit_date
extract(epoch FROM admitted - visit_date) < 172800
extract(epoch FROM admitted) < extract(epoch FROM visit_date) + 172800
extract(epoch FROM admitted - visit_date) / 86400 < 2
-extract(epoch FROM admitted - visit_date) / 3600.0 > -48
NOT (admitted - visit_date >= interval '2 days')
(CASE WHEN admitted - visit_date < interval '2 days' THEN 1 ELSE 0 END) = 1 AND admitted IS NOT NULL
"""
_OPAQUE = """
admitted > visit_date + interval '1 month'
admitted > visit_date + interval '40000 days'
extract(epoch FROM admitted) > 2 * extract(epoch FROM visit_date)
extract(epoch FROM admitted) + extract(epoch FROM visit_date) > 5
date_trunc('month', admitted) > visit_date
extract(epoch FROM admitted - visit_date) / 100000000000 > 0.5
extract(epoch FROM admitted - visit_date) * 7 > 1
extract(epoch FROM admitted - visit_date)::real = 50000001
date_trunc('day', admitted) - visit_date > interval '1 hour'
(admitted::date - visit_date) * 3.0 > 1
"""
_DEPENDENT = """
SELECT COUNT(*) FROM visits WHERE admitted > visit_date + 3 AND visit_date > '2024-01-01' AND admitted < '2024-06-01'
SELECT COUNT(*) FROM visits WHERE admitted::date > visit_date + 3 AND visit_date > '2024-01-01' AND admitted < '2024-06-01'
SELECT visit_date, COUNT(*) FROM visits WHERE admitted > visit_date AND admitted < '2024-06-01' GROUP BY 1
SELECT date_trunc('month', admitted), visit_date, COUNT(*) FROM visits WHERE admitted > visit_date GROUP BY 1, 2
SELECT COUNT(*) FROM visits WHERE admitted::date - visit_date <= 2 AND NOT (admitted - visit_date >= interval '4319 minutes')
SELECT admitted::date - visit_date, COUNT(*) FROM visits WHERE admitted - visit_date < interval '4319 minutes' GROUP BY 1
"""
_THREE = """
v.admitted - w.admitted <= interval '5 days' AND w.admitted - u.admitted <= interval '9 days' AND v.admitted - u.admitted < interval '14 days'
v.admitted - w.admitted <= interval '5 days' AND NOT (w.admitted > u.admitted AND v.admitted > u.admitted + interval '9 days')
v.admitted - w.admitted <= interval '5 days' AND w.admitted > u.admitted AND v.admitted > '2024-01-01' AND u.admitted < '2025-01-01'
"""
_INDEPENDENT = """
SELECT COUNT(*) FROM visits WHERE admitted > visit_date + 3 AND visit_date > '2024-01-01'
SELECT COUNT(*) FROM visits WHERE admitted > visit_date + 3 AND visit_date > '2024-01-01' AND admitted IS NOT NULL
SELECT visit_date, COUNT(*) FROM visits WHERE admitted > visit_date GROUP BY 1
SELECT COUNT(*) FROM visits WHERE visit_date > '2024-01-01' AND admitted < '2024-06-01'
"""


@for_each("condition", _SAME.strip().splitlines())
def test_one_difference_is_one_region_however_it_is_written(condition: str) -> None:
    """Both directions, seconds and days, and quotients have one axis."""
    found = scope(f"SELECT COUNT(*) FROM visits WHERE {condition}")
    wanted = scope("SELECT COUNT(*) FROM visits WHERE admitted - visit_date < interval '2 days'")
    [axis] = wanted.region.axes
    assert axis.name == _SECONDS
    assert found.unreadable == ()
    boxes = [dict(box.parts)[_SECONDS] for box in found.region.boxes]
    assert boxes == [dict(box.parts)[_SECONDS] for box in wanted.region.boxes]


def test_days_of_times_are_another_difference() -> None:
    """A night can be an hour long."""
    found = scope("SELECT COUNT(*) FROM visits WHERE admitted::date - visit_date >= 1")
    assert [one.name for one in found.region.axes] == [_DAYS]


@for_each("condition", _OPAQUE.strip().splitlines())
def test_what_is_no_difference_stays_opaque(condition: str) -> None:
    """Months, other factors, sums, and times that could leave the calendar."""
    found = scope(f"SELECT COUNT(*) FROM visits WHERE {condition}")
    assert len(found.unreadable) == 1
    assert found.unreadable[0] not in {_SECONDS, _DAYS}


@for_each("sql", _DEPENDENT.strip().splitlines())
def test_difference_beside_both_of_its_times_is_opaque(sql: str) -> None:
    """The corner of such a box can be one person, and its sides do not show it."""
    assert set(scope(sql).unreadable) & {_SECONDS, _DAYS}


@for_each("condition", _THREE.strip().splitlines())
def test_differences_that_close_a_cycle_are_opaque(condition: str) -> None:
    """Three times tied to each other, or two of them to each other and to the calendar, have corners, too."""
    of = "visits v JOIN visits w USING (patient_id) JOIN visits u USING (patient_id)"
    assert scope(f"SELECT COUNT(*) FROM {of} WHERE {condition}").unreadable
    first = condition.split(" AND ", maxsplit=1)[0]
    assert scope(f"SELECT COUNT(*) FROM {of} WHERE {first}").unreadable == ()


@for_each("sql", _INDEPENDENT.strip().splitlines())
def test_difference_beside_one_of_its_times_is_read(sql: str) -> None:
    """The control."""
    assert scope(sql).unreadable == ()
