"""A visitor: asks the running gateway over HTTP, as any client would."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PATIENCE_S = 20
# A proxy in the environment must not be asked about ourselves.
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Reply:
    status: int
    body: dict[str, Any]


class Visitor:
    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, key: str | None = None) -> Reply:
        return self._asked(path, key, None)

    def post(self, path: str, key: str | None, body: Mapping[str, object]) -> Reply:
        return self._asked(path, key, json.dumps(body).encode())

    def _asked(self, path: str, key: str | None, body: bytes | None) -> Reply:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._url + path, body, headers)  # noqa: S310  # our own URL
        try:
            with _DIRECTLY.open(request, timeout=_PATIENCE_S) as answer:
                return Reply(answer.status, json.load(answer))
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, json.load(refused))
