"""`POST /v1/query` in other formats: the same rows, and in headers what JSON says in its body."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import COUNT, Asking, Behind, answering

from gateway.errors import BackendUnavailable, Code
from gateway.frontends.rest.response import Format


@pytest.fixture
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


def _asked(asking: Asking, accept: str) -> tuple[int, dict[str, str], bytes]:
    told = asking.post("/v1/query", {"sql": COUNT}, accept=accept)
    return (
        told.status_code,
        {name.lower(): value for name, value in told.headers.items()},
        told.content,
    )


def test_query_answers_in_csv_when_asked_for_it(asking: Asking) -> None:
    """A head and the rows, as any reader of CSV reads them."""
    status, headers, body = _asked(asking, "text/csv")
    assert status == 200
    assert headers["content-type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(body.decode(), newline="")))
    assert rows == [["region", "count"], ["north", "2517"], ["", "12"]]


def test_query_answers_in_arrow_when_asked_for_it(asking: Asking) -> None:
    """A stream that Arrow's own implementation reads."""
    status, headers, body = _asked(asking, Format.ARROW.value)
    assert status == 200
    assert headers["content-type"] == Format.ARROW.value
    table = pa.ipc.open_stream(body).read_all()
    assert table.to_pydict() == {"region": ["north", None], "count": [2517, 12]}


@pytest.mark.parametrize("accept", ["text/csv", Format.ARROW.value])
def test_query_tells_price_and_budget_in_headers_beside_rows_alone(
    asking: Asking, accept: str
) -> None:
    """What JSON says in its body is there whatever the format, and it is the same."""
    told = asking.query().json()
    asking.behind.answer = answering(notices=("es ist grün",))
    _, headers, _ = _asked(asking, accept)
    assert headers["x-gateway-query-id"] == told["query_id"]
    assert json.loads(headers["x-gateway-privacy"]) == told["privacy"]
    assert json.loads(headers["x-gateway-budget"]) == told["budget"]
    assert json.loads(headers["x-gateway-notices"]) == ["es ist grün"]


def test_query_is_not_charged_when_nobody_could_read_the_answer(asking: Asking) -> None:
    """A format that there is not is refused before the question is looked at."""
    told = asking.post("/v1/query", {"sql": COUNT}, accept="image/png")
    assert told.status_code == 406
    assert told.json()["code"] == Code.NO_SUCH_FORMAT
    assert asking.behind.asked == []


@pytest.mark.parametrize("accept", ["text/csv", Format.ARROW.value])
def test_query_refuses_in_a_problem_document_whatever_the_format(
    asking: Asking, accept: str
) -> None:
    """A refusal has no rows."""
    asking.behind.refusal = BackendUnavailable(Code.SOURCE_UNAVAILABLE)
    told = asking.post("/v1/query", {"sql": COUNT}, accept=accept)
    assert told.status_code == 503
    assert told.headers["content-type"] == "application/problem+json"


def test_query_estimates_in_json_whatever_the_format(asking: Asking) -> None:
    """An estimate has no rows."""
    told = asking.post("/v1/query", {"sql": COUNT, "dry_run": True}, accept="text/csv")
    assert told.json()["decision"] == "permit"
