"""Running queries: a client that disconnects ends its own, and no client takes every place."""

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from frontends.rest.stub_questions import ANSWER, COUNT, Behind, refused

from gateway.errors import Code, Refusal
from gateway.frontends.rest.app import create_app
from gateway.frontends.workers import MOST, MOST_OF_ONE, Workers
from gateway.policy.subjects import Subject
from gateway.requests.request import Answer, Request

_PATIENCE_S = 30  # for a busy machine; nothing waits so long when it is well


@dataclass
class Slow:
    """A source that answers when it is told to, or ends when nobody waits any more."""

    behind: Behind = field(default_factory=Behind)
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_answer: threading.Event = field(default_factory=threading.Event)
    cancelled: Counter[str] = field(default_factory=Counter)

    def answers(self, subject: Subject, request: Request, gone: threading.Event) -> Answer:
        del request
        self.began.release()
        try:
            while not self.may_answer.is_set():
                if gone.wait(0.01):
                    self.cancelled[subject.name] += 1
                    raise Refusal(Code.SOURCE_CANCELLED)
        finally:
            self.ended.release()
        return ANSWER

    def app(self) -> FastAPI:
        door = replace(self.behind.door(), answer=self.answers)
        return create_app(self.behind.doors(door))


async def _until_it_began(slow: Slow, count: int) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        for _ in range(count):
            while not slow.began.acquire(blocking=False):  # noqa: ASYNC110  # a thread begins it
                await asyncio.sleep(0.001)


def _client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False),
        base_url="http://gateway.test",
        timeout=_PATIENCE_S,
    )


async def _ask(client: httpx.AsyncClient, who: str, path: str = "/v1/query") -> httpx.Response:
    headers = {"Authorization": f"Bearer key-of-{who}"}
    return await client.post(path, json={"sql": COUNT}, headers=headers)


async def _ask_until_in(client: httpx.AsyncClient, who: str) -> httpx.Response:
    """Whoever comes while the one below has the last place is refused, and comes again."""
    while (answer := await _ask(client, who)).status_code == 429:  # noqa: ASYNC110  # nobody tells when a place is free
        await asyncio.sleep(0.01)
    return answer


async def _refused_when_all_are_in(client: httpx.AsyncClient) -> httpx.Response:
    """One that comes before the others are all in gets a place, and waits: it leaves and comes again."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            try:
                async with asyncio.timeout(0.5):
                    return await _ask(client, "late")
            except TimeoutError:
                continue


def test_question_is_refused_when_its_subject_has_too_many_under_way() -> None:
    """The one too many is told to wait, others are not kept waiting, and a place is free again."""
    slow = Slow()

    async def scenario() -> None:
        async with _client(slow.app()) as client:
            many = [asyncio.create_task(_ask(client, "alice")) for _ in range(MOST_OF_ONE)]
            await _until_it_began(slow, MOST_OF_ONE)
            for path in ("/v1/query", "/v1/estimate"):
                answer = await _ask(client, "alice", path)
                said = refused(answer, 429, "GW709")
                assert said["reason"] == "limit_exceeded"
                assert answer.headers["retry-after"] == "1"
            others = asyncio.create_task(_ask(client, "bob"))
            await _until_it_began(slow, 1)
            assert (await client.get("/healthz")).status_code == 200
            slow.may_answer.set()
            assert {one.status_code for one in await asyncio.gather(*many, others)} == {200}
            again = await asyncio.gather(*(_ask(client, "alice") for _ in range(MOST_OF_ONE)))
            assert {one.status_code for one in again} == {200}

    asyncio.run(scenario())


def test_question_is_refused_when_everybody_together_has_too_many_under_way() -> None:
    """The process keeps a bound, however many subjects there are; all else is still answered."""
    slow = Slow(Behind(workers=Workers(4)))

    async def scenario() -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = 4
        async with _client(slow.app()) as client:
            many = [
                asyncio.create_task(_ask_until_in(client, f"s{place}")) for place in range(MOST)
            ]
            await _until_it_began(slow, 4)
            refused(await _refused_when_all_are_in(client), 429, "GW709")
            headers = {"Authorization": "Bearer key-of-late"}
            for path in ("/v1/budget", "/v1/datasets", "/v1/queries", "/readyz", "/docs"):
                assert (await client.get(path, headers=headers)).status_code == 200
            slow.may_answer.set()
            assert {one.status_code for one in await asyncio.gather(*many)} == {200}
            assert (await _ask(client, "late")).status_code == 200

    asyncio.run(scenario())


def test_question_that_fails_gives_its_place_back() -> None:
    """Refusals and bugs of ours leave nothing behind that would count."""
    behind = Behind()

    async def scenario() -> None:
        async with _client(behind.app()) as client:
            for failure in (Refusal(Code.SOURCE_TIMEOUT), ValueError("a bug")):
                behind.refusal = failure
                for _ in range(MOST_OF_ONE + 1):
                    assert (await _ask(client, "alice")).status_code in {500, 504}
            behind.refusal = None
            assert (await _ask(client, "alice")).status_code == 200

    asyncio.run(scenario())


def test_question_is_cancelled_when_its_client_goes_away() -> None:
    """The event is set while the source is still asked, and the place is free again."""
    slow = Slow()
    app = slow.app()

    async def leave(before: int) -> list[Any]:
        gone = asyncio.Event()
        sent: list[Any] = []
        pieces = [{"type": "http.request", "body": json.dumps({"sql": COUNT}).encode()}]

        async def receive() -> Any:  # noqa: ANN401  # an ASGI message
            if pieces:
                return pieces.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:  # noqa: ANN401  # an ASGI message
            await asyncio.sleep(0)
            sent.append(message)

        asked = asyncio.create_task(app(_scope(), receive, send))
        await _until_it_began(slow, 1)
        assert slow.cancelled.total() == before
        gone.set()
        await asyncio.wait_for(asked, _PATIENCE_S)
        return sent

    async def scenario() -> None:
        for left in range(MOST_OF_ONE + 1):
            sent = await leave(left)
            assert sent[0]["status"] == 504
            assert slow.cancelled == {"alice": left + 1}

    asyncio.run(scenario())


def test_question_never_begins_when_its_client_left_while_it_waited() -> None:
    """Nobody is charged for what nobody waits for."""
    slow = Slow(Behind(workers=Workers(1)))
    app = slow.app()

    async def scenario() -> None:
        async with _client(app) as client:
            first = asyncio.create_task(_ask(client, "bob"))
            await _until_it_began(slow, 1)
            left = asyncio.Event()
            pieces = [{"type": "http.request", "body": json.dumps({"sql": COUNT}).encode()}]

            async def receive() -> Any:  # noqa: ANN401  # an ASGI message
                await asyncio.sleep(0)
                if pieces:
                    return pieces.pop()
                left.set()
                return {"type": "http.disconnect"}

            sent: list[Any] = []

            async def send(message: Any) -> None:  # noqa: ANN401  # an ASGI message
                await asyncio.sleep(0)
                sent.append(message)

            second = asyncio.create_task(app(_scope(), receive, send))
            await asyncio.wait_for(left.wait(), _PATIENCE_S)
            await asyncio.sleep(0)  # whoever was told of it takes note
            slow.may_answer.set()
            assert (await first).status_code == 200
            await asyncio.wait_for(second, _PATIENCE_S)
            assert sent[0]["status"] == 504
            assert not slow.began.acquire(blocking=False)

    asyncio.run(scenario())


@pytest.fixture
def listening() -> Iterator[tuple[Slow, tuple[str, int]]]:
    """The same behind a real socket, with the server that the gateway uses."""
    slow = Slow()
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(slow.app(), log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=lambda: server.run([listener]))
    thread.start()
    yield slow, listener.getsockname()
    slow.may_answer.set()
    server.should_exit = True
    thread.join(_PATIENCE_S)
    listener.close()
    assert not thread.is_alive()


def test_question_is_cancelled_when_the_connection_is_closed(
    listening: tuple[Slow, tuple[str, int]],
) -> None:
    """Over a real socket: the client hangs up, and its source query ends."""
    slow, address = listening
    body = json.dumps({"sql": COUNT}).encode()
    head = (
        "POST /v1/query HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer key-of-alice\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with closing(socket.create_connection(address)) as connection:
        connection.sendall(head.encode() + body)
        assert slow.began.acquire(timeout=_PATIENCE_S)
        assert not slow.cancelled
    assert slow.ended.acquire(timeout=_PATIENCE_S)
    assert slow.cancelled == {"alice": 1}
    slow.may_answer.set()
    answer = httpx.post(
        f"http://{address[0]}:{address[1]}/v1/query",
        content=body,
        headers={"Authorization": "Bearer key-of-alice"},
        timeout=_PATIENCE_S,
    )
    assert answer.status_code == 200
    assert slow.cancelled == {"alice": 1}


def _scope() -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": "/v1/query",
        "headers": [(b"authorization", b"Bearer key-of-alice")],
        "query_string": b"",
        "client": ("192.0.2.7", 4711),
    }
