"""`accuracy` in a body: what is handed on, what is refused, and what an estimate then says."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import ESTIMATE, Asking, Behind, refused
from laws import for_each

from gateway.frontends.rest.openapi import EstimateShape
from gateway.requests.answer_json import estimate_json
from gateway.requests.request import Accuracy


@pytest.fixture
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


@pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"margin": 30}', Accuracy(Fraction(30))),
        ('{"margin": "0.1", "confidence": 0.99}', Accuracy(Fraction(1, 10), None, Fraction(99, 100))),
        ('{"margin": 1, "relative": null, "rows": 20}', Accuracy(Fraction(1), rows=20)),
        ('{"relative": 0.05, "floor": 1e3}', Accuracy(None, Fraction(1, 20), floor=Fraction(1000))),
        ("null", None),
    ],
)  # fmt: skip
def test_accuracy_is_handed_on_exactly(
    asking: Asking, path: str, written: str, meant: Accuracy | None
) -> None:
    """Numbers are read as they are written, and null says nothing."""
    body = f'{{"sql": "SELECT 1", "accuracy": {written}}}'.encode()
    assert asking.post(path, body).status_code == 200
    [(_, request)] = asking.behind.asked + asking.behind.estimated
    assert request.accuracy == meant
    assert request.epsilon is None


@for_each(
    ("written", "said"),
    [
        *((one, "must be an object") for one in ("30", '"5%"', "[30]", "true")),
        ('{"margin": 30, "delta": 1}', "`delta` is not a key of it"),
        *((f'{{"margin": {one}}}', "`margin` must be") for one in ("true", "[1]", "0", "-1", '"x"')),
        ("{}", "give either `margin` or `relative`"),
        ('{"margin": null}', "give either `margin` or `relative`"),
        ('{"relative": 0.1}', "`relative` needs `floor`"),
        ('{"margin": 1, "confidence": 95}', "`confidence` must be from 0.5 to 0.9999"),
        ('{"margin": 1, "rows": 0.5}', "`rows` must be a whole number"),
    ],
)  # fmt: skip
def test_query_is_refused_when_its_accuracy_is_none(
    asking: Asking, written: str, said: str
) -> None:
    """What is missing or wrong is named."""
    body = f'{{"sql": "SELECT 1", "accuracy": {written}}}'.encode()
    problem = refused(asking.post("/v1/query", body), 400, "GW705")
    assert problem["detail"].startswith("`accuracy`: ")
    assert said in problem["detail"]
    assert asking.behind.asked == []


@pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])
def test_query_is_refused_when_it_says_price_and_accuracy(asking: Asking, path: str) -> None:
    """One follows from the other."""
    body = {"sql": "SELECT 1", "epsilon": 1, "accuracy": {"margin": 30}}
    said = refused(asking.post(path, body), 400, "GW705")
    assert said["detail"] == "`epsilon` and `accuracy` are both given"
    assert asking.behind.asked + asking.behind.estimated == []


def test_idempotency_digest_tells_accuracies_apart(asking: Asking) -> None:
    """Another accuracy is another question; another way to write it, or none at all, is not."""
    bodies = [
        *({"margin": one} for one in (30, "30.0", "3e1")),
        {"margin": 30, "confidence": 0.95, "floor": None},
        {"margin": 31},
        {"margin": 30, "confidence": 0.9},
        {"margin": 30, "rows": 5},
        {"relative": 0.1, "floor": 300},
    ]
    digests = []
    for accuracy in bodies:
        asking.post("/v1/query", {"sql": "SELECT 1", "accuracy": accuracy}, Idempotency_Key="k")
        assert asking.request.idempotency is not None
        digests.append(asking.request.idempotency[1])
    assert len(set(digests[:4])) == 1
    assert len(set(digests)) == 5
    for body in ({"sql": "SELECT 1"}, {"sql": "SELECT 1", "accuracy": None}):
        asking.post("/v1/query", body, Idempotency_Key="k")
        assert asking.request.idempotency is not None
        digests.append(asking.request.idempotency[1])
    assert digests[-1] == digests[-2] not in digests[:-2]


def test_estimate_says_what_is_promised_when_an_accuracy_is_asked_for() -> None:
    """Of each column that is noisy; the others, and estimates for a price, have no such field."""
    region, count = ESTIMATE.columns
    told = estimate_json(replace(ESTIMATE, columns=(region, replace(count, promised_margin=30.0))))
    EstimateShape.model_validate(told)
    assert told["columns"] == [
        {"name": "region", "expected_margin_95": None},
        {"name": "count", "expected_margin_95": 59.9146454710798, "promised_margin": 30.0},
    ]


def test_openapi_says_what_an_accuracy_may_say(asking: Asking) -> None:
    """Its examples are accuracies, and its fields those that are understood."""
    document = asking.get("/openapi.json", None).json()
    body = document["paths"]["/v1/query"]["post"]["requestBody"]["content"]["application/json"]
    schema, nothing = body["schema"]["properties"]["accuracy"]["anyOf"]
    assert nothing == {"type": "null"}
    assert set(schema["properties"]) == {"margin", "relative", "floor", "rows", "confidence"}
    assert schema["additionalProperties"] is False
    for example in schema["examples"]:
        answer = asking.post("/v1/query", {"sql": "SELECT 1", "accuracy": example})
        assert answer.status_code == 200
