"""Query endpoints: query, estimate, datasets, and the subject's own queries, on worker threads.

A query is cancelled when its client disconnects. A long query never delays the health probe.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import UnionType
from typing import Annotated, Any, Final, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Depends, FastAPI, Query
from fastapi import Request as HttpRequest
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from gateway.cancellation import CancelEvent
from gateway.errors import BackendUnavailable, Code, Refusal
from gateway.frontends.rest.gateway_api import GatewayApi, QueryApi, caller_dependency
from gateway.frontends.rest.openapi import (
    QUESTION,
    AnswerShape,
    DatasetsShape,
    EstimateShape,
    QueriesShape,
)
from gateway.frontends.rest.request_body import (
    QueryBody,
    is_encrypted,
    parse_body,
    parse_query_body,
    peer_address,
    receive_body,
    request_of,
)
from gateway.frontends.rest.response import AsciiJson, Format, Sending, answer_response, format_of
from gateway.frontends.workers import Workers
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import estimate_json, past_json
from gateway.requests.request import Request

T = TypeVar("T")
Work = Callable[[threading.Event], T]


class RunningQueries:
    """The running queries of one application."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._threads: CapacityLimiter | None = None

    async def sent(self, subject: str, parts: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Send the parts of an answer. That takes a place too, but is never refused, because the answer is
        charged.

        The next part is made when the last one has left all but the connection's buffer.
        """
        with self._workers.place(subject):
            while (part := await self._next(parts)) is not None:
                yield part

    async def _next(self, parts: Iterator[bytes]) -> bytes | None:
        return await anyio.to_thread.run_sync(next, parts, None, limiter=self._limiter())

    async def work(self, subject: str, request: HttpRequest, work: Work[T]) -> T:
        """Run the work in a thread; its event is set as soon as the client has disconnected."""
        gone = CancelEvent()

        def unless_gone() -> T:
            if gone.is_set():  # while it waited for a thread
                raise Refusal(Code.SOURCE_CANCELLED, "the client closed the connection")
            return work(gone)

        under_way = self._workers.submit(subject, unless_gone)
        watcher = asyncio.create_task(_watch(request, gone))
        try:
            return await asyncio.wrap_future(under_way)
        finally:
            gone.set()  # a closing loop waits for nobody, but the thread has to end all the same
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    def _limiter(self) -> CapacityLimiter:
        """The thread limit for all other requests, from the settings; it needs a running loop."""
        if self._threads is None:
            others = anyio.to_thread.current_default_thread_limiter()
            self._threads = CapacityLimiter(others.total_tokens)
        return self._threads


async def _watch(request: HttpRequest, gone: threading.Event) -> None:
    """Wait for the client to disconnect: the body was read to its end, so the next message says that."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


_SMALL: Final = 4 * 1024  # bytes; the worst of that size takes some milliseconds
_TAGS: list[Any] = ["questions"]  # FastAPI's own type


# the other formats of an answer, as OpenAPI says it
_STREAMS: dict[str, Any] = {
    Format.CSV.value: {"schema": {"type": "string"}},
    Format.ARROW.value: {"schema": {"type": "string", "format": "binary"}},
}
_IDEMPOTENCY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "the same question under the same key is never charged twice",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


class HistoryQuery(BaseModel):
    """Filter of a subject's own queries: the newest, or those before one of them."""

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    before: Annotated[str | None, Field(min_length=1, max_length=64, description="a query_id")] = (
        None
    )


class DatasetsQuery(BaseModel):
    """The purpose for which columns are listed."""

    model_config = ConfigDict(extra="forbid")

    purpose: Annotated[
        str | None,
        Field(min_length=1, max_length=63, description="optional if you have only one"),
    ] = None


def add_questions(app: FastAPI, doors: GatewayApi) -> None:
    authenticated = caller_dependency(doors.authenticator)
    under_way = RunningQueries(doors.workers)

    async def received(
        http: HttpRequest, subject: Annotated[Subject, Depends(authenticated)]
    ) -> bytes:
        """Read the body after the key was checked: no other client learns the endpoint's form, or has a body
        buffered.
        """
        del subject
        return await receive_body(http)

    async def asked(body: Annotated[bytes, Depends(received)]) -> QueryBody:
        """Parse a large body in a thread; for most bodies the switch would take longer than parsing."""
        if len(body) <= _SMALL:
            return parse_query_body(parse_body(body))
        return await run_in_threadpool(lambda: parse_query_body(parse_body(body)))

    caller_of = Annotated[Subject, Depends(authenticated)]
    body_of_caller = Annotated[QueryBody, Depends(asked)]

    @app.post(
        "/v1/query",
        tags=_TAGS,
        response_class=AsciiJson,
        **_with_body(AnswerShape | EstimateShape, _IDEMPOTENCY, formats=_STREAMS),
    )
    async def query(http: HttpRequest, subject: caller_of, body: body_of_caller) -> Response:
        """Ask a question in SQL; the answer is noisy, and its price is taken from your budget.

        Rows come as JSON, or by the header `Accept` as CSV or as an Arrow stream.
        """
        door, request = _door(doors), request_of(body, http)
        if body.dry_run:
            work = _estimating(door, subject, request)
        else:
            wanted = format_of(http.headers.get("accept"))
            # before HTTP/1.1 a body that broke off looks like one that came to its end
            whole = http.scope.get("http_version") == "1.0"
            sending = None if whole else partial(under_way.sent, subject.name)
            work = _answering(door, subject, request, wanted, sending)
        return await under_way.work(subject.name, http, work)

    @app.post("/v1/estimate", tags=_TAGS, **_with_body(EstimateShape))
    async def estimate(http: HttpRequest, subject: caller_of, body: body_of_caller) -> Response:
        """What a question would cost and how wide its noise would be; no data is touched."""
        work = _estimating(_door(doors), subject, request_of(body, http))
        return await under_way.work(subject.name, http, work)

    @app.get("/v1/datasets", tags=_TAGS, responses=_answers(DatasetsShape))
    def datasets(
        http: HttpRequest, subject: caller_of, wanted: Annotated[DatasetsQuery, Query()]
    ) -> AsciiJson:
        """The tables and columns that you may use for a purpose, and how."""
        asked = Request(
            "", purpose=wanted.purpose, address=peer_address(http), tls=is_encrypted(http)
        )
        return AsciiJson(dict(_door(doors).datasets(subject, asked)))

    @app.get("/v1/queries", tags=_TAGS, responses=_answers(QueriesShape))
    def queries(subject: caller_of, wanted: Annotated[HistoryQuery, Query()]) -> AsciiJson:
        """Your own questions, newest first."""
        past = _door(doors).queries(subject, wanted.limit, wanted.before)
        return AsciiJson({"queries": [past_json(one) for one in past]})


def _answering(
    door: QueryApi,
    subject: Subject,
    request: Request,
    wanted: Format,
    sending: Sending | None,
) -> Callable[[threading.Event], Response]:
    def work(gone: threading.Event) -> Response:
        answer = door.answer(subject, request, gone)
        accounts = partial(door.accounts, subject, request.dataset)
        return answer_response(answer, accounts, wanted, sending)

    return work


def _estimating(
    door: QueryApi, subject: Subject, request: Request
) -> Callable[[threading.Event], Response]:
    def work(gone: threading.Event) -> Response:
        del gone  # no source is asked
        found = door.estimate(subject, replace(request, idempotency=None))
        return AsciiJson(estimate_json(found))

    return work


def _with_body(
    shape: type[BaseModel] | UnionType,
    *headers: dict[str, Any],
    formats: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The OpenAPI form of a body that FastAPI does not read itself."""
    body = {
        "required": True,
        "content": {
            "application/json": {
                "schema": QueryBody.model_json_schema(),
                "example": QUESTION,
            }
        },
    }
    responses = _answers(shape)
    responses[200]["content"] = dict(formats or {})
    return {
        "responses": responses,
        "openapi_extra": {"requestBody": body, "parameters": list(headers)},
    }


def _answers(shape: type[BaseModel] | UnionType) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": shape}}


def _door(doors: GatewayApi) -> QueryApi:
    if doors.questions is None:
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, "no dataset is loaded")
    return doors.questions
