"""JSON responses in printable ASCII, whatever an analyst wrote, and streamed bodies.

A record of the trail may contain half of a surrogate pair, which no encoder writes as UTF-8: such a record must
still be visible to the auditor who reads it here.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Send

from gateway.requests.json_text import ascii_json


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
