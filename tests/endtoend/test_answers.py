"""Answers are what plain PostgreSQL gives on the same rows, where noise is nothing and no bound bites.

Differences that are meant, and kept out of the cases: SUM over nothing is 0 and AVG over nothing the middle of
the domain, not NULL; of no rows any value of the domain is the smallest or the median; a quantile between two rows is
one of them; LOWER and UPPER turn ASCII letters alone; groups of fewer than `min_units` are not shown;
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
# statements of a connection, and functions that PostgreSQL has not; what a server says of itself, and
# arrays of rows in no order
_NO_ANSWERS = {"settings", "statements", "ends", "spellings"}
_LEFT_OPEN = {"twin: who and when on the twin", "twin: arrays above a release"}
_BOUND = [one for one in accepted() if one.topic not in _NO_ANSWERS and one.name not in _LEFT_OPEN]
# the titles of what may be refused, as understood and not answered yet, or as never bounded
_UNANSWERED = frozenset((ROOM / "unanswered.txt").read_text().splitlines())
_REFUSED = {Code.NO_BOUND, Code.NOT_ANSWERED_YET}
# ORDER BY leaves open which of two rows comes first
_TIED = {"bi_tools: superset: a chart over a virtual table"}
# values without a step, and squares of fine ones: rounded before they are added
_ROUNDED = {
    "aggregates: pairs",
    "aggregates: regression",
    "aggregates: spread",
    "allowed: the regressions that are left",
    "allowed: the mean and the least of each person",
    "expressions: epoch",
    "per_person: expressions over per-person aggregates",
    "per_person: neighbours within a frame",
}
_ROUNDED_DIGITS = 8
# of values that lie in more points than buckets, or of ranks between two rows: `chosen` has those that are exact
_CHOSEN = {
    "aggregates: discrete quartile, descending",
    "aggregates: distinct minimum is the minimum",
    "aggregates: median",
    "aggregates: minimum and maximum of numbers",
    "aggregates: minimum of a date",
    "aggregates: ordered-set aggregate with a filter",
    "expressions: made dates",
    "grouping: months that were made below",
    "per_person: running totals of a person",
}
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
    if case.name in _CHOSEN:
        assert tuple((one.name, one.type) for one in answer.columns) == expected.columns
        assert len(answer.rows) == len(expected.rows)
        return
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


@pytest.mark.parametrize("dataset", _SOURCES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} FROM patients WHERE smoker",
        "SELECT smoker, {}::int, COUNT(*) FROM patients WHERE smoker GROUP BY smoker HAVING {} > 0 ORDER BY {}",
        "SELECT COUNT(*), {} + 1 FROM patients WHERE smoker",
    ],
)
def test_median_is_what_plain_postgresql_gives_for_the_percentile(
    gateway: AskedGateway, plain: psycopg.Connection, sql: str, dataset: str
) -> None:
    """`MEDIAN(x)` is `percentile_cont(0.5)`, by a name of its own."""
    answer = gateway.answer(sql.replace("{}", "MEDIAN(birth_year)"), dataset)
    percentile = "(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY birth_year) AS median)"
    expected = plain_result(plain, sql.replace("{}", percentile))
    assert differences(expected, answer, ordered=is_ordered(sql)) == []


@pytest.mark.parametrize("dataset", _SOURCES)
def test_most_frequent_values_are_those_of_plain_postgresql(
    gateway: AskedGateway, plain: psycopg.Connection, dataset: str
) -> None:
    """`DP_TOP(x, k)` is the array of the first k by their count, where the counts differ."""
    where = "WHERE birth_year > 1940 AND region IS NOT NULL"
    answer = gateway.answer(f"SELECT DP_TOP(region, 3) FROM patients {where}", dataset)
    counts = plain_result(
        plain, f"SELECT region, count(*) FROM patients {where} GROUP BY 1 ORDER BY 2 DESC"
    )
    assert len({many for _, many in counts.rows[:4]}) == len(counts.rows[:4])
    assert answer.rows == (("{" + ",".join(str(one) for one, _ in counts.rows[:3]) + "}",),)
    assert [(one.name, one.type) for one in answer.columns] == [("dp_top", "text[]")]


def test_most_frequent_keys_are_chosen_where_groups_are_listed(gateway: AskedGateway) -> None:
    """Names come by choices, as good as those of DP_TOP; where groups are found, and beside counts, by noisy counts."""
    top = "FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2"
    spelled = "SELECT unnest(DP_TOP(region, 2)) AS region FROM patients WHERE region IS NOT NULL"
    names = gateway.answer(f"SELECT region {top}", "listed")
    assert names.columns == gateway.answer(spelled, "listed").columns
    assert [one.mechanism for one in names.columns] == ["exponential"]
    assert names.rows == (("north",), ("east",))
    assert names.rows == gateway.answer(f"SELECT region {top}", "laplace").rows
    counts = gateway.answer(f"SELECT region, COUNT(*) {top}", "listed")
    assert [one.mechanism for one in counts.columns] == [None, "discrete_laplace"]
    assert gateway.answer(f"SELECT region {top}", "laplace").columns[0].mechanism is None


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
