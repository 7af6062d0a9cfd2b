"""Trail search: the latest records, filtered records, or all of them as JSON lines."""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from gateway.state.tables import trail_records
from gateway.trail.record import storable_text

_STREAMED = {"yield_per": 2_000}


@dataclass(frozen=True)
class RecordFilter:
    """A filter of records: every given condition must hold."""

    subject: str | None = None
    kind: str | None = None
    dataset: str | None = None
    query_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        columns = trail_records.c
        exact = {"subject": self.subject, "kind": self.kind, "dataset": self.dataset}
        exact["query_id"] = self.query_id
        found = [
            columns[name] == storable_text(value)
            for name, value in exact.items()
            if value is not None
        ]
        if self.since is not None:
            found.append(columns.at >= self.since)
        if self.until is not None:
            found.append(columns.at < self.until)
        if self.before is not None:
            found.append(columns.seq < min(self.before, _LAST_SEQ))
        return found


_LAST_SEQ = 2**63 - 1
_NOBODY: dict[str, Any] = {"subject": None, "dataset": None, "query_id": None}
EVERYTHING = RecordFilter()
_COLUMNS = select(trail_records.c.seq, trail_records.c.mac, trail_records.c.body)


def latest_records(
    connection: Connection, limit: int, wanted: RecordFilter = EVERYTHING
) -> list[Mapping[str, Any]]:
    """The newest matching records, oldest of them first."""
    query = _COLUMNS.where(*wanted.conditions()).order_by(trail_records.c.seq.desc()).limit(limit)
    found = [_said(row.seq, row.mac, row.body) for row in connection.execute(query)]
    return found[::-1]


def all_records(
    connection: Connection, wanted: RecordFilter = EVERYTHING
) -> Generator[Mapping[str, Any], None, None]:
    """All matching records in order, streamed; close it when you stop before the end."""
    query = _COLUMNS.where(*wanted.conditions()).order_by(trail_records.c.seq)
    with connection.execute(query, execution_options=_STREAMED) as rows:
        for row in rows:
            yield _said(row.seq, row.mac, row.body)


def json_line(record: Mapping[str, Any]) -> str:
    """One record on one line of printable ASCII, whatever an analyst wrote."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")


def _said(seq: int | None, mac: str | None, body: str | None) -> Mapping[str, Any]:
    return {"seq": seq, **_read(body), "mac": mac}


def _read(body: str | None) -> Mapping[str, Any]:
    """The content of a record. A tampered one must not prevent the others from being read."""
    try:
        said = json.loads(body or "", parse_constant=_no_number)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and all(isinstance(said.get(name), str) for name in ("at", "kind")):
        return _NOBODY | said
    return _NOBODY | {"at": "", "kind": "unreadable", "body": body}


def _no_number(text: str) -> float:
    raise ValueError(text)
