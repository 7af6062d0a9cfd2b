"""`POST /v1/query`: what is asked reaches the pipeline exactly, and what it answers leaves as promised."""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import COUNT, Asking, Behind, answering, refused
from laws import for_each

from gateway.errors import (
    BackendUnavailable,
    BudgetExhausted,
    Code,
    GatewayError,
    InternalError,
    OperatorError,
    Refusal,
    UnsupportedSql,
)
from gateway.events import Crashed
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.openapi import AnswerShape, EstimateShape
from gateway.units import Delta, Epsilon


@pytest.fixture
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


def test_query_answers_with_the_body_of_the_contract(asking: Asking) -> None:
    """The fields are those that were promised, and nothing else."""
    answer = asking.query()
    assert answer.status_code == 200
    told = answer.json()
    AnswerShape.model_validate(told)
    assert list(told) == [
        *("query_id", "columns", "rows", "intervals", "privacy", "budget", "notices"),
    ]
    assert told["query_id"] == "q-1"
    assert told["columns"] == [
        {"name": "region", "type": "text", "noisy": False},
        {
            "name": "count",
            "type": "bigint",
            "noisy": True,
            "mechanism": "discrete_laplace",
            "scale": 20.0,
        },
    ]
    assert told["rows"] == [["north", 2517], [None, 12]]
    assert told["intervals"] == [[None, [2457.0, 2577.0]], [None, [-48.0, 72.0]]]
    assert told["privacy"] == {
        "epsilon": 0.05,
        "charged_epsilon": 0.05,
        "delta": 0.0,
        "reused": None,
        "clipped": None,
    }
    assert [one["account"] for one in told["budget"]["accounts"]] == [
        *("analyst:alice@clinic", "dataset:clinic"),
    ]
    assert told["budget"]["accounts"][1]["epsilon_remaining"] == 9.95
    assert told["notices"] == ["as it is"]


def test_query_tells_rho_and_delta_when_there_are_any(asking: Asking) -> None:
    """Amounts are numbers of at most 15 digits."""
    asking.behind.answer = answering(
        rho=Fraction(1, 3), delta=Delta.parse("1e-9"), charged=Epsilon.zero()
    )
    assert asking.query().json()["privacy"] == {
        "epsilon": 0.05,
        "charged_epsilon": 0.0,
        "rho": 0.333333333333333,
        "delta": 1e-9,
        "reused": None,
        "clipped": None,
    }


def test_query_hands_on_everything_that_was_asked(asking: Asking) -> None:
    """Nothing is lost, guessed or converted between the body and the pipeline."""
    asking.query("bob", dataset="clinic", purpose="care-quality", epsilon=0.1, fresh=True)
    assert asking.behind.asked == [("bob", asking.request)]
    assert asking.request.sql == COUNT
    assert (asking.request.dataset, asking.request.purpose) == ("clinic", "care-quality")
    assert asking.request.address == "192.0.2.7"
    assert asking.request.idempotency is None
    assert asking.request.fresh
    assert asking.behind.of_accounts == [("bob", "clinic")]


def test_query_leaves_what_was_not_said_to_the_policy(asking: Asking) -> None:
    """No default is made up here; null says nothing, as leaving out does."""
    asking.query()
    asking.query(dataset=None, purpose=None, epsilon=None, accuracy=None, params=None)
    first, second = (request for _, request in asking.behind.asked)
    assert first == second
    assert (first.dataset, first.purpose, first.epsilon, first.parameters) == (None, None, None, ())
    assert not first.fresh


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        ('"0.1"', Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("1", Fraction(1)),
        ("0.1000000000000000055511151231", Fraction("0.1000000000000000055511151231")),
        ("0.30000000000000004", Fraction("0.30000000000000004")),
        ("5E-1", Fraction(1, 2)),
    ],
)
def test_query_reads_epsilon_exactly(asking: Asking, written: str, exact: Fraction) -> None:
    """A price is the decimal that was written, not the double next to it."""
    body = f'{{"sql": "SELECT 1", "epsilon": {written}}}'.encode()
    assert asking.post("/v1/query", body).status_code == 200
    assert asking.price == exact


@for_each(
    "written",
    [
        *("0", "0.0", '"0"', "0e10", "-0.1", '"-1"', '""', '" 0.1"', '"0,1"', '"1/10"', '"nan"'),
        *('"Infinity"', "1e999", "1e-999", "9" * 100, "0." + "1" * 100, "true", "[0.1]", "{}"),
        '"' + "9" * 100_000 + '"',
    ],
)
def test_query_is_refused_when_epsilon_is_no_price(asking: Asking, written: str) -> None:
    """Nothing, less than nothing, too many digits, or no number at all."""
    body = f'{{"sql": "SELECT 1", "epsilon": {written}}}'.encode()
    said = refused(asking.post("/v1/query", body), 400, "GW705")
    assert said["detail"].startswith("`epsilon`: ")
    assert asking.behind.asked == []


def test_query_reads_parameters_as_postgresql_would(asking: Asking) -> None:
    """Numbers keep every digit they were written with, and null is null."""
    body = (
        b'{"sql": "SELECT $1", "params": [null, true, false, 1, -0.10, 1e5, '
        b'123456789012345678901234567890.123, "x", "", "na\xc3\xafve \xf0\x9f\x8c\x8d"]}'
    )
    assert asking.post("/v1/query", body).status_code == 200
    assert asking.request.parameters == (
        *(None, "true", "false", "1", "-0.10", "1e5", "123456789012345678901234567890.123"),
        *("x", "", "naïve 🌍"),
    )


@pytest.mark.parametrize("written", ['[["x"]]', "[{}]", '["a\\u0000b"]', '"x"', "1", "{}"])
def test_query_is_refused_when_a_parameter_is_none(asking: Asking, written: str) -> None:
    """Arrays and objects have no text of which it is clear what PostgreSQL makes of it."""
    body = f'{{"sql": "SELECT $1", "params": {written}}}'.encode()
    said = refused(asking.post("/v1/query", body), 400, "GW705")
    assert said["detail"].startswith("`params")


def test_query_gives_the_estimate_when_it_is_a_dry_run(asking: Asking) -> None:
    """The same body, and nothing is asked or charged."""
    told = asking.query(dry_run=True).json()
    EstimateShape.model_validate(told)
    assert told == asking.post("/v1/estimate", {"sql": COUNT}).json()
    assert asking.behind.asked == []
    assert len(asking.behind.estimated) == 2


def test_estimate_takes_no_idempotency_key_with_it(asking: Asking) -> None:
    """Nothing is charged, so there is nothing to be charged once; a malformed one is refused all the same."""
    asking.post("/v1/estimate", {"sql": COUNT}, Idempotency_Key="x")
    asking.post("/v1/query", {"sql": COUNT, "dry_run": True}, Idempotency_Key="x")
    assert [request.idempotency for _, request in asking.behind.estimated] == [None, None]
    refused(asking.post("/v1/estimate", {"sql": COUNT}, Idempotency_Key="x y"), 400, "GW705")


def test_estimate_says_price_and_margins(asking: Asking) -> None:
    """The margin is null where none can be told beforehand."""
    assert asking.post("/v1/estimate", {"sql": COUNT, "epsilon": "0.05"}).json() == {
        "decision": "permit",
        "price": 0.05,
        "reused": None,
        "columns": [
            {"name": "region", "expected_margin_95": None},
            {"name": "count", "expected_margin_95": 59.9146454710798},
        ],
        "notices": [],
    }


@pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])
@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "`FOR UPDATE`", "leave it out"), 422, "GW105"),
        (BudgetExhausted(Code.BUDGET_EXHAUSTED, "analyst:alice@clinic"), 429, "GW501"),
        (InternalError("0123"), 500, "GW901"),
    ],
)
def test_refusal_keeps_the_id_of_its_question(
    asking: Asking, path: str, refusal: Refusal, status: int, code: str
) -> None:
    """Whoever was told no can point to the record of it."""
    refusal.query_id = "q-17"
    asking.behind.refusal = refusal
    said = refused(asking.post(path, {"sql": COUNT}), status, code)
    assert (said["query_id"], said["detail"]) == ("q-17", refusal.detail)
    assert asking.post(path, {}).json()["query_id"] is None


def test_bug_tells_nothing_of_the_question(asking: Asking) -> None:
    """What the pipeline did not expect is in the log alone."""
    asking.behind.refusal = ValueError("secret 4711")
    said = refused(asking.query(), 500, "GW901")
    assert "4711" not in str(said)
    assert [one for one in asking.behind.told if isinstance(one, Crashed)]


@pytest.mark.parametrize(
    "lost", [BackendUnavailable(Code.STATE_UNAVAILABLE), OperatorError(Code.STATE_UNREACHABLE)]
)
def test_answer_is_given_when_the_accounts_cannot_be_read(
    asking: Asking, lost: GatewayError
) -> None:
    """It was paid for; a notice says what is missing."""
    asking.behind.lost_accounts = lost
    told = asking.query().json()
    assert told["rows"] == [["north", 2517], [None, 12]]
    assert told["budget"] == {"accounts": []}
    assert told["notices"][0] == "as it is"
    assert "the accounts cannot be read" in told["notices"][1]


# ---- the idempotency key ----


@pytest.mark.parametrize("key", ["x", "!~", "4c7e9a12-6f0b-4d53-8a77-0d4a3b2c1e5f", "k" * 255])
def test_idempotency_key_is_handed_on_with_what_it_asked(asking: Asking, key: str) -> None:
    """The digest tells questions apart, not ways to write one down."""
    asking.post("/v1/query", {"sql": COUNT, "epsilon": "0.50"}, Idempotency_Key=key)
    first = asking.request.idempotency
    assert first is not None
    assert (first[0], len(first[1])) == (key, 64)
    written = b'{ "fresh":false,"epsilon":5e-1,\n"dataset":null, "sql":"%b"}' % COUNT.encode()
    asking.post("/v1/query", written, Idempotency_Key=key)
    assert asking.request.idempotency == first


@for_each(
    "other",
    [
        *({"epsilon": 0.51}, {"dataset": "clinic"}, {"purpose": "clinic"}, {"params": [1]}),
        *({"params": ["a", "b"]}, {"params": ["a,b"]}, {"params": [None]}, {"params": ["None"]}),
        {"unsupported": "null"},
        *({"fresh": True}, {"sql": COUNT + " "}, {"epsilon": "0.500000000000000000001"}),
    ],
)
def test_idempotency_digest_differs_when_the_question_does(
    asking: Asking, other: dict[str, Any]
) -> None:
    """Two questions under one key are noticed, whatever their difference is."""
    digests = set()
    for body in ({}, {"epsilon": 0.5}, other, {"epsilon": 0.5} | other):
        asking.post("/v1/query", {"sql": COUNT} | body, Idempotency_Key="x")
        assert asking.request.idempotency is not None
        digests.add(asking.request.idempotency[1])
    assert len(digests) == 3 + ("epsilon" not in other)


@pytest.mark.parametrize("key", [b"", b"k" * 256, b"a b", b"\xff", b"\xc3\xa9", b"a\tb", b"\x7f"])
def test_idempotency_key_is_refused_when_it_is_no_visible_ascii(asking: Asking, key: bytes) -> None:
    """A key that not every client would send alike is none."""
    headers = [(b"authorization", b"Bearer key-of-alice"), (b"idempotency-key", key)]
    answer = asking.client.request(
        "POST", "/v1/query", content=b'{"sql": "SELECT 1"}', headers=headers
    )
    assert "Idempotency-Key" in refused(answer, 400, "GW705")["detail"]
    assert asking.behind.asked == []


def test_idempotency_key_is_refused_when_there_are_two(asking: Asking) -> None:
    """Nobody guesses which of them was meant."""
    headers = [(b"authorization", b"Bearer key-of-alice"), *[(b"idempotency-key", b"x")] * 2]
    answer = asking.client.request(
        "POST", "/v1/query", content=b'{"sql": "SELECT 1"}', headers=headers
    )
    assert "twice" in refused(answer, 400, "GW705")["detail"]


# ---- nobody is behind the door ----


def test_questions_are_refused_when_no_dataset_is_open() -> None:
    """Without a pipeline the endpoints are there, and say that nothing can be asked."""
    behind = Behind()
    with closing(Client(create_app(behind.doors(None)))) as client:
        asking = Asking(behind, client)
        for path in ("/v1/query", "/v1/estimate"):
            refused(asking.post(path, {"sql": COUNT}), 503, "GW601")
        for path in ("/v1/datasets", "/v1/queries"):
            refused(asking.get(path), 503, "GW601")
