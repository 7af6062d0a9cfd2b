"""Aggregates that look at fewer rows than their question are about these rows."""

import pytest
from overlap.regions.ward import ground, plan_of, where

from gateway.overlap.ground import Ground, asides_of


def _asides(aggregates: str, rest: str = "") -> tuple[Ground, ...]:
    sql = f"SELECT {aggregates} FROM patients {rest}"
    return asides_of(plan_of(sql), ground(sql), {})


@pytest.mark.parametrize(
    ("aggregate", "condition"),
    [
        ("COUNT(*) FILTER (WHERE name <> 'alice')", "name <> 'alice'"),
        ("COUNT(DISTINCT patient_id) FILTER (WHERE smoker)", "smoker"),
        ("COUNT(CASE WHEN name <> 'alice' THEN 1 END)", "name <> 'alice'"),
        ("COUNT(CASE WHEN smoker THEN income END)", "smoker"),
        ("SUM(CASE WHEN name <> 'alice' THEN 1 ELSE 0 END)", "name <> 'alice'"),
        ("SUM(CASE WHEN name <> 'alice' THEN birth_year END)", "name <> 'alice'"),
        ("SUM(CASE WHEN smoker THEN 0 ELSE birth_year END)", "smoker IS NOT TRUE"),
        ("SUM(CASE WHEN smoker THEN 0 WHEN sex = 'f' THEN 1 ELSE 0 END)", "smoker IS NOT TRUE AND sex = 'f'"),
        ("SUM(CAST(name <> 'alice' AS integer))", "name <> 'alice'"),
        ("SUM(birth_year * CAST(name <> 'alice' AS integer))", "name <> 'alice'"),
        ("COUNT(NULLIF(CASE WHEN smoker THEN 1 ELSE 0 END, 0))", "smoker"),
        ("AVG(CASE WHEN smoker THEN birth_year END)", "smoker"),
        ("SUM(CASE WHEN sex = 'f' THEN 1 ELSE 0 END) FILTER (WHERE smoker)", "sex = 'f' AND smoker"),
    ],
)  # fmt: skip
def test_aggregate_over_fewer_rows_is_about_these(aggregate: str, condition: str) -> None:
    """As if it had been asked with WHERE."""
    [found] = _asides(aggregate)
    assert found.region == where(condition)
    assert found.shape == "patients"


@pytest.mark.parametrize(
    "aggregate",
    [
        "COUNT(*)",
        "SUM(birth_year)",
        "COUNT(income)",
        "COUNT(CASE WHEN smoker THEN 1 ELSE 0 END)",
        "COUNT(*) FILTER (WHERE birth_year >= 1920)",
    ],
)
def test_aggregate_over_all_rows_has_no_rows_of_its_own(aggregate: str) -> None:
    """What every row moves is about the rows of the question."""
    assert _asides(aggregate) == ()


def test_asides_are_within_the_question_and_cut_as_it_is() -> None:
    """Its conditions hold for them, too, its keys are theirs, and each region is there once."""
    found = _asides(
        "region, COUNT(*), COUNT(*) FILTER (WHERE smoker), COUNT(CASE WHEN smoker THEN 1 END)",
        "WHERE birth_year < 1950 GROUP BY region",
    )
    [only] = found
    assert only.region == where("birth_year < 1950 AND smoker")
    assert [one.text for one in only.keys] == ["patients.region"]


def test_aside_says_which_condition_nobody_understands() -> None:
    """A condition does not hide in an aggregate."""
    [found] = _asides("COUNT(*) FILTER (WHERE name LIKE 'a%')")
    assert found.unreadable == ("(patients.name like 'a%')",)
