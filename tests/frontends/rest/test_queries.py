"""`GET /v1/queries`: one's own history, in the form that was promised."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest
from fix_gateway import NASTY, Client
from frontends.rest.stub_questions import Asking, Behind, refused
from laws import for_each

from gateway.frontends.rest.openapi import QueriesShape
from gateway.requests.request import PastQuestion
from gateway.units import Epsilon

PAST = (
    PastQuestion(
        "q-2",
        datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
        NASTY,
        "answered",
        None,
        Epsilon.parse("0.05"),
    ),
    PastQuestion("q-1", datetime(2026, 1, 30, tzinfo=UTC), "", "refused", "not_aggregate"),
)


@pytest.fixture
def asking() -> Iterator[Asking]:
    behind = Behind(past=PAST)
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


def test_queries_are_told_with_their_outcome_and_price(asking: Asking) -> None:
    """Times are UTC, prices numbers, and SQL is what was sent, printable whatever it was."""
    answer = asking.get("/v1/queries")
    assert answer.text.isprintable()
    QueriesShape.model_validate(answer.json())
    assert answer.json() == {
        "queries": [
            {
                "query_id": "q-2",
                "at": "2026-01-31T10:00:00+00:00",
                "sql": NASTY,
                "outcome": "answered",
                "charged_epsilon": 0.05,
            },
            {
                "query_id": "q-1",
                "at": "2026-01-30T00:00:00+00:00",
                "sql": "",
                "outcome": "refused",
                "reason": "not_aggregate",
                "charged_epsilon": 0.0,
            },
        ]
    }


def test_queries_are_those_of_the_caller(asking: Asking) -> None:
    """Whose history it is says the key; nothing else can."""
    asking.get("/v1/queries?limit=5&before=q-2", "bob")
    asking.get("/v1/queries")
    assert asking.behind.looked == [("bob", 5, "q-2"), ("alice", 100, None)]
    refused(asking.get("/v1/queries", None), 401, "GW701")


@for_each(
    "query",
    [
        *("limit=0", "limit=1001", "limit=x", "limit=", "limit=1.5", "limit=" + "9" * 5000),
        *("before=", "before=" + "x" * 65, "subject=bob", "limit=1&Before=x"),
    ],
)
def test_queries_are_refused_when_a_parameter_is_malformed(asking: Asking, query: str) -> None:
    """A mistake is a 400 that names the parameter, never one that is silently left out."""
    said = refused(asking.get(f"/v1/queries?{query}"), 400, "GW705")
    name = query.rpartition("&")[2].partition("=")[0]
    assert said["detail"].startswith(f"query.{name}: ")
    assert asking.behind.looked == []
