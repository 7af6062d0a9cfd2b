"""Large answers: written while they are sent, some thousand rows at a time, and never told as whole when they are not."""

import asyncio
import gc
import json
import socket
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
import pytest
import uvicorn
from fix_gateway import Client
from frontends.rest.stub_questions import COUNT, Asking, Behind, answering
from laws import for_each

from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import BLOCK, Text, TextRows, Texts
from gateway.events import Crashed
from gateway.frontends.rest.arrow_response import arrow_chunks
from gateway.frontends.rest.response import AsciiJson, Format, csv_chunks
from gateway.frontends.workers import MOST_OF_ONE
from gateway.requests.answer_json import (
    about_json,
    answer_json,
    column_json,
    double_json,
    json_chunks,
)
from gateway.requests.request import Answer, AnswerColumn

_PATIENCE_S = 30  # for a busy machine; nothing waits so long when it is well
_CELLS: dict[str, list[Text]] = {
    "text": ["plain", 'say "x"', "\x7f", "é\u2028", "", None, "\\"],
    "bigint": ["7", "-9223372036854775808", None, "0", "9007199254740993"],
    "numeric": ["1.50", "NaN", None, "0.1", "123456789.123456789", "Infinity"],
    "double precision": ["1e-05", "-0", "1.7976931348623157e308"],
    "boolean": ["t", "f", None],
    "timestamp with time zone": ["2026-01-31 12:00:00+00", None, "infinity"],
    "integer[]": ["{1,2}", None],
}
_ENDS = [(-1.5, 1 / 3), None, (0.1 + 0.2, 1e300), (float("-inf"), float("inf"))]
_WRITERS: dict[Format, Callable[[Answer], Iterator[bytes]]] = {
    Format.JSON: lambda answer: json_chunks(answer, about_json(answer, ())),
    Format.CSV: csv_chunks,
    Format.ARROW: arrow_chunks,
}
_FORMATS = [one.value for one in Format]


def _mixed(count: int) -> Answer:
    """Every type, in columns whose cells repeat at different lengths."""
    return answering(
        columns=tuple(AnswerColumn(name, name, noisy=True) for name in _CELLS),
        rows=tuple(
            tuple(cells[row % len(cells)] for cells in _CELLS.values()) for row in range(count)
        ),
        intervals=tuple(
            tuple(None if place < 2 else _ENDS[(row + place) % 4] for place in range(len(_CELLS)))
            for row in range(count)
        ),
    )


@cache
def _numbers(blocks: int = 40) -> TextRows:
    """So many blocks of rows; if not told otherwise, more than what a connection has room for."""
    return TextRows.of([(str(row), str(row * row)) for row in range(blocks * BLOCK)])


def _large(there: TextRows) -> Answer:
    return answering(
        columns=(
            AnswerColumn("key", "bigint", noisy=False),
            AnswerColumn("n", "bigint", noisy=True),
        ),
        rows=there,
        intervals=IntervalRows([None, None], len(there)),
    )


@pytest.mark.parametrize("count", [0, 1, 63, 64, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_answer_in_parts_is_the_answer_as_a_whole_byte_by_byte(count: int) -> None:
    """Against the body written cell by cell, and against the one that is not in parts."""
    answer = _mixed(count)
    parts = b"".join(json_chunks(answer, about_json(answer, ())))
    whole = answer_json(answer, ())
    cell_by_cell = {
        **whole,
        "rows": [
            [column_json([text], name)[0] for text, name in zip(row, _CELLS, strict=True)]
            for row in answer.rows
        ],
        "intervals": [
            [None if one is None else list(map(double_json, one)) for one in row]
            for row in answer.intervals
        ],
    }
    assert parts == AsciiJson(whole).body
    assert parts == AsciiJson(cell_by_cell).body
    assert parts.isascii()


def test_answer_without_columns_keeps_its_rows_in_every_format() -> None:
    """`SELECT FROM patients` is a row for each, with nothing in it."""
    answer = answering(columns=(), rows=((),) * (BLOCK + 1), intervals=((),) * (BLOCK + 1))
    told = json.loads(b"".join(json_chunks(answer, about_json(answer, ()))))
    assert told["rows"] == told["intervals"] == [[]] * (BLOCK + 1)


@pytest.mark.parametrize("accept", [*Format])
def test_answer_takes_no_more_memory_on_its_way_when_it_has_more_rows(accept: Format) -> None:
    """Beside the table itself; of three times as many rows as of some."""

    def peak(blocks: int) -> int:
        there = TextRows(
            [Texts(one.blocks[:blocks], blocks * BLOCK) for one in _numbers().columns],
            blocks * BLOCK,
        )
        answer = _large(there)
        tracemalloc.start()
        try:
            for _ in _WRITERS[accept](answer):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(36) < 1.2 * peak(12)


@contextmanager
def _asking(answer: Answer) -> Iterator[Asking]:
    behind = Behind(answer)
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


@pytest.mark.parametrize("accept", _FORMATS)
def test_query_tells_the_length_of_a_small_answer_alone(accept: str) -> None:
    """A small one is one body; a large one comes in parts, with the same headers beside it."""
    told = []
    for count in (BLOCK, BLOCK + 1):
        with _asking(_mixed(count)) as asking:
            answer = asking.post("/v1/query", {"sql": COUNT}, accept=accept)
            assert answer.status_code == 200
            told.append({name for name in answer.headers if name != "content-length"})
            assert ("content-length" in answer.headers) == (count == BLOCK)
    assert told[0] == told[1]


@for_each("value", [7, "7", None, True, 1.5])
@for_each("accept", _FORMATS)
def test_query_takes_parameters_whatever_the_format(accept: str, value: object) -> None:
    """The format is about the answer; the question is the same."""
    with _asking(_mixed(1)) as asking:
        answer = asking.post("/v1/query", {"sql": COUNT, "params": [value]}, accept=accept)
        assert answer.status_code == 200
        asking.post("/v1/query", {"sql": COUNT, "params": [value]})
        assert asking.behind.asked[0] == asking.behind.asked[1]


# ---- over a real socket, with the server that the gateway uses ----


class Watched(TextRows):
    """A table that says how many of its blocks were read, and fails where it is told to."""

    __slots__ = ("__weakref__", "fails_at", "read")

    def __init__(self) -> None:
        super().__init__(_numbers().columns, len(_numbers()))
        self.read = 0
        self.fails_at = -1

    def parts(self, blocks: int = 1) -> Iterator[tuple[int, list[list[Text]]]]:
        for part in super().parts(blocks):
            if self.read == self.fails_at:
                raise ArithmeticError("a bug")
            self.read += 1
            yield part


@dataclass
class Listening:
    behind: Behind
    address: tuple[str, int] = ("", 0)
    told: list[bytes] = field(default_factory=list)

    def asked(self, accept: str, version: str = "1.1", room: int | None = None) -> socket.socket:
        """A connection on which the question was sent; `room` is what the client takes in advance."""
        connection = socket.socket()
        if room is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.settimeout(_PATIENCE_S)
        connection.connect(self.address)
        body = json.dumps({"sql": COUNT})
        head = (
            f"POST /v1/query HTTP/{version}\r\nHost: gateway.test\r\nAccept: {accept}\r\n"
            f"Authorization: Bearer key-of-alice\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall((head + body).encode())
        return connection

    def post(self, accept: str) -> httpx.Response:
        return httpx.post(
            f"http://{self.address[0]}:{self.address[1]}/v1/query",
            json={"sql": COUNT},
            headers={"Authorization": "Bearer key-of-alice", "Accept": accept},
            timeout=_PATIENCE_S,
        )


@pytest.fixture
def listening() -> Iterator[Listening]:
    behind = Behind()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    server = uvicorn.Server(
        uvicorn.Config(behind.app(), log_config=None, lifespan="off", ws="none")
    )
    thread = threading.Thread(target=lambda: server.run([listener]))
    thread.start()
    yield Listening(behind, listener.getsockname())
    server.should_exit = True
    thread.join(_PATIENCE_S)
    listener.close()
    assert not thread.is_alive()


def _all_of(connection: socket.socket) -> bytes:
    told = b""
    while some := connection.recv(65_536):
        told += some
    return told


def _until(what: Any) -> bool:  # noqa: ANN401  # a condition
    """Whether it came true."""
    until = time.monotonic() + _PATIENCE_S
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("accept", _FORMATS)
def test_answer_that_breaks_off_breaks_the_connection(listening: Listening, accept: str) -> None:
    """Of a body in chunks the last is missing, which every client notices; the log has the incident."""
    there = Watched()
    listening.behind.answer = _large(there)
    with closing(listening.asked(accept)) as connection:
        assert _all_of(connection).endswith(b"\r\n0\r\n\r\n")  # the control
    there.read, there.fails_at = 0, there.read // 2
    with closing(listening.asked(accept)) as connection:
        told = _all_of(connection)
    assert told.startswith(b"HTTP/1.1 200")
    assert len(told) > 10_000
    assert not told.endswith(b"0\r\n\r\n")
    there.read = 0
    with pytest.raises(httpx.RemoteProtocolError):
        listening.post(accept)
    assert [type(one) for one in listening.behind.told] == [Crashed, Crashed]


@pytest.mark.parametrize("accept", _FORMATS)
def test_answer_is_whole_or_refused_when_a_client_could_not_tell(
    listening: Listening, accept: str
) -> None:
    """HTTP/1.0 ends a body by closing the connection, so its length is told before, and nothing of half an answer."""
    there = Watched()
    listening.behind.answer = _large(there)
    with closing(listening.asked(accept, "1.0")) as connection:
        head, _, body = _all_of(connection).partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()
    there.read = 0
    assert body == listening.post(accept).content
    there.read, there.fails_at = 0, there.read // 2
    with closing(listening.asked(accept, "1.0")) as connection:
        assert _all_of(connection).split(b" ")[1] == b"500"


@pytest.mark.parametrize("accept", _FORMATS)
def test_client_that_reads_slowly_has_no_more_than_some_parts_waiting(
    listening: Listening, accept: str
) -> None:
    """The next part is made when there is room for it; read on, all of it comes."""
    there = Watched()
    listening.behind.answer = _large(there)
    whole = listening.post(accept).content
    blocks, there.read = there.read, 0
    with closing(listening.asked(accept, room=4096)) as connection:
        assert _until(lambda: there.read > 0)
        time.sleep(0.3)  # a server that did not wait would be through by then
        assert there.read < blocks / 2
        assert connection.recv(12) == b"HTTP/1.1 200"
        told = _all_of(connection)
    assert there.read == blocks
    assert len(told) > len(whole)


@pytest.mark.parametrize("accept", _FORMATS)
def test_client_that_goes_away_leaves_nothing_behind(listening: Listening, accept: str) -> None:
    """Its answer is not written on, its place is free, and the table is held by nobody."""
    left = []
    for _ in range(MOST_OF_ONE + 1):
        there = Watched()
        listening.behind.answer = _large(there)
        with closing(listening.asked(accept, room=4096)) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
            assert there.read < 38
        left.append(weakref.ref(there))
        del there
    held = listening.behind.answer.rows
    listening.behind.answer = answering()
    assert _until(lambda: gc.collect() >= 0 and sum(one() is not None for one in left) == 1)
    assert left[-1]() is held  # the control: what somebody holds is there
    assert listening.post(accept).status_code == 200
    assert listening.behind.told == []


def test_answer_that_is_sent_takes_a_place_until_it_is_there() -> None:
    """Whoever reads slowly many times is refused more, and not what is paid for already."""
    behind = Behind(_large(_numbers(3)))
    app = behind.app()
    may_go, began = asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> int:
        status = 0
        pieces = [{"type": "http.request", "body": json.dumps({"sql": COUNT}).encode()}]

        async def receive() -> Any:  # noqa: ANN401  # an ASGI message
            if pieces:
                return pieces.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:  # noqa: ANN401  # an ASGI message
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status == 200 and not may_go.is_set():
                began.release()
                await may_go.wait()

        await app(_scope(), receive, send)
        return status

    async def scenario() -> None:
        many = [asyncio.create_task(slow()) for _ in range(MOST_OF_ONE)]
        async with asyncio.timeout(_PATIENCE_S):
            for _ in many:
                await began.acquire()
            assert await slow() == 429
            may_go.set()
            assert set(await asyncio.gather(*many)) == {200}
            assert await slow() == 200

    asyncio.run(scenario())


def _scope() -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/query",
        "headers": [(b"authorization", b"Bearer key-of-alice")],
        "query_string": b"",
        "client": ("192.0.2.7", 4711),
    }
