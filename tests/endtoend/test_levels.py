"""Levels, consents and combinations as answers: noise is nothing, so each answer is what plain SQL gives."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import psycopg
import pytest
from endtoend.clinic_gateway import (
    AskedGateway,
    a_gateway,
    clinic_in_duckdb,
    clinic_in_postgresql,
    dsn,
    shown,
)
from endtoend.clinic_policy import policy
from fix_servers import SharedServers
from laws import for_each

from gateway.admin.check_policies import check_sources
from gateway.cancellation import CancelEvent
from gateway.errors import Code, Refusal, Unbounded
from gateway.policy.files.load import read_policies
from gateway.postgres_server import Lease
from gateway.requests.request import Request
from gateway.twin import TwinRefused

SUBJECTS = "alice: {role: researcher, purposes: [coarse, exact, research, pairs], region: north}\n"
_MORE = """
ALTER TABLE patients ADD COLUMN consents text[];
UPDATE patients SET consents = CASE
    WHEN smoker THEN ARRAY['research', NULL] WHEN NOT smoker THEN ARRAY['care', NULL] END;
"""
_COLUMNS = (
    ("type: text, class: quasi, domain: {in: [north", "levels: beginnings, "),
    ("type: integer, class: quasi, domain: {between: [1920", "levels: years, "),
    ("type: numeric, class: sensitive, domain: {between: [0, 200000", "levels: thousands, "),
    ("type: text, class: sensitive}\n      cost", "levels: chapters, "),
    ("type: date, class: quasi", "levels: periods, "),
    ("type: timestamp, class: quasi", "levels: periods, "),
)
_LEVELS = """
levels:
  years: {steps: [1, 5, 10]}
  thousands: {steps: [1000, 50000]}
  periods: {steps: [month, quarter, year]}
  beginnings: {prefixes: [3, 1]}
  chapters: {table: codes, columns: [code, chapter]}
"""
_COARSE = (
    '["*", {patients.birth_year: 10}, {patients.income: 50000}, {visits.visit_date: quarter},'
    " {visits.admitted: month}, {patients.region: 1}, {visits.diagnosis: chapter}]"
)
_ACCESS = f"""access:
  - id: coarse
    effect: permit
    when: request.purpose == "coarse"
    tables: [patients, visits]
    use: {{aggregate: ["*"], group_by: {_COARSE}, filter: {_COARSE}, join: {_COARSE}}}
    budget: {{epsilon: 1e40}}
  - id: exact
    effect: permit
    when: request.purpose in ["exact", "pairs"]
    tables: [patients, visits]
    use: {{aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}}
    budget: {{epsilon: 1e40}}
  - id: pairs
    effect: permit
    when: request.purpose == "pairs"
    tables: [patients]
    together: {{at_most: {{"class:quasi": 1}}}}
    budget: {{epsilon: 1e40}}
  - id: research
    effect: permit
    when: request.purpose == "research"
    tables: [patients]
    use: {{aggregate: ["*"], group_by: ["*"], filter: ["*"]}}
    rows: {{patients: "request.purpose = ANY (consents)"}}
    budget: {{epsilon: 1e40}}
"""


def _with_levels(text: str) -> str:
    for column, more in _COLUMNS:
        assert column in text, column
        text = text.replace(column, more + column, 1)
    for column in ("smoker: {", "name: {"):
        text = text.replace(column, column + "nulls: none, ", 1)
    income = "      income:"
    text = text.replace(
        income, f'      consents: {{type: "text[]", class: sensitive}}\n{income}', 1
    )
    codes = "  codes: {public: true, columns: {code: {type: text}, chapter: {type: text}}}"
    text = text.replace("  codes: {public: true}", codes)
    head, _, rest = text.partition("access:\n")
    return head + _LEVELS + _ACCESS + rest[rest.index("audit:") :]


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers, sample_server: Lease
) -> Iterator[AskedGateway]:
    """The clinic with levels in both databases."""
    file = clinic_in_duckdb(tmp_path_factory.mktemp("levels") / "clinic.duckdb")
    with duckdb.connect(str(file.database)) as connection:
        connection.execute(_MORE)
    with ExitStack() as opened:
        postgresql = opened.enter_context(clinic_in_postgresql(sample_server))
        with psycopg.connect(dsn(postgresql), autocommit=True) as inside:
            inside.execute(_MORE)
        policies = {
            name: _with_levels(policy(name, name.upper(), "laplace", groups=10_000))
            for name in ("duck", "post")
        }
        sources = {"DUCK": shown(file), "POST": shown(postgresql)}
        yield opened.enter_context(a_gateway(policies, sources, servers, SUBJECTS))


_QUARTER = "date_trunc('quarter', visit_date::timestamp)::date"
_CHAPTER = "(CASE diagnosis WHEN 'flu' THEN 'respiratory' WHEN 'asthma' THEN 'respiratory' WHEN 'crohn''s' THEN 'digestive' END)"
_JOIN = "FROM patients p JOIN visits v ON p.patient_id = v.patient_id"
_FIRST = (
    "SELECT COUNT(*) FROM (SELECT patient_id, {0} AS day, ROW_NUMBER() OVER"
    " (PARTITION BY patient_id ORDER BY {0}) AS n FROM visits) q WHERE n = 1 AND day > '2020-02-01'"
)
_YEARS = (
    "SELECT b, COUNT(*) FROM (SELECT {0} AS b FROM patients UNION ALL SELECT {0} FROM patients) q"
    " GROUP BY 1"
)
_OLDEST = (
    "SELECT COUNT(*) FROM (SELECT p.patient_id, MAX({0}) AS day {1} GROUP BY p.patient_id) q"
    " WHERE day >= '2024-02-01'"
)
# what is asked under levels, and the same without, in words of its own
CASES = (
    (
        "SELECT birth_year, COUNT(*) FROM patients GROUP BY 1",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (
        "SELECT income, COUNT(*) FROM patients GROUP BY 1",
        "income",
        "(floor(income / 50000) * 50000)",
    ),
    ("SELECT visit_date, COUNT(*) FROM visits GROUP BY 1", "visit_date", _QUARTER),
    (
        "SELECT admitted, COUNT(*) FROM visits GROUP BY 1",
        "admitted",
        "date_trunc('month', admitted)",
    ),
    ("SELECT region, COUNT(*) FROM patients GROUP BY 1", "region", "left(region, 1)"),
    ("SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1", "diagnosis", _CHAPTER),
    (
        "SELECT COUNT(*) FROM patients WHERE birth_year >= 1955",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (
        "SELECT COUNT(*) FROM patients WHERE birth_year = 1955",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis = 'respiratory'", "diagnosis", _CHAPTER),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis = 'flu'", "diagnosis", _CHAPTER),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis IS NULL", "diagnosis", _CHAPTER),
    (
        "SELECT SUM(CASE WHEN birth_year > 1955 THEN 1 ELSE 0 END) FROM patients",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE birth_year > 1955) FROM patients",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (
        "SELECT COUNT(NULLIF(birth_year, 1955)) FROM patients",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (
        "SELECT SUM(birth_year * 0.0000001 + 1000000000) FROM patients",
        "birth_year",
        "(birth_year / 10 * 10)",
    ),
    (_FIRST.replace("{0}", "visit_date"), "visit_date", _QUARTER),
    (_YEARS.replace("{0}", "birth_year"), "birth_year", "(birth_year / 10 * 10)"),
    (_OLDEST.replace("{0}", "visit_date").replace("{1}", _JOIN), "visit_date", _QUARTER),
    (
        f"SELECT COUNT(*) {_JOIN} WHERE v.diagnosis = 'digestive' AND EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = p.patient_id AND w.visit_date < '2021-05-05')",
        "w.visit_date",
        _QUARTER.replace("visit_date", "w.visit_date"),
    ),
)


def _cells(gateway: AskedGateway, sql: str, dataset: str, purpose: str) -> dict[object, float]:
    """The groups with somebody in them, or the one cell."""
    rows = gateway.answer(sql, dataset, purpose=purpose).rows
    return {row[:-1]: float(row[-1] or 0) for row in map(tuple, rows) if float(row[-1] or 0)}


@pytest.mark.parametrize("dataset", ["duck", "post"])
@for_each(("sql", "column", "level"), CASES)
def test_statement_reads_levels_as_if_it_had_asked_for_them(
    gateway: AskedGateway, dataset: str, sql: str, column: str, level: str
) -> None:
    """In keys, conditions, aggregates that are conditions, windows, unions, per person, joins and EXISTS."""
    written = sql.replace(column, level)
    for more, said in (("v.diagnosis", _CHAPTER.replace("diagnosis", "v.diagnosis")),):
        written = written.replace(more, said)
    coarse = _cells(gateway, sql, dataset, "coarse")
    assert coarse == _cells(gateway, written, dataset, "exact")
    answer = gateway.answer(sql, dataset, purpose="coarse")
    assert any("the policy permits it no finer" in notice for notice in answer.notices)


@pytest.mark.parametrize("dataset", ["duck", "post"])
def test_aggregates_that_are_granted_apart_read_the_column_as_it_is(
    gateway: AskedGateway, dataset: str
) -> None:
    """A mean of exact years beside keys of ten; alone it has no notice."""
    sql = "SELECT birth_year, AVG(birth_year) FROM patients GROUP BY 1"
    written = sql.replace("birth_year,", "birth_year / 10 * 10,", 1)
    assert _cells(gateway, sql, dataset, "coarse") == _cells(gateway, written, dataset, "exact")
    tens = sql.replace("birth_year", "birth_year / 10 * 10")
    assert _cells(gateway, sql, dataset, "coarse") != _cells(gateway, tens, dataset, "exact")
    alone = gateway.answer("SELECT AVG(birth_year) FROM patients", dataset, purpose="coarse")
    assert alone.notices == ()


@pytest.mark.parametrize("dataset", ["duck", "post"])
def test_rows_of_those_who_consent_are_read_and_no_others(
    gateway: AskedGateway, dataset: str
) -> None:
    """Smokers consent to research; who has no array, or NULL in it, does not."""
    sql = "SELECT COUNT(*), COUNT(birth_year) FROM patients"
    smokers = gateway.answer(f"{sql} WHERE smoker", dataset, purpose="exact")
    asked = gateway.answer(sql, dataset, purpose="research")
    assert [*asked.rows] == [*smokers.rows]
    assert [*asked.rows] != [*gateway.answer(sql, dataset, purpose="exact").rows]
    with pytest.raises(TwinRefused, match="consents"):
        gateway.answer("SELECT COUNT(consents) FROM patients", dataset, purpose="research")


@pytest.mark.parametrize("dataset", ["duck", "post"])
def test_null_group_is_left_out_where_the_policy_says_so(
    gateway: AskedGateway, dataset: str
) -> None:
    """Listed and found groups alike; totals, conditions and NULLs of other origins stay."""

    def keys(sql: str) -> set[str | None]:
        return {row[0] for row in gateway.answer(sql, dataset, purpose="exact").rows}

    for column in ("smoker", "name"):
        assert None not in keys(f"SELECT {column}, COUNT(*) FROM patients GROUP BY 1")
        nulls = f"SELECT COUNT(*) FROM patients WHERE {column} IS NULL"
        assert float(gateway.answer(nulls, dataset, purpose="exact").rows[0][0] or 0) > 0
    assert None in keys("SELECT region, COUNT(*) FROM patients GROUP BY 1")  # not declared so
    assert None in keys("SELECT CASE WHEN smoker THEN 'yes' END, COUNT(*) FROM patients GROUP BY 1")
    rolled = gateway.answer(
        "SELECT smoker, COUNT(*) FROM patients GROUP BY ROLLUP (smoker)", dataset, purpose="exact"
    ).rows
    total = gateway.answer("SELECT COUNT(*) FROM patients", dataset, purpose="exact").rows[0][0]
    assert [row[1] for row in rolled if row[0] is None] == [total]
    assert sum(float(row[1] or 0) for row in rolled if row[0] is not None) < float(total or 0)
    outer = (
        "FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id AND p.birth_year < 1950"
    )
    assert None in keys(f"SELECT p.smoker, COUNT(*) {outer} GROUP BY 1")


def test_combination_is_refused_before_anything_is_charged(gateway: AskedGateway) -> None:
    """Two quasi-identifiers in one statement, under a rule that permits one."""
    one = "SELECT region, COUNT(*) FROM patients GROUP BY 1"
    with pytest.raises(Refusal) as refused:
        gateway.answer(one.replace("COUNT(*)", "AVG(birth_year)"), "duck", purpose="pairs")
    assert refused.value.code is Code.COMBINATION_NOT_PERMITTED
    gateway.answer(one, "duck", purpose="pairs")


def test_level_is_refused_by_its_name_when_its_table_may_have_a_code_twice(
    tmp_path: Path, servers: SharedServers
) -> None:
    """The query and its estimate before the charge, and `policy check` before all queries; other columns are answered."""
    file = clinic_in_duckdb(tmp_path / "clinic.duckdb")
    with duckdb.connect(str(file.database)) as connection:
        connection.execute(_MORE)
        connection.execute("CREATE TABLE keyless AS FROM codes; DROP TABLE codes")
        connection.execute("ALTER TABLE keyless RENAME TO codes")
    text = _with_levels(policy("duck", "DUCK", "laplace", groups=10_000))
    sources = {"DUCK": shown(file)}
    with a_gateway({"duck": text}, sources, servers, SUBJECTS) as opened:
        asked = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1"
        request = Request(asked, "duck", "coarse")
        alice = opened.subjects["alice"]
        for ask in (
            lambda: opened.asking.answer(alice, request, CancelEvent()),
            lambda: opened.asking.estimate(alice, request),
        ):
            with pytest.raises(Unbounded) as refused:
                ask()
            assert "the level `chapter` of `visits.diagnosis` needs one row of `codes`" in str(
                refused.value
            )
            assert "`codes.code`" in refused.value.hint
        assert opened.answer(asked, "duck", purpose="exact").rows
        assert opened.answer("SELECT COUNT(*) FROM patients", "duck", purpose="coarse").rows
        checked = check_sources(read_policies(opened.home / "policies", sources))
        [problem] = checked.problems
        assert "the level `chapter` of `visits.diagnosis`" in problem.detail
        assert problem.detail.startswith(f"{opened.home}/policies/duck.yaml:")


def test_datasets_list_the_levels_of_a_purpose(gateway: AskedGateway) -> None:
    """`use` has the operations, `levels` how coarsely; another purpose has none, and nobody sees the array."""

    def columns(purpose: str) -> dict[str, dict[str, object]]:
        listed = gateway.asking.own.datasets(
            gateway.subjects["alice"], Request("", purpose=purpose)
        )
        duck = next(one for one in listed["datasets"] if one["dataset"] == "duck")
        patients = next(one for one in duck["tables"] if one["table"] == "patients")
        return {one["name"]: one for one in patients["columns"]}

    year = columns("coarse")["birth_year"]
    assert year["use"] == ["aggregate", "group_by", "filter", "join"]
    assert year["levels"] == {"group_by": "10", "filter": "10", "join": "10"}
    assert "levels" not in columns("exact")["birth_year"]
    assert "consents" not in columns("research")
    rows = gateway.answer(
        "SELECT use FROM gateway.datasets WHERE column_name = 'birth_year' AND dataset = 'duck'",
        "duck",
        purpose="coarse",
    ).rows
    assert [*rows] == [("aggregate, group_by (10), filter (10), join (10)",)]
