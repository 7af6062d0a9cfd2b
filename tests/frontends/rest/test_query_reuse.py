"""Reuse and its refusals over REST: told in every format, before and after, and never guessed."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import COUNT, ESTIMATE, Asking, Behind, answering, refused

from gateway.errors import HTTP, BackendUnavailable, Code, OverlapRefused
from gateway.frontends.rest.openapi import QUERIES, AnswerShape, EstimateShape
from gateway.frontends.rest.response import Format
from gateway.requests.request import CacheUse
from gateway.units import Epsilon

OVERLAP = (Code.DIFFERENCING, Code.UNREADABLE_CONDITION, Code.SMALL_GROUP)


@pytest.fixture
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


@pytest.mark.parametrize("way", [None, *CacheUse])
def test_query_tells_how_the_answer_was_reused(asking: Asking, way: CacheUse | None) -> None:
    """In words of the contract, or null; what was taken stands beside it."""
    asking.behind.answer = answering(reused=way, charged=Epsilon.zero())
    told = asking.query().json()
    AnswerShape.model_validate(told)
    assert told["privacy"]["reused"] == (None if way is None else way.value)
    assert (told["privacy"]["epsilon"], told["privacy"]["charged_epsilon"]) == (0.05, 0.0)


@pytest.mark.parametrize("accept", [Format.CSV.value, Format.ARROW.value])
@pytest.mark.parametrize(
    ("way", "header"),
    [(None, "none"), *((one, one.value) for one in CacheUse)],
)
def test_query_tells_reuse_in_a_header_beside_rows_alone(
    asking: Asking, way: CacheUse | None, header: str, accept: str
) -> None:
    """A word of its own, always there, and the same as in the header of the privacy."""
    asking.behind.answer = answering(reused=way)
    headers = asking.post("/v1/query", {"sql": COUNT}, accept=accept).headers
    assert headers["x-gateway-reused"] == header
    assert json.loads(headers["x-gateway-privacy"])["reused"] == (way and way.value)


def test_query_says_nothing_in_headers_when_the_body_does(asking: Asking) -> None:
    """JSON has it in one place."""
    asking.behind.answer = answering(reused=CacheUse.SAME)
    assert "x-gateway-reused" not in asking.query().headers


@pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])
def test_fresh_reaches_the_pipeline(asking: Asking, path: str) -> None:
    """Asked or estimated: what is to be paid anew is said; left out it is not."""
    for body in ({"sql": COUNT, "fresh": True}, {"sql": COUNT, "fresh": False}, {"sql": COUNT}):
        assert asking.post(path, body).status_code == 200
    seen = asking.behind.asked or asking.behind.estimated
    assert [request.fresh for _, request in seen] == [True, False, False]


@pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])
def test_unsupported_reaches_the_pipeline(asking: Asking, path: str) -> None:
    """Asked or estimated: items are refused unless the body says otherwise."""
    for body in ({"sql": COUNT, "unsupported": "null"}, {"sql": COUNT}):
        assert asking.post(path, body).status_code == 200
    seen = asking.behind.asked or asking.behind.estimated
    assert [request.unsupported.value for _, request in seen] == ["null", "refuse"]


@pytest.mark.parametrize("way", [None, *CacheUse])
def test_estimate_tells_reuse_and_what_would_be_charged(
    asking: Asking, way: CacheUse | None
) -> None:
    """Before anything is asked: from earlier answers, and at which price now."""
    price = Epsilon.parse("0.05") if way is None else Epsilon.zero()
    asking.behind.estimate = replace(ESTIMATE, reused=way, price=price)
    told = asking.post("/v1/estimate", {"sql": COUNT}).json()
    EstimateShape.model_validate(told)
    assert (told["decision"], told["reused"]) == ("permit", way and way.value)
    assert told["price"] == (0.05 if way is None else 0.0)
    assert list(told) == ["decision", "price", "reused", "columns", "notices"]


@pytest.mark.parametrize("code", OVERLAP)
def test_overlap_is_the_same_problem_from_query_and_estimate(asking: Asking, code: Code) -> None:
    """Whoever looks before asking is told what the question would be told."""
    asking.behind.refusal = OverlapRefused(code, "it clashes with `q-7`", "ask for wider groups")
    said = [
        refused(asking.post(path, {"sql": COUNT}), 403, code.value)
        for path in ("/v1/query", "/v1/estimate")
    ]
    assert said[0] == said[1]
    assert (said[0]["reason"], said[0]["status"]) == ("overlap", 403)
    assert (said[0]["detail"], said[0]["hint"]) == ("it clashes with `q-7`", "ask for wider groups")


def test_query_may_come_again_when_too_much_was_asked_at_once(asking: Asking) -> None:
    """It is nobody's fault and over in a moment: 503 says when to try."""
    asking.behind.refusal = BackendUnavailable(Code.ASKED_AT_ONCE)
    answer = asking.query()
    assert refused(answer, HTTP[Code.ASKED_AT_ONCE], "GW614")["reason"] == "backend_unavailable"
    assert answer.headers["retry-after"] == "1"


def test_openapi_shows_a_past_question_that_was_reused() -> None:
    """The example of one's own history has one that cost nothing."""
    free = [one for one in QUERIES["queries"] if one["outcome"] == "reused"]
    assert [one["charged_epsilon"] for one in free] == [0.0]
