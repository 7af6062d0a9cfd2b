"""JSON reader with exact numbers: no number becomes a float, and ambiguous documents are refused.

INVARIANT: a number stays the text it was sent as; `0.1` is never a double. INVARIANT: no more of a body is
buffered than the size limit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from fastapi import Request
from starlette.requests import ClientDisconnect

from gateway.errors import Code, LimitExceeded, SyntaxRefused

LARGEST: int = 1024 * 1024
_LONGEST_NUMBER = 1000  # digits; what is longer is no number anybody means
_MOST_SHOWN = 64
_HINT = "send one JSON object, see /docs"


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A JSON number, as it was written."""

    text: str


Json: TypeAlias = "bool | str | JsonNumber | list[Json] | dict[str, Json] | None"


class _Odd(ValueError):
    """Valid JSON that readers could understand differently."""


def parse_body(body: bytes) -> dict[str, Json]:
    """The object in the body, or a refusal that says what is wrong with it."""
    try:
        read = _read(body.decode())
    except UnicodeDecodeError:
        raise malformed_body("the body is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise malformed_body(f"the body is not JSON: {where}: {error.msg[:_MOST_SHOWN]}") from None
    except _Odd as odd:
        raise malformed_body(str(odd)) from None
    except RecursionError:
        raise malformed_body("the body is too deeply nested") from None
    if not isinstance(read, dict):
        raise malformed_body("the body is not a JSON object")
    return read


def malformed_body(detail: str, hint: str = _HINT) -> SyntaxRefused:
    return SyntaxRefused(Code.BAD_REQUEST, detail, hint)


def excerpt(text: str) -> str:
    """The client's text, short enough for a message."""
    return f"`{text[:_MOST_SHOWN]}…`" if len(text) > _MOST_SHOWN else f"`{text}`"


def _read(text: str) -> Json:
    read: Json = json.loads(
        text,
        parse_int=_number,
        parse_float=_number,
        parse_constant=_no_number,
        object_pairs_hook=_object,
    )
    if _has_half_a_pair(text, read):
        raise _Odd("the body contains half of a Unicode surrogate pair")
    return read


def _number(text: str) -> JsonNumber:
    if len(text) > _LONGEST_NUMBER:
        raise _Odd(f"a number has more than {_LONGEST_NUMBER} digits")
    return JsonNumber(text)


def _no_number(text: str) -> NoReturn:
    raise _Odd(f"`{text}` is not a JSON number")


def _object(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise _Odd(f"the key {excerpt(key)} is given twice")
        found[key] = value
    return found


def _has_half_a_pair(text: str, read: Json) -> bool:
    r"""True if a text has half of a surrogate pair; only escapes such as `\ud800` make one, because the body was
    UTF-8.
    """
    if "\\u" not in text:
        return False
    waiting = [read]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and not _is_whole(one):
            return True
    return False


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


async def receive_body(request: Request) -> bytes:
    """The whole body, up to the size limit."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > len(str(LARGEST)) or int(declared) > LARGEST):
        raise _too_large()
    received = bytearray()
    try:
        async for piece in request.stream():
            received += piece
            if len(received) > LARGEST:
                raise _too_large()
    except ClientDisconnect:
        raise malformed_body("the body is incomplete") from None
    return bytes(received)


def _too_large() -> LimitExceeded:
    return LimitExceeded(
        Code.REQUEST_TOO_LARGE, f"the body may have at most {LARGEST} bytes", "send a smaller body"
    )
