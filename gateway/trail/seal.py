"""Seals: MACs under the audit key for rows that later answers rely on, beside the trail.

Events of a dataset are chained like the trail's records: each MAC covers the event and the MAC before it. The
content of a release and a stored answer have a MAC of their own, bound to their release or request. The trail
record of the same step names the events it was written with and the MAC of the last, so that neither chain can
lose its end unnoticed.

Rows from before seals were introduced have none. Their chain is computed all the same: the first sealed event
covers it.

INVARIANT: a row without a seal is never taken for one with a seal, and nothing behind a sealed event is without
one.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, select

from gateway.state.anchor import GENESIS, Position
from gateway.state.draft import Draft
from gateway.state.tables import asked_events, released_contents
from gateway.trail import times as moments
from gateway.trail.chain import ChainKey

_EVENT: Final = ("dataset", "ordinal", "moment", "kind", "subject", "query_id", "release", "body")


class ForgedRow(Exception):
    """A row is not as it was written, or is missing: somebody changed the state."""


@dataclass(frozen=True)
class Seal:
    """Computes the MACs; it has no text form."""

    key: ChainKey

    def event(self, before: str, row: Mapping[Any, Any]) -> str:
        """The MAC of an event that follows the one with the MAC `before`; `moment` as in `times`."""
        return self._mac("event", before, *(row[name] for name in _EVENT))

    def content(self, release: str, content: str) -> str:
        return self._mac("content", release, content)

    def answer(self, query_id: str, subject: str, answer: str) -> str:
        return self._mac("answer", query_id, subject, answer)

    def _mac(self, kind: str, *fields: str | int | None) -> str:
        # each field with its length, so that no two rows read alike
        parts = [b"gateway seal v1 ", kind.encode()]
        for one in fields:
            text = b"" if one is None else str(one).encode("utf-8", "surrogatepass")
            parts += [b"|", b"-" if one is None else b"%d:" % len(text), text]
        return hmac.digest(self.key.secret, b"".join(parts), hashlib.sha256).hex()


def is_mac(expected: str, stored: object) -> bool:
    """True if a stored MAC equals this one."""
    return isinstance(stored, str) and stored.isascii() and hmac.compare_digest(expected, stored)


class EventChain:
    """Follows the events of a dataset, in order; raises `ForgedRow` at the first that is not as it was written.

    `end` is the position that the chain must reach at least, as the trail says.
    """

    def __init__(self, seal: Seal, end: Position = GENESIS) -> None:
        self._seal = seal
        self._end = end
        self.at = GENESIS
        self.sealed = False

    @property
    def place(self) -> tuple[Position, bool]:
        """The position that was reached; it may be set back to an earlier one."""
        return self.at, self.sealed

    @place.setter
    def place(self, place: tuple[Position, bool]) -> None:
        self.at, self.sealed = place

    def follow(self, row: Mapping[Any, Any]) -> None:
        """Follow one more event; `mac` is None if it was written before seals were introduced."""
        expected = self.at.seq + 1
        if row["ordinal"] != expected:
            raise ForgedRow(f"event {expected} is missing")
        mac = self._seal.event(self.at.mac, row)
        if row["mac"] is None and self.sealed:
            raise ForgedRow(f"event {expected} has no seal, and one before it has")
        if row["mac"] is not None and not is_mac(mac, row["mac"]):
            raise ForgedRow(
                f"event {expected} or one before it was changed, removed, inserted or moved"
            )
        self.at, self.sealed = Position(expected, mac), row["mac"] is not None
        if expected == self._end.seq and mac != self._end.mac:
            raise ForgedRow(f"event {expected} is not the one that the trail tells of")

    def require_end(self) -> None:
        """Require that the rows reach the known end."""
        if self.at.seq < self._end.seq:
            raise ForgedRow(f"the events end at {self.at.seq}, the trail tells of {self._end.seq}")


@dataclass(frozen=True)
class Stretch:
    """The events that a trail record was written with: `first` to `last.seq`, and the MAC of the last."""

    first: int
    last: Position

    def text(self) -> str:
        return f"{self.first}-{self.last.seq} {self.last.mac}"


def stretch_of(text: str) -> Stretch:
    numbers, _, mac = text.partition(" ")
    first, _, last = numbers.partition("-")
    return Stretch(int(first), Position(int(last), mac))


def seal_rows(draft: Draft, seal: Seal) -> dict[str, str]:
    """Seal the rows of the step so far. Returns its events for each dataset, in the form of the trail's record."""
    found: dict[str, Stretch] = {}
    for table, row in draft.unsealed():
        if table is released_contents:
            row["mac"] = seal.content(str(row["release"]), str(row["content"]))
            continue
        moment = moments.moment_text(str(row["at"]))
        dataset, ordinal = str(row["dataset"]), int(str(row["ordinal"]))
        # if other processes wrote meanwhile this is not the event before; then the step runs again, and nothing of it stays
        before = draft.recall(("event mac", dataset), partial(_last_event, seal, dataset))
        row["mac"] = seal.event(before.mac, {**row, "moment": moment})
        last = Position(ordinal, str(row["mac"]))
        draft.remember(("event mac", dataset), last)
        first = found[dataset].first if dataset in found else ordinal
        found[dataset] = Stretch(first, last)
    return {dataset: stretch.text() for dataset, stretch in found.items()}


def _last_event(seal: Seal, dataset: str, connection: Connection) -> Position:
    """The end of a dataset's chain; computed anew if none of its events has a seal yet."""
    of = asked_events.c.dataset == dataset
    last = connection.execute(
        select(asked_events.c.ordinal, asked_events.c.mac)
        .where(of)
        .order_by(asked_events.c.ordinal.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return GENESIS
    if last.mac is not None:
        return Position(last.ordinal, last.mac)
    chain = EventChain(seal)
    events = select(*EVENT_COLUMNS).where(of).order_by(asked_events.c.ordinal)
    for row in connection.execute(events).mappings():
        chain.follow(row)
    return chain.at


EVENT_COLUMNS: Final = (
    *(column for column in asked_events.c if column is not asked_events.c.at),
    moments.moment_column(asked_events.c.at).label("moment"),
)
"""An event as a chain follows it."""
