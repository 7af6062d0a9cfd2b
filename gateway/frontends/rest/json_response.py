"""JSON as this interface writes it: printable ASCII, whatever an analyst wrote.

A record of the trail may hold half of a Unicode pair, which no encoder puts into UTF-8: it must not
be able to hide from the auditor who reads it here.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Send

from gateway.requests.json_text import ascii_json


class AsciiJson(JSONResponse):
    def render(self, content: object) -> bytes:
        return ascii_json(content)


class Streamed(StreamingResponse):
    """A body in parts. One that comes to no end leaves the connection without the mark of an end, and is closed.

    INVARIANT: when this is over, for whatever reason, what makes the parts is over too.
    """

    def __init__(
        self, parts: AsyncGenerator[bytes, None], headers: dict[str, str], media_type: str
    ) -> None:
        super().__init__(parts, headers=headers, media_type=media_type)
        self._parts = parts

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._parts):
            await super().stream_response(send)
