"""Aggregates that look at fewer rows than their question are about these rows."""

import pytest
from laws import for_each
from regions.ward import plan_of, scope, where

from gateway.regions.scope import ReleaseScope, aggregate_scopes


def _asides(aggregates: str, rest: str = "") -> tuple[ReleaseScope, ...]:
    sql = f"SELECT {aggregates} FROM patients {rest}"
    return aggregate_scopes(plan_of(sql), scope(sql), {})


@for_each(
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


def _unread(sql: str) -> list[str]:
    """Conditions that nobody understands, of the question and of what is beside it."""
    about = scope(sql)
    every = (about, *aggregate_scopes(plan_of(sql), about, {}))
    return [name for one in every for name in one.unreadable]


_BY_PERSON = "PARTITION BY patient_id"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT SUM(w) FROM (SELECT MAX(CASE WHEN cost = 7 THEN 1 ELSE 0 END) OVER ({_BY_PERSON}) AS w FROM visits) t",
        f"SELECT SUM(w) FROM (SELECT SUM(NULLIF(cost, 7)) OVER ({_BY_PERSON}) AS w FROM visits) t",
        f"SELECT SUM(w + 1) FROM (SELECT LAG(cost) OVER ({_BY_PERSON} ORDER BY (cost = 7)::int) AS w FROM visits) t",
        f"""SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER ({_BY_PERSON} ORDER BY
        CASE WHEN cost = 7 THEN 0 ELSE 1 END) AS w FROM visits) t WHERE w = 1""",
        f"""SELECT AVG(m) FROM (SELECT patient_id, MIN(w) AS m FROM (SELECT patient_id,
        MAX(CASE WHEN cost = 7 THEN 1 ELSE 0 END) OVER ({_BY_PERSON}) AS w FROM visits) t GROUP BY patient_id) u""",
        """SELECT SUM(m) FROM (SELECT patient_id, MAX(x) AS m FROM (SELECT patient_id, income AS x FROM patients
        UNION ALL SELECT patient_id, 50000 FROM patients) u GROUP BY patient_id) t""",
    ],
)
def test_choice_among_the_rows_of_a_person_is_a_condition_that_nobody_understands(sql: str) -> None:
    """A window, or the least of mixed values, hides none."""
    assert _unread(sql)


@pytest.mark.parametrize(
    "sql",
    [
        f"""SELECT SUM(w) FROM (SELECT SUM(cost) OVER ({_BY_PERSON} ORDER BY visit_date
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS w FROM visits) t""",
        f"""SELECT AVG(d) FROM (SELECT visit_date - LAG(visit_date) OVER ({_BY_PERSON} ORDER BY visit_date) AS d
        FROM visits) t""",
        f"""SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER ({_BY_PERSON} ORDER BY visit_date) AS w FROM visits) t
        WHERE w = 1""",
        "SELECT AVG(m) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY patient_id) t",
    ],
)
def test_ordinary_windows_choose_by_no_condition(sql: str) -> None:
    """The first visit, the time between two, and what one person paid at most."""
    assert not _unread(sql)


@pytest.mark.parametrize(
    ("aggregate", "join", "condition"),
    [
        ("COUNT(b.patient_id)", "visits b ON b.patient_id = a.patient_id AND b.cost = 7", "b.cost = 7"),
        ("COUNT(*)", "visits b ON b.patient_id = a.patient_id AND b.cost = 7", "b.cost = 7"),
        ("SUM(b.cost)", "(SELECT * FROM visits WHERE cost = 7) b ON b.patient_id = a.patient_id", "b.cost = 7"),
        ("AVG(p.birth_year)", "patients p ON p.patient_id = a.patient_id AND p.sex = 'f'", "p.sex = 'f'"),
    ],
)  # fmt: skip
def test_outer_join_is_about_the_rows_that_it_meets_too(
    aggregate: str, join: str, condition: str
) -> None:
    """As if it had been asked with JOIN and WHERE; what is asked of the other rows holds for them."""
    sql = f"SELECT {aggregate} FROM visits a LEFT JOIN {join} WHERE a.ward < 5"
    tables = join.split(" ON ", maxsplit=1)[0].replace(
        "(SELECT * FROM visits WHERE cost = 7)", "visits"
    )
    beside = scope(
        f"SELECT COUNT(*) FROM visits a JOIN {tables} ON {tables[-1]}.patient_id = a.patient_id"
        f" WHERE {condition} AND a.ward < 5"
    )
    found = aggregate_scopes(plan_of(sql), scope(sql), {})
    assert (beside.shape, beside.region) in {(one.shape, one.region) for one in found}


def test_anti_join_is_about_the_rows_that_it_leaves_out() -> None:
    """What is left tells of them."""
    sql = """SELECT COUNT(*) FROM visits a LEFT JOIN visits b ON b.patient_id = a.patient_id AND b.cost = 7
    WHERE b.patient_id IS NULL"""
    assert any("cost" in str(one.region) for one in aggregate_scopes(plan_of(sql), scope(sql), {}))


@pytest.mark.parametrize(
    ("aggregate", "condition"),
    [
        ("COUNT(*) FILTER (WHERE v.cost > 7)", "cost > 7"),
        ("SUM(CASE WHEN v.cost > 7 THEN 1 ELSE 0 END)", "cost > 7"),
        ("SUM(v.cost) FILTER (WHERE v.ward < 5 AND v.cost > 7)", "ward < 5 AND cost > 7"),
    ],
)
def test_condition_on_the_far_side_is_about_the_rows_that_are_met(
    aggregate: str, condition: str
) -> None:
    """In FILTER and CASE as in ON."""
    sql = f"SELECT {aggregate} FROM patients a LEFT JOIN visits v ON v.patient_id = a.patient_id"
    found = aggregate_scopes(plan_of(sql), scope(sql), {})
    rows = scope(
        f"SELECT COUNT(*) FROM patients a JOIN visits v ON v.patient_id = a.patient_id WHERE {condition}"
    )
    assert (rows.shape, rows.region) in {(one.shape, one.region) for one in found}


@pytest.mark.parametrize(
    "sql",
    [
        """SELECT COUNT(b.m) FROM patients a LEFT JOIN (SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost > 7
        GROUP BY patient_id) b ON b.patient_id = a.patient_id""",
        """SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n, ROW_NUMBER() OVER (PARTITION BY
        patient_id ORDER BY visit_date) AS rn FROM visits WHERE cost > 7) x WHERE rn = 1""",
        """SELECT SUM(n) FROM (SELECT SUM(CASE WHEN cost > 7 THEN 1 ELSE 0 END) OVER (PARTITION BY patient_id) AS n
        FROM visits) x""",
    ],
)  # fmt: skip
def test_rows_that_were_counted_for_each_person_are_told_of(sql: str) -> None:
    """Beside a person on the far side, and by a window."""
    rows = where("cost > 7", "visits")
    assert rows in {one.region for one in aggregate_scopes(plan_of(sql), scope(sql), {})}
