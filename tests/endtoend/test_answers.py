"""Answers are what plain PostgreSQL gives on the same rows, where noise is nothing and no bound bites.

Differences that are meant, and kept out of the cases: SUM over nothing is 0 and AVG over nothing the middle of
the domain, not NULL; LOWER and UPPER turn ASCII letters alone; groups of fewer than `min_units` are not shown;
groups that a policy lists are shown when they are empty; what has no step of its own is rounded to 2⁻³⁰ of its
range before it is added up.
"""

from dataclasses import replace

import psycopg
import pytest
from binding.cases import Case as BoundCase
from binding.corpus import accepted
from endtoend.cases import ROOM, Case, cases
from endtoend.house import AskedGateway
from endtoend.normal import differences, is_ordered, without_empty_groups
from endtoend.plain import Result, plain_result

from gateway.errors import Code, Refusal

_CASES = [one for one in cases() if one.topic != "listed"]
_LISTED = [one for one in cases() if one.topic == "listed"]
# statements of a connection; what a server says of itself, and arrays of rows in no order
_NO_ANSWERS = {"settings", "statements"}
_LEFT_OPEN = {"twin: who and when on the twin", "twin: arrays above a release"}
_BOUND = [one for one in accepted() if one.topic not in _NO_ANSWERS and one.name not in _LEFT_OPEN]
# the titles of what may be refused, as understood and not answered yet, or as never bounded
_UNANSWERED = frozenset((ROOM / "unanswered.txt").read_text().splitlines())
_REFUSED = {Code.NO_BOUND, Code.NOT_ANSWERED_YET}
# ORDER BY leaves open which of two rows comes first
_TIED = {"bi_tools: superset: a chart over a virtual table"}
# values without a step: rounded to a lattice before they are added
_ROUNDED = {
    "allowed: the mean and the least of each person",
    "expressions: epoch",
    "per_person: expressions over per-person aggregates",
    "per_person: neighbours within a frame",
}
_ROUNDED_DIGITS = 8
_SOURCES = ("laplace", "gaussian")


def test_enough_statements_are_compared() -> None:
    """The cases are many, and each has a name of its own."""
    names = [one.name for one in cases()]
    assert len(names) == len(set(names))
    assert len(names) >= 150


@pytest.mark.parametrize("dataset", _SOURCES)
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_answer_is_what_plain_postgresql_gives(
    gateway: AskedGateway, plain: psycopg.Connection, case: Case, dataset: str
) -> None:
    """Columns, types and rows of an answer are those of the statement as it was written."""
    answer = gateway.answer(case.sql, dataset)
    expected = plain_result(plain, case.sql)
    assert differences(expected, answer, ordered=is_ordered(case.sql)) == []


@pytest.mark.parametrize("case", _LISTED, ids=lambda case: case.name)
def test_answer_has_the_listed_groups_besides_those_of_plain_postgresql(
    gateway: AskedGateway, plain: psycopg.Connection, case: Case
) -> None:
    """Where the policy lists the groups, those that are empty come back with 0, and nothing else is added."""
    answer = gateway.answer(case.sql, "listed")
    expected = plain_result(plain, case.sql)
    answer = without_empty_groups(answer, expected)
    assert differences(expected, answer, ordered=is_ordered(case.sql)) == []


def test_listed_groups_come_back_when_they_are_empty(gateway: AskedGateway) -> None:
    """What is there does not tell which groups there are."""
    answer = gateway.answer("SELECT birth_year, COUNT(*) FROM patients GROUP BY 1", "listed")
    assert [row[0] for row in answer.rows] == [str(year) for year in range(1920, 2021)]


@pytest.mark.parametrize("case", _BOUND, ids=lambda case: case.name)
def test_answer_is_what_plain_postgresql_gives_for_a_statement_that_binds(
    gateway: AskedGateway, plain: psycopg.Connection, case: BoundCase
) -> None:
    """Every statement of the binder's cases is answered as PostgreSQL does, but for those that are listed."""
    dataset = _SOURCES[len(case.sql) % len(_SOURCES)]
    try:
        answer = gateway.answer(case.sql, dataset)
    except Refusal as refusal:
        if case.name not in _UNANSWERED or refusal.code not in _REFUSED:
            raise
        return
    expected = plain_result(plain, case.sql)
    ordered = is_ordered(case.sql) and case.name not in _TIED
    digits = _ROUNDED_DIGITS if case.name in _ROUNDED else None
    assert differences(expected, answer, ordered=ordered, digits=digits) == []


@pytest.mark.parametrize("dataset", _SOURCES)
@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (
            "SELECT region, COUNT(*), $2 AS x FROM patients WHERE birth_year > $1 GROUP BY 1, 3",
            "50 a",
        ),
        ("SELECT COUNT(*) FROM visits WHERE diagnosis = $1 AND cost > $2", "crohn's 10.5"),
        ("SELECT COUNT(*) + $1 FROM visits WHERE visit_date >= $2", "7 2022-02-28"),
        ("SELECT region FROM patients GROUP BY 1 HAVING COUNT(*) > $1 ORDER BY 1 LIMIT $2", "15 2"),
        ("SELECT COUNT(*) FROM patients WHERE smoker = $1 OR region = $2", "true NULL"),
    ],
)
def test_answer_is_what_plain_postgresql_gives_with_parameters(
    gateway: AskedGateway, plain: psycopg.Connection, sql: str, parameters: str, dataset: str
) -> None:
    """Parameters are texts that PostgreSQL reads by the types it infers, on both sides of the cut."""
    values = tuple(None if one == "NULL" else one for one in parameters.split())
    answer = gateway.answer(sql, dataset, parameters=values)
    expected = plain_result(plain, sql, values)
    assert differences(expected, answer, ordered=is_ordered(sql)) == []


def test_unanswered_statements_are_statements_of_the_binder() -> None:
    """The list of what may be refused has no title that nobody asks."""
    assert {one.name for one in _BOUND} >= _UNANSWERED


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE patients SET income = income + 1 WHERE patient_id = 1",
        "UPDATE patients SET region = 'west' WHERE patient_id = 1",
        "DELETE FROM patients WHERE patient_id = 1",
    ],
)
def test_comparison_finds_a_difference_when_one_row_is_changed(
    gateway: AskedGateway, plain: psycopg.Connection, change: str
) -> None:
    """One person's row changed in plain PostgreSQL is one difference too many."""
    sql = "SELECT region, COUNT(*), SUM(income) FROM patients GROUP BY region"
    answer = gateway.answer(sql, "gaussian")
    with plain.transaction(force_rollback=True):
        plain.execute(change.encode())
        changed = plain_result(plain, sql)
    assert differences(changed, answer, ordered=False)
    assert differences(plain_result(plain, sql), answer, ordered=False) == []


def test_comparison_finds_a_difference_when_a_sum_is_a_cent_off(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """Sums of cents are compared to the cent, names and types to the letter, rows in their order."""
    sql = "SELECT diagnosis, SUM(cost) AS s FROM visits GROUP BY 1 ORDER BY 2"
    expected = plain_result(plain, sql)
    answer = gateway.answer(sql, "laplace")
    cent = plain_result(plain, sql.replace("SUM(cost)", "SUM(cost) + 0.01"))
    assert differences(cent, answer, ordered=True)
    assert differences(replace(expected, rows=expected.rows[::-1]), answer, ordered=True)
    assert differences(replace(expected, rows=expected.rows[1:]), answer, ordered=True)
    (key, (_, of)) = expected.columns
    assert differences(Result((key, ("S", of)), expected.rows), answer, ordered=True)
    assert differences(Result((key, ("s", "bigint")), expected.rows), answer, ordered=True)
    assert differences(expected, answer, ordered=True) == []
