"""Trail records, appended as part of a journal step, never on their own.

INVARIANT: if the record cannot be written, nothing else of its step is, and the query is refused.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from gateway.state.draft import Draft
from gateway.state.tables import trail_records
from gateway.trail.chain import ChainKey, canonical_json
from gateway.trail.record import Record, storable_text
from gateway.trail.seal import Seal, seal_rows

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class Trail:
    """Appends to the chain."""

    def __init__(self, key: ChainKey, clock: Clock = utc_now) -> None:
        self._key = key
        self._clock = clock
        self.seal = Seal(key)

    def append(self, draft: Draft, record: Record) -> None:
        at = self._clock().astimezone(UTC).isoformat(timespec="microseconds")
        events = seal_rows(draft, self.seal)
        wrote = {"events": events} if events else {}
        body = canonical_json({"v": 1, "at": at, "kind": record.kind, **record.said(), **wrote})
        after = self._key.link(draft.position, body)
        draft.insert(
            trail_records,
            {
                "seq": after.seq,
                "at": at,
                "kind": record.kind,
                "subject": storable_text(record.subject),
                "dataset": storable_text(record.dataset),
                "query_id": storable_text(record.query_id),
                "body": body,
                "mac": after.mac,
            },
        )
        draft.move_to(after)
