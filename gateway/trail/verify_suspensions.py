"""Verification of suspensions against the trail: counted stops, and acts that suspend and resume, in their
order.

A missing, changed or inserted line is found, because each has its record, and both were written in one
transaction.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from gateway.state.tables import suspensions
from gateway.trail.record import RecordKind, storable_text

_ACTS = {RecordKind.SUBJECT_SUSPENDED: "suspended", RecordKind.SUBJECT_RESUMED: "resumed"}
_Line = tuple[str, str | None, str | None]


class SuspensionCheck:
    """Reads the records in order, and finds the first line that is not as they say."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: dict[tuple[str | None, str | None], list[_Line]] = {}

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        del seq
        if said.get("counted"):
            self._add(said["subject"], said["dataset"], ("counted", "gateway", said["query_id"]))
        elif said["kind"] in _ACTS:
            line = (_ACTS[said["kind"]], said["actor"], None)
            self._add(said["subject"], said["about"]["dataset"], line)

    def difference(self) -> str | None:
        """The first difference, in words."""
        there: dict[tuple[str | None, str | None], list[_Line]] = {}
        for row in self._connection.execute(_LINES):
            there.setdefault((row.subject, row.dataset), []).append(
                (row.kind, row.actor, row.query_id)
            )
        for key in sorted({*there, *self._said}, key=str):
            if there.get(key) != self._said.get(key):
                return f"the suspension of `{key[0]}` on `{key[1]}` is not what the trail says"
        return None

    def _add(self, subject: str, dataset: str, line: _Line) -> None:
        kind, actor, query_id = line
        self._said.setdefault((storable_text(subject), storable_text(dataset)), []).append(
            (kind, storable_text(actor), storable_text(query_id))
        )


_LINES = select(
    *(suspensions.c[name] for name in ("subject", "dataset", "kind", "actor", "query_id"))
).order_by(suspensions.c.subject, suspensions.c.dataset, suspensions.c.ordinal)
