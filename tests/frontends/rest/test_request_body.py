"""Hostile bodies: whatever is sent, one clear problem comes back, and nothing reaches the pipeline."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, suppress
from typing import Any

import httpx
import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import COUNT, Asking, Behind, refused
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import SyntaxRefused
from gateway.frontends.rest.request_body import LARGEST, JsonNumber, parse_body
from gateway.frontends.workers import MOST_OF_ONE

PATHS = pytest.mark.parametrize("path", ["/v1/query", "/v1/estimate"])


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


MALFORMED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not JSON"),
    "text": (b"SELECT 1", "not JSON"),
    "cut off": (b'{"sql": "SELECT 1"', "not JSON"),
    "more behind it": (b'{"sql": "SELECT 1"} {}', "not JSON"),
    "single quotes": (b"{'sql': 'SELECT 1'}", "not JSON"),
    "comma at the end": (b'{"sql": "SELECT 1",}', "not JSON"),
    "control character": (b'{"sql": "SELECT\n1"}', "not JSON"),
    "leading zero": (b'{"sql": "SELECT 1", "epsilon": 01}', "not JSON"),
    "byte order mark": (b'\xef\xbb\xbf{"sql": "SELECT 1"}', "not JSON"),
    "utf-16": ('{"sql": "SELECT 1"}'.encode("utf-16"), "not UTF-8"),
    "latin-1": ('{"sql": "SELECT \'é\'"}'.encode("latin-1"), "not UTF-8"),
    "surrogate in utf-8": (b'{"sql": "\xed\xa0\x80"}', "not UTF-8"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "not UTF-8"),
    "array": (b'[{"sql": "SELECT 1"}]', "not a JSON object"),
    "string": (b'"SELECT 1"', "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "number": (b"1", "not a JSON object"),
    "arrays in arrays": (b"[" * 500_000, "too deep"),
    "objects in objects": (b'{"a":' * 150_000, "too deep"),
    "deep parameter": (
        b'{"sql": "SELECT 1", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "too deep",
    ),
    "key twice": (b'{"sql": "SELECT 1", "sql": "SELECT 2"}', "`sql` is given twice"),
    "key twice, spelt apart": (b'{"sql": "SELECT 1", "\\u0073ql": "x"}', "`sql` is given twice"),
    "key twice below": (b'{"sql": "x", "accuracy": {"margin": 1, "margin": 2}}', "twice"),
    "NaN": (b'{"sql": "SELECT 1", "epsilon": NaN}', "`NaN` is not a JSON number"),
    "infinity": (b'{"sql": "SELECT 1", "epsilon": -Infinity}', "`-Infinity` is not"),
    "half a pair": (b'{"sql": "SELECT \'\\ud800\'"}', "surrogate"),
    "half a pair, the wrong way": (b'{"sql": "\\udc00\\ud800"}', "surrogate"),
    "half a pair in a parameter": (b'{"sql": "x", "params": ["\\udfff"]}', "surrogate"),
    "half a pair in a key": (b'{"sql": "x", "\\ud83d": 1}', "surrogate"),
    "endless number": (b'{"sql": "x", "params": [' + b"1" * 5000 + b"]}", "digits"),
    "endless fraction": (b'{"sql": "x", "params": [0.' + b"1" * 900_000 + b"]}", "digits"),
    "no sql": (b"{}", "`sql`: field required"),
    "sql is null": (b'{"sql": null}', "`sql`: "),
    "sql is a number": (b'{"sql": 1}', "`sql`: "),
    "sql is an object": (b'{"sql": {"sql": "SELECT 1"}}', "`sql`: "),
    "sql is an array": (b'{"sql": ["SELECT 1"]}', "`sql`: "),
    "unknown key": (b'{"sql": "SELECT 1", "role": "admin"}', "`role`: "),
    "attributes of one's own": (b'{"sql": "x", "subject": {"role": "admin"}}', "`subject`: "),
    "key in capitals": (b'{"SQL": "SELECT 1"}', "`sql`: "),
    "endless key": (b'{"sql": "x", "' + b"k" * 900_000 + b'": 1}', "…`: "),
    "dataset is a number": (b'{"sql": "SELECT 1", "dataset": 1}', "`dataset"),
    "dataset is endless": (b'{"sql": "x", "dataset": "' + b"d" * 900_000 + b'"}', "`dataset"),
    "purpose is a list": (b'{"sql": "SELECT 1", "purpose": ["a"]}', "`purpose"),
    "fresh is a text": (b'{"sql": "SELECT 1", "fresh": "yes"}', "`fresh`: "),
    "unsupported is a boolean": (b'{"sql": "SELECT 1", "unsupported": true}', "`unsupported`: "),
    "unsupported is another word": (b'{"sql": "SELECT 1", "unsupported": "no"}', "`unsupported`: "),
    "fresh is a number": (b'{"sql": "SELECT 1", "fresh": 1}', "`fresh`: "),
    "dry run is null": (b'{"sql": "SELECT 1", "dry_run": null}', "`dry_run`: "),
    "too many parameters": (
        b'{"sql": "x", "params": [' + b"1," * 65_535 + b"1]}",
        "`params",
    ),
}


@PATHS
@pytest.mark.parametrize("name", MALFORMED)
def test_body_is_refused_with_one_clear_problem_when_it_is_malformed(
    asking: Asking, path: str, name: str
) -> None:
    """The detail says what is wrong with it, is short, and is printable."""
    body, says = MALFORMED[name]
    answer = asking.post(path, body)
    said = refused(answer, 400, "GW705")
    assert says in said["detail"]
    assert said["reason"] == "syntax_error"
    assert len(said["detail"]) < 300
    assert answer.text.isprintable()
    assert asking.behind.asked == asking.behind.estimated == []


@PATHS
def test_body_is_refused_when_it_is_larger_than_it_says(path: str) -> None:
    """Without a length it is read no further than it may reach, with one not at all."""
    behind = Behind()
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 65_536

    with closing(Client(behind.app())) as client:
        known = {"Authorization": "Bearer key-of-alice"}
        answer = client.request("POST", path, content=endless(), headers=known)
        refused(answer, 413, "GW707")
        assert sent == LARGEST // 65_536 + 1
        for length in ("2097152", "9" * 5000):
            sent = 0
            headers = known | {"Content-Length": length}
            answer = client.request("POST", path, content=endless(), headers=headers)
            refused(answer, 413, "GW707")
            assert sent == 0
    assert behind.asked == []


@PATHS
def test_body_is_refused_when_it_has_two_megabytes(asking: Asking, path: str) -> None:
    """The limit is said, and a body just below it is read."""
    fits = json.dumps({"sql": "SELECT 1"}).encode().ljust(LARGEST)
    assert asking.post(path, fits).status_code == 200
    said = refused(asking.post(path, fits + b" "), 413, "GW707")
    assert said["detail"] == "the body may have at most 1048576 bytes"
    refused(asking.post(path, b"x" * 2 * LARGEST), 413, "GW707")
    asking.behind.asked.clear()
    asking.behind.estimated.clear()


@PATHS
@pytest.mark.parametrize("body", [b"", b"{", b"[" * 900_000, b"x" * 3 * LARGEST])
def test_body_is_not_looked_at_when_no_key_is_shown(asking: Asking, path: str, body: bytes) -> None:
    """Nobody learns what an endpoint takes, or fills the memory, without a key."""
    answer = asking.post(path, body, None)
    refused(answer, 401, "GW701")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_body_is_read_whatever_its_type_is_called(asking: Asking, media: str) -> None:
    """`curl -d` sends JSON under the name of a form; the bytes decide."""
    answer = asking.post("/v1/query", {"sql": COUNT}, Content_Type=media)
    assert answer.status_code == 200
    asking.behind.asked.clear()


def test_sql_arrives_as_it_was_written(asking: Asking) -> None:
    """Unicode of any plane, escapes and control characters: the reader of SQL decides, not the way there."""
    for sql in (
        "SELECT '🌍 \u202e\u2028é'",
        'SELECT "\\"',
        "SELECT\t1\r\n",
        "\x00\x1b[2J",
        "",
        " ",
    ):
        assert asking.query(sql=sql).status_code == 200
        assert asking.request.sql == sql
    asking.behind.asked.clear()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
@PATHS
def test_question_is_refused_when_the_method_is_another(
    asking: Asking, path: str, method: str
) -> None:
    """A question in a URL would end up in logs: there is no such way to ask."""
    answer = asking.client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@given(st.binary(max_size=200))
def test_body_of_any_bytes_is_an_object_or_a_refusal(body: bytes) -> None:
    """Nothing else comes out of reading, whatever goes in."""
    with suppress(SyntaxRefused):
        assert isinstance(parse_body(body), dict)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.booleans())
def test_body_is_read_as_it_was_written(value: dict[str, Any], ascii_alone: bool) -> None:  # noqa: FBT001  # drawn
    """Numbers are the texts they were, and all else is what any reader of JSON makes of it."""

    def plain(read: object) -> object:
        if isinstance(read, JsonNumber):
            return int(read.text)
        if isinstance(read, list):
            return [plain(one) for one in read]
        if isinstance(read, dict):
            return {key: plain(one) for key, one in read.items()}
        return read

    written = json.dumps(value, ensure_ascii=ascii_alone).encode()
    assert plain(parse_body(written)) == value


def test_body_that_never_ends_ends_with_its_client() -> None:
    """A client that leaves in the middle of its body is no bug of ours, and takes no place."""
    behind = Behind()
    app = behind.app()

    async def leave() -> list[int]:
        pieces: list[dict[str, Any]] = [
            {"type": "http.request", "body": b'{"sql": "SEL', "more_body": True},
            {"type": "http.disconnect"},
        ]
        statuses: list[int] = []

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return pieces.pop(0) if len(pieces) > 1 else pieces[0]

        async def send(message: Any) -> None:  # noqa: ANN401  # an ASGI message
            await asyncio.sleep(0)
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await app(scope(), receive, send)
        return statuses

    for _ in range(MOST_OF_ONE + 1):
        assert asyncio.run(leave()) == [400]
    assert behind.told == []
    with closing(Client(app)) as client:
        assert Asking(behind, client).query().status_code == 200


def scope() -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": "/v1/query",
        "headers": [(b"authorization", b"Bearer key-of-alice")],
        "query_string": b"",
        "client": ("192.0.2.7", 4711),
    }


def test_client_of_tests_sends_what_it_is_told(asking: Asking) -> None:
    """The control of this file: a body that is right is answered."""
    answer: httpx.Response = asking.post("/v1/query", b'{"sql": "SELECT 1"}')
    assert answer.status_code == 200
    asking.behind.asked.clear()
