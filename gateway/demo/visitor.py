"""A visitor: asks the running gateway over HTTP, as any client would."""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

_PATIENCE_S = 20


@dataclass(frozen=True)
class Reply:
    status: int
    body: dict[str, Any]


class Visitor:
    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, key: str | None = None) -> Reply:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        request = urllib.request.Request(self._url + path, headers=headers)  # noqa: S310  # our own URL
        try:
            with urllib.request.urlopen(  # noqa: S310  # our own URL
                request, timeout=_PATIENCE_S, context=ssl.create_default_context()
            ) as answer:
                return Reply(answer.status, json.load(answer))
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, json.load(refused))
