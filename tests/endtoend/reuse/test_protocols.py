"""Notices of reuse and refused differences, over REST and on the wire, from a gateway that listens."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import AUDITED, PURE, Opened, Place, opened
from fix_gateway import Client
from fix_servers import SharedServers

from gateway.admin.key_actions import create_key
from gateway.app import gateway_api, query_api, serve_wire
from gateway.auth.key_store import KeyOrder
from gateway.frontends.rest.app import create_app
from gateway.postgres_server import Lease
from gateway.telemetry.metrics import Metrics

_HOST = "127.0.0.1"
_SUM = "SELECT SUM(income) AS s FROM patients"
_ALL = "SELECT COUNT(*) FROM patients"
_BUT_ONE_YEAR = f"{_ALL} WHERE birth_year <> 1962"
_EXPLAINED = f"EXPLAIN {_SUM}"


@pytest.fixture(scope="module")
def houses(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """One gateway, which listens."""
    with opened(sample_server, servers, pure=8, zcdp=4, audited=2) as one:
        yield one


@pytest.fixture(scope="module")
def key(houses: Opened) -> str:
    order = KeyOrder("alice", "os:op", datetime.now(UTC))
    create_key(houses.foundation.journal, houses.foundation.trail, order, lambda _: True)
    return order.key.reveal()


@pytest.fixture(scope="module")
def rest(houses: Opened) -> Iterator[Client]:
    doors = gateway_api(
        houses.foundation,
        Metrics(),
        policies=houses.policies,
        questions=query_api(houses.asking),
    )
    with closing(Client(create_app(doors))) as client:
        yield client


@pytest.fixture(scope="module")
def port(houses: Opened) -> Iterator[int]:
    with (
        socket.create_server((_HOST, 0)) as listener,
        serve_wire(houses.foundation, houses.policies, houses.asking, listener),
    ):
        yield int(listener.getsockname()[1])


def _asked(rest: Client, key: str, place: Place, sql: str, **more: object) -> Any:  # noqa: ANN401 - JSON
    headers = {"Authorization": f"Bearer {key}"}
    body = {"sql": sql, "dataset": place.dataset, **more}
    return rest.request("POST", "/v1/query", json=body, headers=headers).json()


@contextmanager
def _connected(port: int, key: str, place: Place) -> Iterator[tuple[psycopg.Connection, list[str]]]:
    """A connection, and what it is noticed at full detail, but for the summary and how much of a result is noise."""
    said: list[str] = []

    def keep(notice: psycopg.errors.Diagnostic) -> None:
        text = notice.message_primary or ""
        if not text.startswith(("the 95 % margin", "price: ")):
            said.append(text)

    with psycopg.connect(
        host=_HOST,
        port=port,
        user="alice",
        password=key,
        dbname=place.dataset,
        sslmode="disable",
        autocommit=True,
        connect_timeout=20,
        options="-c gateway.notices=full",
    ) as connection:
        connection.add_notice_handler(keep)
        yield connection, said


def test_rest_says_that_an_answer_was_given_before(houses: Opened, rest: Client, key: str) -> None:
    """`reused`, nothing charged, and accounts as they were; with `fresh` a charge and other numbers."""
    place = houses.place(PURE)
    first, again = (_asked(rest, key, place, _SUM) for _ in range(2))
    assert (first["privacy"]["reused"], again["privacy"]["reused"]) == (None, "same")
    assert again["rows"] == first["rows"]
    assert again["privacy"]["charged_epsilon"] == 0
    assert again["budget"] == first["budget"]
    assert again["notices"]
    fresh = _asked(rest, key, place, _SUM, fresh=True)
    assert fresh["privacy"]["reused"] is None
    assert fresh["privacy"]["charged_epsilon"] == float(PRICE)
    assert fresh["rows"] != first["rows"]


def test_wire_notices_that_an_answer_was_given_before(houses: Opened, port: int, key: str) -> None:
    """NOTICE for what is reused, none for what was measured; `gateway.fresh` measures."""
    place = houses.place(PURE)
    with _connected(port, key, place) as (connection, said):
        first = connection.execute(_SUM).fetchall()
        before = len(said)
        assert connection.execute(_SUM).fetchall() == first
        assert len(said) > before
        plan = "\n".join(row[0] for row in connection.execute(_EXPLAINED).fetchall())
        assert "Reused" in plan
        connection.execute("SET gateway.fresh = on")
        before = len(said)
        assert connection.execute(_SUM).fetchall() != first
        assert len(said) == before
    assert place.spent_by_all() * 1000 == 2


def test_items_that_cannot_be_answered_are_null_on_both_ways(
    houses: Opened, rest: Client, port: int, key: str
) -> None:
    """The same numbers, NULL and notice; without the setting the same refusal. COPY and EXPLAIN know the setting, too."""
    place = houses.place(PURE)
    wide = "SELECT COUNT(*) AS n, array_agg(income) AS a FROM patients"
    answer = _asked(rest, key, place, wide, unsupported="null")
    ((count, none),) = answer["rows"]
    assert none is None
    assert [one["type"] for one in answer["columns"]] == ["bigint", "numeric[]"]
    assert _asked(rest, key, place, wide)["code"] == "GW118"
    with _connected(port, key, place) as (connection, said):
        with pytest.raises(psycopg.Error):
            connection.execute(wide)
        connection.execute("SET gateway.unsupported = 'null'")
        for binary in (False, True):  # the second by the extended protocol
            assert connection.execute(wide, binary=binary).fetchall() == [(count, None)]
            assert answer["notices"][0] in said
            said.clear()
        with connection.cursor() as cursor, cursor.copy(f"COPY ({wide}) TO STDOUT") as rows:
            assert list(rows.rows()) == [(str(count), None)]
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {wide}").fetchall())
        assert f"Notice: {answer['notices'][0]}" in plan
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SET gateway.unsupported = 'maybe'")
        assert (caught.value.diag.message_detail or "").startswith("GW705")


def test_refusal_of_a_difference_is_told_alike_on_both_ways(
    houses: Opened, rest: Client, port: int, key: str
) -> None:
    """403 and 42501, the code, the question that it clashes with, and how to widen."""
    place = houses.place(AUDITED)
    first = _asked(rest, key, place, _ALL)
    problem = _asked(rest, key, place, _BUT_ONE_YEAR)
    assert (problem["status"], problem["code"], problem["reason"]) == (403, "GW401", "overlap")
    assert first["query_id"] in f"{problem['detail']} {problem['hint']}"
    with _connected(port, key, place) as (connection, _):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute(_BUT_ONE_YEAR)
        found = caught.value.diag
        assert (found.message_detail or "").startswith("GW401")
        assert found.message_hint == problem["hint"]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"EXPLAIN {_BUT_ONE_YEAR}")
