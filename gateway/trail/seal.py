"""MACs on events, contents and stored answers, and the comparison of rows with them.

Seals are MACs under the audit key for rows that later answers rely on, beside the trail. Events of a dataset are
chained like the trail's records: each MAC covers the event and the MAC before it. The content of a release and a
stored answer have a MAC of their own, bound to their release or request. The trail record of the same step names
the events it was written with and the MAC of the last, so that neither chain can lose its end unnoticed.

Rows from before seals were introduced have none. Their chain is computed all the same: the first sealed event
covers it.

Sealed rows are verified against their seals and the trail. A changed integer, and an event that was changed,
removed, inserted or moved, break a MAC. The trail says where the events of a dataset end, so a missing end is
found; the anchor shows that the trail itself is complete. Rows from before seals were introduced are skipped, as
far as the trail confirms that.

A stored moment is compared with the text that a record has for it: the texts that the database writes are
compared, because a tampered moment need not be one that Python can hold: `infinity` and years before Christ are
timestamps too.

INVARIANT: a row without a seal is never taken for one with a seal, and nothing behind a sealed event is without
one.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select

from gateway.state.anchor import GENESIS, Position
from gateway.state.draft import Draft
from gateway.state.tables import asked_events, charges, kept_answers, released_contents
from gateway.trail.chain import ChainKey

_PATTERN = 'BC YYYY-MM-DD"T"HH24:MI:SS.US'


def moment_column(moment: ColumnElement[datetime]) -> ColumnElement[str]:
    """A column as text; NULL if it has no moment."""
    return func.to_char(func.timezone("UTC", moment), _PATTERN)


def moment_text(text: str) -> str:
    """The text of `moment_column` for this ISO 8601 moment."""
    moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    return f"AD {moment.isoformat(timespec='microseconds')}"


def parse_moment(text: str) -> datetime:
    """The moment for which `moment_text` and `moment_column` give this text."""
    return datetime.fromisoformat(text.removeprefix("AD ")).replace(tzinfo=UTC)


_EVENT: Final = ("dataset", "ordinal", "moment", "kind", "subject", "query_id", "release", "body")


class ForgedRow(Exception):
    """A row is not as it was written, or is missing: the state was changed."""


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

    def seal_rows(self, draft: Draft) -> dict[str, str]:
        """Seal the rows of the step so far. Returns its events for each dataset, in the form of the trail's record."""
        found: dict[str, Stretch] = {}
        for table, row in draft.unsealed():
            if table is released_contents:
                row["mac"] = self.content(str(row["release"]), str(row["content"]))
                continue
            moment = moment_text(str(row["at"]))
            dataset, ordinal = str(row["dataset"]), int(str(row["ordinal"]))
            # if other processes wrote meanwhile this is not the event before; then the step runs again, and nothing of it stays
            before = draft.recall(("event mac", dataset), partial(_last_event, self, dataset))
            row["mac"] = self.event(before.mac, {**row, "moment": moment})
            last = Position(ordinal, str(row["mac"]))
            draft.remember(("event mac", dataset), last)
            first = found[dataset].first if dataset in found else ordinal
            found[dataset] = Stretch(first, last)
        return {dataset: stretch.text() for dataset, stretch in found.items()}

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
    moment_column(asked_events.c.at).label("moment"),
)
"""An event as a chain follows it."""


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
