"""Every path of a query through the pipeline: answered, refused, failed; and its records."""

from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway
from endtoend.conftest import Poor
from endtoend.plain_postgresql import plain_result
from endtoend.same_answer import differences, is_ordered

from gateway.admin.actions import grant
from gateway.budget.account import Limits
from gateway.budget.balances import load_account
from gateway.errors import REASON, Code, Reason, Refusal
from gateway.trail.record import RecordKind, utc_now
from gateway.trail.search import RecordFilter, latest_records
from gateway.units import Delta, Epsilon

_COUNT = "SELECT COUNT(*) FROM patients"


def _records(gateway: AskedGateway, query_id: str | None) -> list[Mapping[str, Any]]:
    assert query_id
    with gateway.foundation.engine.connect() as connection:
        return latest_records(connection, 10, RecordFilter(query_id=query_id))


def _refusal(gateway: AskedGateway, sql: str, dataset: str, subject: str = "alice") -> Refusal:
    with pytest.raises(Refusal) as caught:
        gateway.answer(sql, dataset, subject)
    return caught.value


@pytest.mark.parametrize("dataset", ["laplace", "gaussian", "listed"])
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM patients", Code.PERSON_ROWS),
        ("SELECT income FROM patients ORDER BY income LIMIT 1", Code.PERSON_ROWS),
        ("SELECT COUNT(*) FROM secrets", Code.TWIN_NOT_PERMITTED),
        ("SELECT AVG(salary) FROM patients", Code.TWIN_NOT_PERMITTED),
        ("SELECT array_agg(name) FROM patients", Code.PERSON_AS_VALUE),
        ("SELEC COUNT(*) FROM patients", Code.SQL_SYNTAX),
        ("SELECT AVG(EXP(birth_year)) FROM patients", Code.NO_BOUND),
        ("SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%a_b%c_d%'", Code.PATTERN_UNBOUNDED),
        (
            "SELECT COUNT(*) FROM visits WHERE position(diagnosis IN diagnosis || diagnosis) > 0",
            Code.WORK_OF_A_ROW,
        ),
    ],
)
def test_refusal_is_the_same_over_every_source_and_recorded(
    gateway: AskedGateway, sql: str, code: Code, dataset: str
) -> None:
    """A refusal has its code, its number and one record, and costs nothing."""
    refusal = _refusal(gateway, sql, dataset)
    assert refusal.code is code
    (record,) = _records(gateway, refusal.query_id)
    assert record["kind"] == RecordKind.REFUSED
    assert record["code"] == code.value
    assert record["sql"] == sql
    assert record["subject"] == "alice"
    assert record["dataset"] == dataset


@pytest.mark.parametrize("dataset", ["laplace", "gaussian", "listed"])
def test_pattern_of_many_pieces_over_a_long_text_is_answered(
    gateway: AskedGateway, dataset: str
) -> None:
    """What DuckDB's own LIKE never ended for a row that matches is answered like any other."""
    letters = f"CASE WHEN region = 'north' THEN '{'a' * 900}' ELSE 'x' END"
    sql = f"SELECT COUNT(*) FROM patients WHERE {letters} LIKE '%a%a%a%_b'"
    assert len(gateway.answer(sql, dataset, "alice").rows) == 1


@pytest.mark.parametrize(
    "sql",
    [
        f"EXPLAIN {_COUNT}",
        f"COPY ({_COUNT}) TO STDOUT",
        f"DECLARE few CURSOR FOR {_COUNT}",
        f"DECLARE few CURSOR WITH HOLD FOR {_COUNT}",
    ],
)
def test_statement_about_a_connection_is_refused_and_free_where_there_is_none(
    gateway: AskedGateway, sql: str
) -> None:
    """Where questions come one by one, nobody pays for a cursor, a COPY or an EXPLAIN: there is nothing to give."""
    refusal = _refusal(gateway, sql, "laplace")
    assert refusal.code is Code.STATEMENT_UNSUPPORTED
    (record,) = _records(gateway, refusal.query_id)
    assert record["kind"] == RecordKind.REFUSED


def test_answer_is_recorded_with_its_charge(gateway: AskedGateway) -> None:
    """An answer has a record of its charge and, after it, one of its fate."""
    answer = gateway.answer(_COUNT, "laplace")
    kinds = [record["kind"] for record in _records(gateway, answer.query_id)]
    assert kinds == [RecordKind.CHARGED, RecordKind.ANSWERED]
    assert answer.charged.value > 0


def test_answer_says_its_cost_in_the_currency_of_its_ledger(gateway: AskedGateway) -> None:
    """The ledger's own rho is told where the ledger counts in it, and delta where groups are found in the data."""
    pure, concentrated = gateway.answer(_COUNT, "laplace"), gateway.answer(_COUNT, "gaussian")
    assert pure.rho is None
    assert concentrated.rho
    assert pure.columns[0].mechanism == "discrete_laplace"
    assert concentrated.columns[0].mechanism == "discrete_gaussian"
    grouped = "SELECT region, COUNT(*) FROM patients GROUP BY region"
    assert gateway.answer(grouped, "laplace").delta.value > 0
    assert gateway.answer(grouped, "listed").delta.value == 0


@pytest.mark.parametrize("dataset", ["laplace", "gaussian", "listed"])
@pytest.mark.parametrize(
    "measure",
    [
        "COUNT(*)",
        "COUNT(income)",
        "COUNT(DISTINCT patient_id)",
        "SUM(income)",
        "AVG(income)",
        "SUM(income) / COUNT(*)",
        "100.0 * COUNT(income) / COUNT(*)",
        "COUNT(*) FILTER (WHERE smoker) * 1.0 / COUNT(*)",
    ],
)
def test_interval_holds_the_cell_when_the_column_is_measured(
    gateway: AskedGateway, measure: str, dataset: str
) -> None:
    """Counts, sums, means and ratios come with a 95 % interval around the cell; keys have none."""
    sql = f"SELECT region, {measure} AS m FROM patients GROUP BY region ORDER BY region"
    answer = gateway.answer(sql, dataset)
    assert [one.noisy for one in answer.columns] == [False, True]
    assert len(answer.intervals) == len(answer.rows) > 0
    for (_, cell), (of_key, of_cell) in zip(answer.rows, answer.intervals, strict=True):
        assert of_key is None
        assert of_cell is not None
        assert cell is not None
        near = 1e-6 * max(1.0, abs(float(cell)))
        assert of_cell[0] - near <= float(cell) <= of_cell[1] + near


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS one, 'x'::varchar(3) AS x, NULL::date AS d",
        "SELECT to_char(DATE '2024-02-29', 'Day DD Mon'), 7 / 2, 7.0 / 2",
        "VALUES (1, 'a'), (2, NULL)",
        "SELECT g, g * g FROM generate_series(1, 3) AS g ORDER BY g DESC",
        "SELECT current_setting('TimeZone'), pg_catalog.format_type(20, NULL)",
    ],
)
def test_statement_without_tables_is_answered_for_nothing(
    gateway: AskedGateway, plain: psycopg.Connection, sql: str
) -> None:
    """What touches no table of the source is PostgreSQL's own answer, exact and free."""
    answer = gateway.answer(sql, "gaussian")
    assert differences(plain_result(plain, sql), answer, ordered=is_ordered(sql)) == []
    assert not answer.charged
    assert not any(one.noisy for one in answer.columns)


def test_public_table_is_answered_for_nothing(gateway: AskedGateway) -> None:
    """Reading what is public charges nobody and is not noisy."""
    answer = gateway.answer("SELECT * FROM regions", "laplace")
    assert not answer.charged
    assert not any(one.noisy for one in answer.columns)


def test_own_tables_tell_what_was_asked_and_spent(gateway: AskedGateway) -> None:
    """A subject reads budget, datasets and questions of their own as tables, and for nothing."""
    asked = gateway.answer(_COUNT, "laplace")
    queries = gateway.answer(
        "SELECT query_id, sql, outcome, reason, charged_epsilon > 0 FROM gateway.queries "
        "ORDER BY at DESC LIMIT 1",
        "laplace",
    )
    assert queries.rows == ((asked.query_id, _COUNT, "answered", None, "t"),)
    budget = gateway.answer(
        "SELECT account, epsilon_spent > 0, epsilon_spent + epsilon_remaining = epsilon_limit "
        "FROM gateway.budget WHERE dataset = 'laplace' ORDER BY account",
        "laplace",
    )
    assert budget.rows == (
        ("analyst:alice@laplace", "t", "t"),
        ("dataset:laplace", "t", "t"),
    )
    tables = gateway.answer(
        "SELECT table_name, COUNT(*) FROM gateway.datasets WHERE dataset = 'gaussian' "
        "GROUP BY 1 ORDER BY 1",
        "gaussian",
    )
    assert tables.rows == (
        ("calls", "5"),
        ("codes", "2"),
        ("patients", "6"),
        ("regions", "3"),
        ("visits", "7"),
    )
    assert not queries.charged
    assert not budget.charged


def test_own_tables_list_accounts_with_limits_of_zero(gateway: AskedGateway) -> None:
    """An account that was closed after it spent is in `gateway.budget` as before."""
    gateway.answer(_COUNT, "gaussian", "bob")
    books = gateway.foundation
    account = "analyst:bob@gaussian"
    with books.engine.connect() as connection:
        known = load_account(connection, account)
    assert known is not None
    zero = Limits(Epsilon.zero(), Delta.zero())
    grant(books.journal, books.trail, account, zero, actor="dave", now=utc_now())
    try:
        found = gateway.answer(
            "SELECT epsilon_limit = 0, delta_limit = 0, epsilon_spent > 0, epsilon_remaining = 0 "
            f"FROM gateway.budget WHERE account = '{account}'",
            "gaussian",
            "bob",
        )
    finally:
        grant(books.journal, books.trail, account, known.limits, actor="dave", now=utc_now())
    assert found.rows == (("t", "t", "t", "t"),)


def test_own_tables_show_nothing_of_others(gateway: AskedGateway) -> None:
    """The questions of one subject are in no table of another."""
    gateway.answer(_COUNT, "laplace")
    seen = gateway.answer(
        "SELECT COUNT(*) FROM gateway.queries WHERE sql LIKE '%'", "laplace", "bob"
    )
    own = gateway.answer("SELECT query_id FROM gateway.queries", "laplace", "bob")
    assert int(seen.rows[0][0] or 0) + 1 == len(own.rows)
    accounts = gateway.answer("SELECT account FROM gateway.budget", "laplace", "bob")
    assert not any("alice" in (row[0] or "") for row in accounts.rows)


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "measured", ["COUNT(*), SUM(income)", "COUNT(DISTINCT region), AVG(birth_year)"]
)
def test_row_rule_narrows_what_a_subject_is_answered_from(
    gateway: AskedGateway, plain: psycopg.Connection, measured: str, dataset: str
) -> None:
    """A subject with a row rule gets the answer of the rows that the rule leaves, and of no others."""
    sql = f"SELECT {measured} FROM patients"
    narrowed = plain_result(plain, f"{sql} WHERE region = 'north'")
    assert differences(narrowed, gateway.answer(sql, dataset, "bob"), ordered=False) == []
    assert differences(narrowed, gateway.answer(sql, dataset), ordered=False)


def test_row_rule_narrows_within_subqueries(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """The rule holds at every scan of the table, however deep."""
    north = "(SELECT * FROM patients WHERE region = 'north')"
    sql = (
        "SELECT COUNT(*) FROM visits v WHERE v.patient_id IN (SELECT patient_id FROM {0} p) "
        "AND v.cost > (SELECT AVG(income) / 50 FROM {0} q)"
    )
    expected = plain_result(plain, sql.format(north))
    answer = gateway.answer(sql.format("patients"), "gaussian", "bob")
    assert differences(expected, answer, ordered=False) == []


def test_subject_without_rules_is_refused(gateway: AskedGateway) -> None:
    """Nothing is permitted to a subject that no rule speaks of."""
    refusal = _refusal(gateway, _COUNT, "laplace", "eve")
    assert REASON[refusal.code] is Reason.NOT_PERMITTED
    assert _records(gateway, refusal.query_id)[-1]["kind"] == RecordKind.REFUSED


def test_question_costs_nothing_when_the_source_cannot_be_reached(poor: Poor) -> None:
    """A source that went away gives 503 before the charge; however often it is asked, nothing is spent."""
    gateway = poor.gateway
    first = gateway.answer("SELECT COUNT(*) > -1000 AS there FROM patients", "poor")
    assert first.rows == (("t",),)
    poor.take_source_away()
    for failed in [_refusal(gateway, "SELECT COUNT(*) FROM visits", "poor") for _ in range(66)]:
        assert failed.code is Code.SOURCE_UNAVAILABLE
        assert REASON[failed.code] is Reason.BACKEND_UNAVAILABLE
        kinds = [record["kind"] for record in _records(gateway, failed.query_id)]
        assert kinds == [RecordKind.REFUSED]
    spent = gateway.answer("SELECT epsilon_spent, epsilon_remaining FROM gateway.budget", "poor")
    assert {tuple(map(float, map(str, row))) for row in spent.rows} == {(1.0, 1.0)}
