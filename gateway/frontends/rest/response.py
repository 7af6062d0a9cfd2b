"""Response of an answer, in the requested format.

JSON has everything in its body. CSV and Arrow have rows alone; the charge, the remaining budget and notices are
in headers, as the same JSON in ASCII.

A large answer is written while it is sent, some thousand rows at a time, so its text is never in memory as a
whole. It is charged, recorded and stored before.

INVARIANT: a client can see that an answer was not sent to its end: a client of HTTP/1.0, where the end of the
connection ends the body, gets the length first.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from fastapi.responses import Response

from gateway.budget.report import AccountBalance
from gateway.columnar.texts import BLOCK
from gateway.errors import GatewayError
from gateway.frontends.rest import arrow_response as arrow_stream
from gateway.frontends.rest import csv_response as csv_text
from gateway.frontends.rest.content_type import Format
from gateway.frontends.rest.gateway_api import QueryApi
from gateway.frontends.rest.json_response import AsciiJson, StreamedResponse
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import about_json, answer_json, json_chunks
from gateway.requests.json_text import ascii_json
from gateway.requests.request import Answer

_LOST_ACCOUNTS: Final = "the accounts cannot be read at the moment; `GET /v1/budget` has them"
_JSON: Final = AsciiJson.media_type
_ROWS_ALONE: Final[dict[Format, tuple[str, Callable[[Answer], Iterator[bytes]]]]] = {
    Format.CSV: (csv_text.MEDIA_TYPE, csv_text.csv_chunks),
    Format.ARROW: (arrow_stream.MEDIA_TYPE, arrow_stream.arrow_chunks),
}

Sending: TypeAlias = Callable[[Iterator[bytes]], AsyncGenerator[bytes, None]]
"""How parts are sent while they are made."""


def answer_response(  # noqa: PLR0917 - an answer, who asked, and how it is to be told
    door: QueryApi,
    subject: Subject,
    dataset: str | None,
    answer: Answer,
    wanted: Format,
    sending: Sending | None,
) -> Response:
    """The response; small answers, and all answers without `sending`, are sent at once."""
    about = about_json(answer, *_accounts(door, subject, dataset))
    headers: dict[str, str] = {}
    if wanted is Format.JSON:
        media_type, parts = _JSON, json_chunks(answer, about)
    else:
        media_type, chunks = _ROWS_ALONE[wanted]
        parts = chunks(answer)
        told = {name.title(): ascii_json(part).decode() for name, part in about.items()}
        headers = {f"X-Gateway-{name}": part for name, part in told.items()}
        headers["X-Gateway-Query-Id"] = answer.query_id
        headers["X-Gateway-Reused"] = "none" if answer.reused is None else answer.reused.value
    if sending is None or len(answer.rows) <= BLOCK:
        return Response(b"".join(parts), headers=headers, media_type=media_type)
    return StreamedResponse(sending(parts), headers, media_type)


def answer_body(
    door: QueryApi, subject: Subject, dataset: str | None, answer: Answer
) -> dict[str, Any]:
    """The body of an answer."""
    return answer_json(answer, *_accounts(door, subject, dataset))


def _accounts(
    door: QueryApi, subject: Subject, dataset: str | None
) -> tuple[Sequence[AccountBalance], tuple[str, ...]]:
    """The accounts; the answer is charged, so it is returned even if they cannot be read."""
    try:
        return door.accounts(subject, dataset), ()
    except GatewayError:
        return (), (_LOST_ACCOUNTS,)
