"""Response of an answer, in the requested format.

JSON has everything in its body. CSV and Arrow have rows alone; the charge, the remaining budget and notices are in
headers, as the same JSON in ASCII.

A large answer is written while it is sent, some thousand rows at a time, so its text is never in memory as a
whole. It is charged, recorded and stored before.

The format follows from the Accept header, before anything is charged. CSV (RFC 4180) has texts as PostgreSQL's
COPY writes them: a NULL is an empty field, an empty text is `""`: the two differ, as in `COPY … WITH (FORMAT csv,
HEADER)`.

JSON is printable ASCII, whatever an analyst wrote. A record of the trail may contain half of a surrogate pair,
which no encoder writes as UTF-8: such a record must still be visible to the auditor who reads it here.

INVARIANT: a client can see that an answer was not sent to its end: a client of HTTP/1.0, where the end of the
connection ends the body, gets the length first.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from enum import Enum
from typing import Any, Final, TypeAlias

from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Send

from gateway.budget.report import AccountBalance
from gateway.columnar.texts import BLOCK
from gateway.errors import Code, GatewayError, SyntaxRefused
from gateway.frontends.rest import arrow_response as arrow_stream
from gateway.requests.answer_json import about_json, answer_json, ascii_json, json_chunks
from gateway.requests.request import Answer


class Format(Enum):
    """Formats by their media types; the first is the default."""

    JSON = "application/json"
    CSV = "text/csv"
    ARROW = "application/vnd.apache.arrow.stream"


_LONGEST: Final = 4096


def format_of(accept: str | None) -> Format:
    """The available format that the client prefers; among equals, the one named more exactly."""
    if accept is None or not accept.strip():
        return Format.JSON
    if len(accept) > _LONGEST:
        raise _none(accept)
    wishes = [_wish(one) for one in accept.split(",") if one.strip()]
    best = max(Format, key=lambda one: _liking(one, wishes))  # the first of equals
    if _liking(best, wishes)[0] <= 0:
        raise _none(accept)
    return best


def _wish(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    quality = 1.0
    for one in parameters:
        key, _, value = one.partition("=")
        if key.strip().lower() == "q":
            quality = _quality(value.strip())
    return name.lower(), quality


def _quality(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if 0 <= found <= 1 else 0.0


def _liking(of: Format, wishes: list[tuple[str, float]]) -> tuple[float, int]:
    """The quality of a format, and how exactly it is named: the most exact entry counts."""
    kind = of.value.partition("/")[0]
    for exactness, name in ((2, of.value), (1, f"{kind}/*"), (0, "*/*")):
        found = [quality for wished, quality in wishes if wished == name]
        if found:
            return max(found), exactness
    return 0.0, 0


def _none(accept: str) -> SyntaxRefused:
    known = ", ".join(f"`{one.value}`" for one in Format)
    return SyntaxRefused(
        Code.NO_SUCH_FORMAT, f"`Accept: {accept[:100]}`", f"supported formats are {known}"
    )


MEDIA_TYPE: Final = "text/csv; charset=utf-8; header=present"
_QUOTED: Final = re.compile(r'[",\r\n]|^$|^\s|\s$|^\\\.$')


def csv_chunks(answer: Answer) -> Iterator[bytes]:
    """The header line, then some thousand rows at a time."""
    yield _lines([[column.name for column in answer.columns]])
    for many, columns in answer.rows.parts():
        yield _lines(zip(*columns, strict=True) if columns else [()] * many)


def _lines(rows: Iterable[Sequence[str | None]]) -> bytes:
    return "".join(",".join(map(_field, row)) + "\r\n" for row in rows).encode()


def _field(text: str | None) -> str:
    if text is None:
        return ""
    if _QUOTED.search(text):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


class AsciiJson(JSONResponse):
    def render(self, content: object) -> bytes:
        return ascii_json(content)


class StreamedResponse(StreamingResponse):
    """A body in parts. If it breaks off, the connection is closed without the mark of an end.

    INVARIANT: when this has ended, for whatever reason, the generator of the parts has ended too.
    """

    def __init__(
        self, parts: AsyncGenerator[bytes, None], headers: dict[str, str], media_type: str
    ) -> None:
        super().__init__(parts, headers=headers, media_type=media_type)
        self._parts = parts

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._parts):
            await super().stream_response(send)


_LOST_ACCOUNTS: Final = "the accounts cannot be read at the moment; `GET /v1/budget` has them"
_JSON: Final = AsciiJson.media_type
_ROWS_ALONE: Final[dict[Format, tuple[str, Callable[[Answer], Iterator[bytes]]]]] = {
    Format.CSV: (MEDIA_TYPE, csv_chunks),
    Format.ARROW: (arrow_stream.MEDIA_TYPE, arrow_stream.arrow_chunks),
}

Sending: TypeAlias = Callable[[Iterator[bytes]], AsyncGenerator[bytes, None]]
"""How parts are sent while they are made."""
ReadAccounts: TypeAlias = Callable[[], Sequence[AccountBalance]]
"""Reads the accounts that an answer is shown with."""


def answer_response(
    answer: Answer, accounts: ReadAccounts, wanted: Format, sending: Sending | None
) -> Response:
    """The response; small answers, and all answers without `sending`, are sent at once."""
    about = about_json(answer, *_read(accounts))
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


def answer_body(answer: Answer, accounts: ReadAccounts) -> dict[str, Any]:
    """The body of an answer."""
    return answer_json(answer, *_read(accounts))


def _read(accounts: ReadAccounts) -> tuple[Sequence[AccountBalance], tuple[str, ...]]:
    """The accounts; the answer is charged, so it is returned even if they cannot be read."""
    try:
        return accounts(), ()
    except GatewayError:
        return (), (_LOST_ACCOUNTS,)
