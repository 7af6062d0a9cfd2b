"""Problem documents (RFC 9457): every refusal of the REST front end in one shape."""

import asyncio
import secrets
import traceback
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import (
    HTTP,
    BackendUnavailable,
    Code,
    InternalError,
    OperatorError,
    Reason,
    Refusal,
    SyntaxRefused,
)
from gateway.events import Crashed, Emit
from gateway.frontends.rest.response import AsciiJson

MEDIA_TYPE = "application/problem+json"
# Seconds: a failed log-in is forgotten slowly; a place is free as soon as a question ends, and so is the history.
_RETRY_AFTER = {
    Code.TOO_MANY_FAILURES: "60",
    Code.TOO_MANY_QUESTIONS: "1",
    Code.TOO_MANY_CONNECTIONS: "1",
    Code.ASKED_AT_ONCE: "1",
}
# What the framework itself says no to.
_HTTP_CODES = {404: Code.NO_SUCH_ENDPOINT, 405: Code.METHOD_NOT_ALLOWED}


# The same as OpenAPI says it: every endpoint may answer with this, whatever the status.
PROBLEM: dict[str, Any] = {
    "description": "a refusal (RFC 9457); docs/errors.md has every code",
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "type": "object",
                "required": ["type", "title", "status", "code", "reason", "detail", "hint"],
                "properties": {
                    "type": {"type": "string", "format": "uri"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "code": {"enum": list(Code)},
                    "reason": {"enum": [reason for reason in Reason if reason != Reason.OPERATION]},
                    "detail": {"type": "string"},
                    "hint": {"type": "string"},
                    "query_id": {"type": ["string", "null"]},
                },
            }
        }
    },
}


class ProblemResponse(AsciiJson):
    media_type = MEDIA_TYPE


def problem_response(refusal: Refusal) -> ProblemResponse:
    status = HTTP[refusal.code]
    return ProblemResponse(
        {
            "type": f"urn:gateway:error:{refusal.code}",
            "title": refusal.title,
            "status": status,
            "code": refusal.code,
            "reason": refusal.reason,
            "detail": refusal.detail or refusal.title,
            "hint": refusal.hint,
            "query_id": refusal.query_id,
        },
        status,
        headers=_headers(refusal),
    )


def add_problem_handlers(app: FastAPI) -> None:
    """Give every refusal, and every error that the framework finds, the same shape."""

    @app.exception_handler(Refusal)
    def refused(request: Request, refusal: Refusal) -> ProblemResponse:
        del request
        return problem_response(refusal)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> ProblemResponse:
        del request
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return problem_response(
            SyntaxRefused(Code.BAD_REQUEST, f"{where}: {first['msg']}", "see /docs")
        )

    @app.exception_handler(HTTPException)
    def not_served(request: Request, error: HTTPException) -> ProblemResponse:
        code = _HTTP_CODES.get(error.status_code, Code.BAD_REQUEST)
        detail = f"{error.detail}: {request.method} {request.url.path}"
        told = problem_response(SyntaxRefused(code, detail, "see /docs"))
        told.headers.update(error.headers or {})
        return told

    @app.exception_handler(OperatorError)
    def unavailable(request: Request, error: OperatorError) -> ProblemResponse:
        del request, error
        return problem_response(
            BackendUnavailable(Code.STATE_UNAVAILABLE, hint="the operator's log says why")
        )


class Incidents:
    """Internal errors: an opaque id for the client, the details in the log. The end of the server is not one.

    INVARIANT: nothing of the exception reaches the client.
    """

    def __init__(self, app: ASGIApp, emit: Emit) -> None:
        self._app = app
        self._emit = emit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def watched(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            if scope["type"] == "http" and not began:
                await problem_response(_stopping())(
                    scope, receive, send
                )  # uvicorn would call it a bug: 500
            raise
        except Exception:  # noqa: BLE001  # the last line of defence
            incident = secrets.token_hex(8)
            self._emit(Crashed(incident, traceback.format_exc()))
            if scope["type"] == "http" and not began:
                await problem_response(InternalError(incident))(scope, receive, send)


def _headers(refusal: Refusal) -> Mapping[str, str]:
    if refusal.code in {Code.NO_CREDENTIALS, Code.BAD_CREDENTIALS}:
        return {"WWW-Authenticate": "Bearer"}
    if refusal.code in _RETRY_AFTER:
        return {"Retry-After": _RETRY_AFTER[refusal.code]}
    return {}


def _stopping() -> Refusal:
    """The refusal of a request that did not end before the server stopped."""
    return BackendUnavailable(
        Code.STATE_UNAVAILABLE, "the gateway is stopping", "try again in a moment"
    )
