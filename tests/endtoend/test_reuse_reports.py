"""Reuse and its refusals as clients see them: over REST and over the wire, before and after, and in one's own history."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from endtoend.rest_and_wire import AUDITED, AskedDataset, BothDoors, both_doors
from endtoend.reuse.clinics import PRICE
from fix_servers import SharedServers
from psycopg import errors

from gateway.frontends.rest.openapi import AnswerShape, EstimateShape, QueriesShape

_ALL = "SELECT COUNT(*) AS n FROM patients"
_BUT_ONE_YEAR = "SELECT COUNT(*) FROM patients WHERE birth_year <> 1962"
_REGIONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"
_NORTH = "SELECT COUNT(*) AS n FROM patients WHERE region = 'north'"
_WAYS = {"same": _REGIONS, "filter": _NORTH, "rollup": _ALL}
_PRICE = float(PRICE)
_REUSED = "answered from earlier results"


@pytest.fixture(scope="module")
def doors(servers: SharedServers) -> Iterator[BothDoors]:
    with both_doors(servers) as opened:
        yield opened


@pytest.fixture
def dataset(doors: BothDoors) -> AskedDataset:
    return doors.dataset()


@pytest.fixture
def audited(doors: BothDoors) -> AskedDataset:
    return doors.dataset(AUDITED)


def _noticed(connection: psycopg.Connection) -> list[str]:
    """What the connection is told at full detail, but for the summary and how much of a result is noise."""
    told: list[str] = []

    def keep(notice: psycopg.errors.Diagnostic) -> None:
        text = str(notice.message_primary)
        if not text.startswith(("the 95 % margin", "price: ")):
            told.append(text)

    connection.execute("SET gateway.notices = full")
    connection.add_notice_handler(keep)
    return told


def test_rest_tells_the_way_of_reuse_and_what_it_cost(dataset: AskedDataset) -> None:
    """In the body and in headers, with a notice; the price that the question was asked at stays its price."""
    first = dataset.ask(_REGIONS)
    assert (first["privacy"]["reused"], first["privacy"]["charged_epsilon"]) == (None, _PRICE)
    assert not any(text.startswith(_REUSED) for text in first["notices"])
    for way, sql in _WAYS.items():
        told = dataset.ask(sql)
        AnswerShape.model_validate(told)
        privacy = told["privacy"]
        assert (privacy["reused"], privacy["charged_epsilon"]) == (way, 0.0)
        assert privacy["epsilon"] == _PRICE
        assert any(text.startswith(_REUSED) for text in told["notices"])
        headers = dataset.post("/v1/query", sql, accept="text/csv").headers
        assert headers["x-gateway-reused"] == way
        assert json.loads(headers["x-gateway-privacy"]) == privacy


def test_rest_tells_no_reuse_when_a_fresh_answer_is_asked_for(dataset: AskedDataset) -> None:
    """It is measured and charged anew; the header says so too."""
    dataset.ask(_REGIONS)
    told = dataset.ask(_REGIONS, fresh=True)
    assert told["privacy"]["reused"] is None
    assert told["privacy"]["charged_epsilon"] == _PRICE
    headers = dataset.post("/v1/query", _REGIONS, accept="text/csv", fresh=True).headers
    assert headers["x-gateway-reused"] == "none"


def test_estimate_tells_reuse_before(dataset: AskedDataset) -> None:
    """What it would cost now: nothing, the full price when it is to be fresh; and nothing is charged by looking."""
    before = dataset.post("/v1/estimate", _REGIONS).json()
    assert (before["decision"], before["price"], before["reused"]) == ("permit", _PRICE, None)
    dataset.ask(_REGIONS)
    for way, sql in _WAYS.items():
        told = dataset.post("/v1/estimate", sql).json()
        EstimateShape.model_validate(told)
        assert (told["decision"], told["price"], told["reused"]) == ("permit", 0.0, way)
    fresh = dataset.post("/v1/estimate", _REGIONS, fresh=True).json()
    assert (fresh["price"], fresh["reused"]) == (_PRICE, None)


def test_estimate_is_refused_with_the_problem_of_the_question(audited: AskedDataset) -> None:
    """The same document, but for the number of the question."""
    first = audited.ask(_ALL)
    said = [audited.post(path, _BUT_ONE_YEAR) for path in ("/v1/estimate", "/v1/query")]
    assert [one.status_code for one in said] == [403, 403]
    documents = [{**one.json(), "query_id": None} for one in said]
    assert documents[0] == documents[1]
    assert (documents[0]["code"], documents[0]["reason"]) == ("GW401", "overlap")
    assert first["query_id"] in documents[0]["detail"]
    assert documents[0]["hint"]


def test_idempotency_key_gives_the_same_answer_whether_it_was_reused(dataset: AskedDataset) -> None:
    """One that was measured is kept with its key; one that was reused is found again, and neither is charged."""
    first = dataset.ask(_REGIONS, key="a")
    again = dataset.ask(_REGIONS, key="a")
    assert (again["rows"], again["query_id"]) == (first["rows"], first["query_id"])
    assert again["privacy"] == {**first["privacy"], "charged_epsilon": 0.0}
    for _ in range(2):
        reused = dataset.ask(_NORTH, key="b")
        assert (reused["privacy"]["reused"], reused["privacy"]["charged_epsilon"]) == (
            "filter",
            0.0,
        )


def test_history_tells_reuse_and_what_the_own_account_gave(dataset: AskedDataset) -> None:
    """For whoever paid and for whoever came later: the numbers are those of the answers."""
    for who in ("alice", "dave"):
        told = [dataset.ask(sql, who) for sql in (_REGIONS, _REGIONS, _NORTH)]
        answer = dataset.past(who)
        QueriesShape.model_validate({"queries": answer})
        past = {one["query_id"]: one for one in answer}
        for one in told:
            outcome = "answered" if one["privacy"]["reused"] is None else "reused"
            listed = past[one["query_id"]]
            assert listed["outcome"] == outcome
            assert listed["charged_epsilon"] == one["privacy"]["charged_epsilon"]
        assert told[0]["privacy"]["charged_epsilon"] == _PRICE  # the second analyst pays too, once
        assert told[1]["privacy"]["charged_epsilon"] == 0.0
        with dataset.connect(who) as connection:
            rows = connection.execute(
                "SELECT query_id, outcome, charged_epsilon::float8 FROM gateway.queries"
            ).fetchall()
        for query_id, outcome, charged in rows:
            if query_id in past:
                assert (outcome, charged) == (
                    past[query_id]["outcome"],
                    past[query_id]["charged_epsilon"],
                )


def test_wire_tells_reuse_by_a_notice(dataset: AskedDataset) -> None:
    """In both protocols, for cursors, copies, prepared statements and what is kept; none where it was measured."""
    with dataset.connect() as connection:
        told = _noticed(connection)
        rows = connection.execute(_REGIONS).fetchall()
        assert told == []
        assert psycopg.ClientCursor(connection).execute(_REGIONS).fetchall() == rows
        assert connection.execute(_REGIONS, binary=True, prepare=True).fetchall() == rows
        with connection.transaction():
            connection.execute(f"DECLARE c CURSOR FOR {_REGIONS}")
            assert connection.execute("FETCH ALL FROM c").fetchall() == rows
        connection.execute(f"PREPARE it AS {_REGIONS}")
        assert connection.execute("EXECUTE it").fetchall() == rows
        connection.execute(f"CREATE TEMP TABLE kept AS {_REGIONS}")
        assert connection.execute("SELECT * FROM kept ORDER BY region").fetchall() == rows
        with connection.cursor().copy(f"COPY ({_REGIONS}) TO STDOUT") as copy:
            assert len(list(copy.rows())) == len(rows)
        assert len(told) == 6
        assert len(set(told)) == 1


def test_answer_of_one_door_is_free_at_the_other(dataset: AskedDataset) -> None:
    """What REST was answered, the wire need not pay, and reads the same."""
    rest = dataset.ask(_REGIONS)
    with dataset.connect() as connection:
        told = _noticed(connection)
        rows = connection.execute(_REGIONS).fetchall()
    assert [list(row) for row in rows] == rest["rows"]
    assert len(told) == 1
    assert dataset.past()[0]["charged_epsilon"] == 0.0


def test_wire_is_fresh_when_the_setting_says_so(dataset: AskedDataset) -> None:
    """By SET, for a transaction, and from the start-up packet; each such question is charged."""

    def charged() -> float:
        paid: float = dataset.past()[0]["charged_epsilon"]
        return paid

    with dataset.connect() as connection:
        connection.execute(_ALL)
        connection.execute(_ALL)
        assert charged() == 0.0
        connection.execute("SET gateway.fresh = on")
        connection.execute(_ALL)
        assert charged() == _PRICE
        connection.execute("RESET gateway.fresh")
        connection.execute(_ALL)
        assert charged() == 0.0
        with connection.transaction():
            connection.execute("SET LOCAL gateway.fresh = on")
            connection.execute(_ALL)
            assert charged() == _PRICE
        connection.execute(_ALL)
        assert charged() == 0.0
    with dataset.connect(options="-c gateway.fresh=on") as connection:
        connection.execute(_ALL)
        assert charged() == _PRICE


def test_explain_tells_reuse_at_a_price_of_nothing(dataset: AskedDataset) -> None:
    """A line below the price; with a fresh answer it is the full price again."""

    def plan(connection: psycopg.Connection) -> list[str]:
        return [line for (line,) in connection.execute(f"EXPLAIN {_REGIONS}")]

    with dataset.connect() as connection:
        assert not any(line.startswith("Reused") for line in plan(connection))
        connection.execute(_REGIONS)
        head, reused, *_ = plan(connection)
        assert "price: epsilon 0;" in head
        assert reused.startswith("Reused: ")
        connection.execute("SET gateway.fresh = on")
        head, *rest = plan(connection)
        assert f"price: epsilon {PRICE};" in head
        assert not any(line.startswith("Reused") for line in rest)


@pytest.mark.parametrize("sql", [_BUT_ONE_YEAR, f"EXPLAIN {_BUT_ONE_YEAR}"])
def test_wire_refuses_with_code_and_hint(audited: AskedDataset, sql: str) -> None:
    """42501, the code first in DETAIL, a HINT; a transaction fails by it as by any error."""
    with audited.connect() as connection:
        connection.execute(_ALL)
        for _ in range(2):
            with pytest.raises(errors.InsufficientPrivilege) as caught, connection.transaction():
                connection.execute(sql)
            assert str(caught.value.diag.message_detail).startswith("GW401: ")
            assert caught.value.diag.message_hint
        assert connection.execute(_ALL).fetchall()


def test_metrics_count_reuse_and_refusals_of_overlap(audited: AskedDataset) -> None:
    """Each under its own outcome and code."""

    def count(series: str) -> float:
        lines = audited.doors.rest.get("/metrics").text.splitlines()
        [value] = [line.rpartition(" ")[2] for line in lines if line.startswith(f"{series} ")]
        return float(value)

    series = (
        'gateway_questions_total{outcome="answered"}',
        'gateway_questions_total{outcome="reused"}',
        'gateway_questions_total{outcome="refused"}',
        'gateway_overlap_refusals_total{code="GW401"}',
    )
    before = [count(one) for one in series]
    audited.ask(_ALL)
    audited.ask(_ALL)
    audited.post("/v1/query", _BUT_ONE_YEAR)
    audited.post("/v1/estimate", _BUT_ONE_YEAR)  # an estimate is no question
    assert [count(one) - was for one, was in zip(series, before, strict=True)] == [1, 1, 1, 1]
