"""Verification of sealed rows: events, contents and stored answers against their seals and the trail.

A changed integer, and an event that was changed, removed, inserted or moved, break a MAC. The trail says where
the events of a dataset end, so a missing end is found; the anchor shows that the trail itself is complete. Rows
from before seals were introduced are skipped, as far as the trail confirms that.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from gateway.state.tables import asked_events, charges, kept_answers, released_contents
from gateway.trail.seal import (
    EVENT_COLUMNS,
    EventChain,
    ForgedRow,
    Seal,
    Stretch,
    is_mac,
    stretch_of,
)

_STREAMED = {"yield_per": 2_000}
_ANSWERED = "answered"


class SealedRows:
    """Reads the records in order, and finds the first row that is not as it was written."""

    def __init__(self, connection: Connection, seal: Seal) -> None:
        self._connection = connection
        self._seal = seal
        self._first: dict[str, int] = {}
        self._last: dict[str, Stretch] = {}

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        del seq
        for dataset, text in said.get("events", {}).items():
            stretch = stretch_of(text)
            self._first.setdefault(dataset, stretch.first)
            self._last[dataset] = stretch

    def difference(self) -> str | None:
        """The first difference, in words."""
        try:
            self._events()
        except ForgedRow as forged:
            return str(forged)
        return self._contents() or self._answers()

    def _events(self) -> None:
        there: dict[str, EventChain] = {}
        with self._connection.execute(_EVENTS, execution_options=_STREAMED) as rows:
            for row in rows.mappings():
                dataset = row["dataset"]
                if dataset not in there:
                    end = self._last.get(dataset)
                    there[dataset] = EventChain(self._seal, *(() if end is None else (end.last,)))
                chain = there[dataset]
                try:
                    chain.follow(row)
                    sealed_from = self._first.get(dataset)
                    if not chain.sealed and sealed_from is not None and chain.at.seq >= sealed_from:
                        raise ForgedRow(  # noqa: TRY301  # every finding leaves through the same door
                            f"event {chain.at.seq} has no seal, and the trail says that it had"
                        )
                except ForgedRow as forged:
                    raise ForgedRow(f"dataset `{dataset}`: {forged}") from None
        for dataset, end in self._last.items():
            at = there[dataset].at.seq if dataset in there else 0
            if at != end.last.seq:
                raise ForgedRow(
                    f"the events of dataset `{dataset}` end at {at}, the trail says at {end.last.seq}"
                )
        for dataset, chain in there.items():
            if chain.sealed and dataset not in self._last:
                raise ForgedRow(f"the trail knows of no events of dataset `{dataset}`")

    def _contents(self) -> str | None:
        with self._connection.execute(_CONTENTS, execution_options=_STREAMED) as rows:
            for row in rows:
                if row.release is None:
                    return f"the content of `{row.answered}` is gone"
                if row.answered is None:
                    return f"the content of `{row.release}` was never drawn"
                if row.mac is None and row.event_mac is None:
                    continue
                if not is_mac(self._seal.content(row.release, row.content), row.mac):
                    return f"the content of `{row.release}` was changed"
        return None

    def _answers(self) -> str | None:
        with self._connection.execute(_KEPT, execution_options=_STREAMED) as rows:
            for row in rows:
                mac = self._seal.answer(row.query_id, row.subject, row.answer)
                if row.mac is not None and not is_mac(mac, row.mac):
                    return f"the answer that is kept of question `{row.query_id}` was changed"
        return None


_EVENTS = select(*EVENT_COLUMNS).order_by(asked_events.c.dataset, asked_events.c.ordinal)
_drawn = (
    select(asked_events.c.release, asked_events.c.mac)
    .where(asked_events.c.kind == _ANSWERED)
    .subquery("drawn")
)
_CONTENTS = (
    select(
        released_contents.c.release,
        released_contents.c.content,
        released_contents.c.mac,
        _drawn.c.release.label("answered"),
        _drawn.c.mac.label("event_mac"),
    )
    .select_from(released_contents)
    .join(_drawn, _drawn.c.release == released_contents.c.release, full=True)
    .order_by(_drawn.c.release, released_contents.c.release)
)
_KEPT = select(
    kept_answers.c.query_id, kept_answers.c.answer, kept_answers.c.mac, charges.c.subject
).join_from(kept_answers, charges, kept_answers.c.query_id == charges.c.query_id)
