"""Clients of the tour: HTTP requests to the running gateway, and statements over the PostgreSQL wire."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from gateway.errors import Code, OperatorError

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


_PATIENCE_S_on_the_wire = 30


@dataclass(frozen=True)
class TourStatement:
    """A statement, its subject, and the SQLSTATE of its refusal, if it is refused."""

    title: str
    who: str
    sql: str
    refused: str | None = None


def run_statement(url: str, key: str, statement: TourStatement) -> list[str]:
    """The gateway's answer, as psql would show it."""
    try:
        with psycopg.connect(
            url, password=key, connect_timeout=_PATIENCE_S_on_the_wire, row_factory=tuple_row
        ) as connection:
            cursor = connection.execute(statement.sql.encode())
            names = [column.name for column in cursor.description or ()]
            told, state = _table(names, cursor.fetchall()), None
    except psycopg.Error as error:
        found, state = error.diag, error.sqlstate
        given = {"ERROR": found.message_primary, "DETAIL": found.message_detail}
        hint = {"HINT": found.message_hint}
        told = [f"{name}:  {text}" for name, text in {**given, **hint}.items() if text]
        told = told or [str(error).strip()]
    if state != statement.refused:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"the tour expected something else than {told[0]}"
        )
    return told


def _table(names: list[str], rows: list[tuple[object, ...]]) -> list[str]:
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    return [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, *lines]
    ]
