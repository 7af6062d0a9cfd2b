"""Answers are what plain PostgreSQL gives on the same rows, where noise is nothing and no bound bites.

Differences that are meant, and kept out of the cases: SUM over nothing is 0 and AVG over nothing the middle of
the domain, not NULL; of no rows any value of the domain is the smallest or the median; a quantile between two rows is
one of them; LOWER and UPPER turn ASCII letters alone; groups of fewer than `min_units` are not shown;
groups that a policy lists are shown when they are empty; what has no step of its own is rounded to 2⁻³⁰ of its
range before it is added up.
"""

import re
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest
from binding.cases import Case as BoundCase
from binding.cases import accepted
from endtoend.cases import ROOM, Case, cases
from endtoend.clinic_gateway import AskedGateway
from endtoend.plain_postgresql import Result, plain_result
from endtoend.same_answer import differences, is_ordered, without_empty_groups
from laws import for_each
from samples import Samples

from gateway.binding.aggregates import AGGREGATES, REFUSED
from gateway.errors import Code, Refusal

_CASES = [one for one in cases() if one.topic != "listed"]
# spreads of sets are asked everywhere: where groups are listed, totals are added up and not measured
_LISTED = [one for one in cases() if one.topic in {"listed", "spreads_of_sets"}]
# statements of a connection, and functions that PostgreSQL has not; what a server says of itself, and
# arrays of rows in no order; documents have tables of their own (`test_schemas.py`), and means of times microseconds
# that noise moves (`test_zones.py`)
_NO_ANSWERS = {"settings", "statements", "ends", "spellings", "documents", "durations"}
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
    "tiles: halves of sums of persons, the largest first",
    "tiles: quarters of a column",
}
_SOURCES = ("laplace", "gaussian")
# every second case asks one of them, the others ask the other; by `--full-samples` each asks both
_ASKED = [
    (case, dataset)
    for place, case in enumerate(_CASES)
    for which, dataset in enumerate(_SOURCES)
    if Samples.full or place % len(_SOURCES) == which
]
# what statements have to have, and how many of them at least
_PARTS = {
    r"GROUP BY": 250,
    r"FILTER \(": 15,
    r"JOIN": 60,
    r"\(SELECT": 100,
    r"(^|\W)WITH \w+( AS|\(|,)": 10,
    r"(IN|[<>=]) \(SELECT": 50,
    r" OVER \(": 20,
    r"EXISTS \(": 5,
    r"ROLLUP|CUBE|GROUPING SETS": 40,
    r"UNION|EXCEPT|INTERSECT": 8,
    r"HAVING": 25,
    r"DATE_TRUNC|EXTRACT|TO_CHAR": 50,
    r"ORDER BY": 100,
}


def test_enough_statements_are_compared() -> None:
    """The statements over persons are many, each is there once, and has a name of its own."""
    names = [one.name for one in cases()]
    assert len(names) == len(set(names))
    over_persons = {one.sql for one in cases() if re.search(r"\b(patients|visits)\b", one.sql)}
    assert len(over_persons) >= 400


def test_every_function_and_part_of_sql_is_compared() -> None:
    """Each aggregate, and what is made of aggregates: groups, joins, sets, stages, windows, dates."""
    asked = [one.sql.upper() for one in cases()]
    for function in sorted(AGGREGATES - REFUSED - {"dp_top"}):  # which PostgreSQL has not
        assert sum(f"{function.upper()}(" in one for one in asked) >= 2, function
    for part, fewest in _PARTS.items():
        assert sum(re.search(part, one) is not None for one in asked) >= fewest, part


@pytest.mark.parametrize("topic", sorted({one.topic for one in _CASES}))
@for_each("case, dataset", _ASKED)
def test_answer_is_what_plain_postgresql_gives(
    gateway: AskedGateway, plain: psycopg.Connection, case: Case, topic: str, dataset: str
) -> None:
    """Columns, types and rows of an answer are those of the statement as it was written, from either source."""
    if case.topic != topic:  # a test for each file, so that processes can share them
        return
    answer = gateway.answer(case.sql, dataset)
    expected = plain_result(plain, case.sql)
    assert differences(expected, answer, ordered=is_ordered(case.sql)) == []


@for_each("case", _LISTED)
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


@for_each("case", _BOUND)
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
    if case.topic == "probes" and not answer.rows:
        # what tools ask to learn the columns: no row, and a notice that says so
        assert tuple((one.name, one.type) for one in answer.columns) == expected.columns
        assert answer.notices
        return
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
        (
            "SELECT COUNT(*), SUM(cost) FROM visits WHERE cost > (SELECT AVG(cost) * $1 FROM visits WHERE weight > $2)",
            "0.75 100",
        ),
        (
            """SELECT region, smoker, STDDEV(birth_year), COUNT(*) FILTER (WHERE birth_year > $1) FROM patients
            WHERE income BETWEEN $2 AND $3 GROUP BY ROLLUP (region, smoker)""",
            "1960 1000 150000",
        ),
        (
            """SELECT date_trunc('year', visit_date) AS y, COUNT(*) FROM visits v JOIN (SELECT diagnosis FROM visits
            GROUP BY diagnosis ORDER BY COUNT(*) DESC, 1 LIMIT $1) t USING (diagnosis)
            WHERE visit_date >= $2 AND visit_date < $3 GROUP BY 1""",
            "2 2021-01-01 2025-01-01",
        ),
        ("SELECT PERCENTILE_DISC(0.41) WITHIN GROUP (ORDER BY birth_year) - $1 FROM patients", "7"),
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


@pytest.mark.parametrize("dataset", [*_SOURCES, "listed"])
def test_spread_over_a_wide_domain_is_off_by_no_more_than_its_squares_are_rounded(
    gateway: AskedGateway, plain: psycopg.Connection, dataset: str
) -> None:
    """Squares of 100,000 steps are rounded: a variance is off by a²·2⁻³⁰ at most, a deviation by a·2⁻¹⁵."""
    half = 100_000  # a: half the width of the domain
    most = (Fraction(half**2, 2**30), Fraction(half, 2**15))
    sql = """SELECT birth_year, smoker, COUNT(income), VAR_POP(income), STDDEV_POP(income) FROM patients
        GROUP BY GROUPING SETS ((birth_year), (smoker), ()) HAVING COUNT(income) > 0"""
    answer, expected = gateway.answer(sql, dataset), plain_result(plain, sql)
    ours, theirs = ({row[:3]: row[3:] for row in one.rows} for one in (answer, expected))
    assert len(ours) == len(expected.rows) > 20
    off = {
        key: [abs(Fraction(one or 0) - Fraction(other or 0)) for one, other in pairs]
        for key, pairs in ((key, zip(ours[key], theirs[key], strict=True)) for key in theirs)
    }
    assert all(one <= bound for each in off.values() for one, bound in zip(each, most, strict=True))
    # nobody's income differs from another's in these groups, and some come out as 1 or 2 and not as 0
    assert any(one[1] >= 1 for one in off.values())


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
