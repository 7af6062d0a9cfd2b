"""JSON as this interface writes it: printable ASCII, whatever an analyst wrote.

A record of the trail may hold half of a Unicode pair, which no encoder puts into UTF-8: it must not
be able to hide from the auditor who reads it here.
"""

import json

from fastapi.responses import JSONResponse


class AsciiJson(JSONResponse):
    def render(self, content: object) -> bytes:
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return text.replace("\x7f", "\\u007f").encode("ascii")
