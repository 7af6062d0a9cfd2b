"""Persons who have rows: EXISTS, groupings by the unit and counts of distinct units have one form."""

import json

import pytest
from laws import for_each
from regions.ward import plan_of, scope, where

from gateway.overlap.person_numbers import compared_numbers, numbers_of
from gateway.regions.names import region_text
from gateway.regions.region import EVERYTHING
from gateway.regions.scope import ReleaseScope, aggregate_scopes
from gateway.regions.scope_json import scope_json, scope_of_json

_EXISTS = "SELECT COUNT(*) FROM patients p WHERE income > 1000 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id{})"
_RICH = where("income > 1000")
_JOINED = "SELECT COUNT(*) FROM patients JOIN ({}) g USING (patient_id) WHERE income > 1000"


def _of_persons(sql: str) -> list[ReleaseScope]:
    """What a statement says of rows of patients alone, without numbers of persons."""
    every = (scope(sql), *aggregate_scopes(plan_of(sql), scope(sql), {}))
    return [one for one in every if one.shape == "patients" and not one.numbers]


def _texts(sql: str) -> set[str]:
    return {region_text(one.region) for one in _of_persons(sql)}


@for_each("sql", [
    _EXISTS.format(""),
    _JOINED.format("SELECT patient_id FROM visits GROUP BY 1"),
    _JOINED.format("SELECT DISTINCT patient_id FROM visits"),
    _JOINED.format("SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY 1"),
    _JOINED.format("SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1") + " AND n > 2",
    _JOINED.format("SELECT patient_id FROM visits UNION SELECT patient_id FROM visits"),
    _JOINED.format("SELECT patient_id FROM (SELECT patient_id, visit_date FROM visits GROUP BY 1, 2) d GROUP BY 1"),
    "SELECT COUNT(*) FROM (SELECT patient_id FROM patients JOIN visits USING (patient_id) WHERE income > 1000 GROUP BY 1) t",
    "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, income FROM patients JOIN visits USING (patient_id)) t WHERE income > 1000",
    "SELECT COUNT(DISTINCT patient_id) FROM patients JOIN visits USING (patient_id) WHERE income > 1000",
    "SELECT COUNT(DISTINCT patient_id) FILTER (WHERE income > 1000) FROM patients JOIN visits USING (patient_id)",
    "SELECT COUNT(*) FROM patients WHERE income > 1000 AND patient_id IN (SELECT DISTINCT patient_id FROM visits)",
    "SELECT COUNT(*) FROM patients WHERE income > 1000 AND patient_id IN (SELECT patient_id FROM visits GROUP BY 1)",
    "SELECT COUNT(*) FROM patients WHERE income > 1000 AND patient_id IN (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits)",
    (
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS k "
        "FROM visits JOIN patients USING (patient_id) WHERE income > 1000) t WHERE k = 1"
    ),
])  # fmt: skip
def test_persons_with_rows_are_one_region_in_each_form(sql: str) -> None:
    """A grouping by the unit is EXISTS of its rows, whatever numbers are beside it."""
    assert region_text(scope(_EXISTS.format("")).region) in _texts(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patients JOIN visits USING (patient_id) WHERE income > 1000",
        "SELECT COUNT(*) FROM (SELECT patient_id, visit_date FROM patients JOIN visits USING (patient_id) WHERE income > 1000 GROUP BY 1, 2) t",
        _JOINED.format("SELECT patient_id FROM visits WHERE cost > 5 GROUP BY 1"),
        (
            "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS k "
            "FROM visits JOIN patients USING (patient_id) WHERE income > 1000) t WHERE k = 2"
        ),
    ],
)
def test_other_rows_are_no_persons_with_rows(sql: str) -> None:
    """The control: several rows of a person, other rows, and second rows are something else."""
    assert region_text(scope(_EXISTS.format("")).region) not in _texts(sql)


def test_outer_join_that_nobody_reads_leaves_all_persons() -> None:
    """Each person has a row in it, so it is no condition, unless one reads the far side."""
    joined = "SELECT COUNT(DISTINCT p.patient_id) FROM patients p LEFT JOIN visits v USING (patient_id) WHERE income > 1000"
    assert _RICH in {one.region for one in _of_persons(joined)}
    assert _RICH not in {one.region for one in _of_persons(f"{joined} AND v.cost > 5")}


def test_condition_on_the_unit_of_a_row_is_one_on_the_person() -> None:
    """It stands beside EXISTS, where leaving out one person is narrow."""
    inside = scope(_EXISTS.format(" AND v.patient_id <> 681"))
    assert "visits.patient_id" in {one.name for one in inside.region.axes}
    assert "exists (visits)" in {one.name for one in inside.region.axes}


def test_numbers_of_scans_do_not_tell_equal_persons_apart() -> None:
    """The grouping that is written first has the first scan, and the rows beside it have the second."""
    grouped = "(SELECT patient_id FROM visits GROUP BY 1) g"
    asked = [
        f"SELECT COUNT(*) FROM {grouped} JOIN visits v USING (patient_id) WHERE v.cost > 5",
        f"SELECT COUNT(*) FROM visits v JOIN {grouped} USING (patient_id) WHERE v.cost > 5",
    ]
    found = [
        {region_text(one.region) for one in aggregate_scopes(plan_of(sql), scope(sql), {}) if one.shape == "visits"}
        for sql in asked
    ]  # fmt: skip
    assert found[0] & found[1]
    assert all("exists (visits)" in text and "#" not in text for text in found[0] & found[1])


def test_numbers_of_groups_are_compared_with_persons_without_numbers_alone() -> None:
    """Numbers of different rows look like numbers of the same persons; the groupings themselves are compared."""
    sql = _JOINED.format("SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1") + " AND n > 2"
    [made] = [one for one in aggregate_scopes(plan_of(sql), scope(sql), {}) if one.of_groups]
    plain = ReleaseScope("patients", frozenset({"patients"}), EVERYTHING, (), ())
    assert made.numbers
    assert set(compared_numbers(made)) == {numbers_of(plain)}
    assert numbers_of(made) in compared_numbers(plain)
    written = json.loads(json.dumps(scope_json(made)))
    assert scope_of_json(written) == made
    del written["of_groups"]
    assert not scope_of_json(written).of_groups
