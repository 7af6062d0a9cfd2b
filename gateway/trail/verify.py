"""Verification of the trail: is it as it was written, and if not, which record is the first that is not?

The whole trail is read in order and chained again. Then its end is compared with the anchor, which shows
truncation and a rewrite of everything, and its content with the tables, which shows an altered balance, a
raised cap, a key that nobody created, or an answer that was never given.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from gateway.state.anchor import GENESIS, AnchorContent, Position
from gateway.state.tables import trail_records
from gateway.trail import times as moments
from gateway.trail.chain import ChainKey
from gateway.trail.record import storable_text
from gateway.trail.seal import Seal
from gateway.trail.sealed_rows import SealedRows
from gateway.trail.verify_limits import AllowedAmounts
from gateway.trail.verify_spending import SpendingCheck
from gateway.trail.verify_suspensions import SuspensionCheck

_STREAMED = {"yield_per": 2_000}


@dataclass(frozen=True)
class Verdict:
    """The result of verification; `first_bad` is the number of the first record that is not as written."""

    records: int
    anchored: int | None
    problem: str | None = None
    first_bad: int | None = None

    @property
    def intact(self) -> bool:
        return self.problem is None


class _Broken(Exception):
    def __init__(self, first_bad: int | None, problem: str) -> None:
        super().__init__(problem)
        self.first_bad = first_bad
        self.problem = problem


def verify(connection: Connection, key: ChainKey, anchored: AnchorContent | None) -> Verdict:
    """Read everything once, in one snapshot."""
    at_anchor = None if anchored is None else anchored.position.seq
    position = GENESIS
    books = (
        SpendingCheck(connection),
        AllowedAmounts(connection),
        SuspensionCheck(connection),
        SealedRows(connection, Seal(key)),
    )
    try:
        with connection.execute(_RECORDS, execution_options=_STREAMED) as rows:
            for row in rows:
                position = _follow(row, position, key)
                if anchored is not None and position.seq == anchored.position.seq:
                    _require_anchored(position, anchored.position)
                said = json.loads(row.body)
                for book in books:
                    book.read(position.seq, said)
        if anchored is not None and position.seq < anchored.position.seq:
            raise _Broken(  # noqa: TRY301  # every finding leaves through the same door
                position.seq + 1,
                f"the trail ends at record {position.seq}, its anchor has seen {anchored.position.seq}",
            )
        for book in books:
            if (difference := book.difference()) is not None:
                raise _Broken(None, difference)  # noqa: TRY301  # see above
    except _Broken as broken:
        return Verdict(position.seq, at_anchor, broken.problem, broken.first_bad)
    return Verdict(position.seq, at_anchor)


def fits_head(connection: Connection, key: ChainKey) -> bool:
    """True if the last record was chained with this key; checked at every start."""
    columns = (trail_records.c.seq, trail_records.c.mac, trail_records.c.body)
    last_two = connection.execute(
        select(*columns).order_by(trail_records.c.seq.desc()).limit(2)
    ).all()
    if not last_two:
        return True
    head, *rest = last_two
    before = Position(rest[0].seq, rest[0].mac) if rest else GENESIS
    return _is_ascii(head.body) and key.link(before, head.body).mac == head.mac


def _follow(row: Row[*tuple[Any, ...]], before: Position, key: ChainKey) -> Position:
    seq, expected = row.seq, before.seq + 1
    if seq is None or seq > expected:
        raise _Broken(expected, f"record {expected} is missing")
    if seq < expected:
        raise _Broken(seq, f"record {seq} is there twice")
    if not _is_ascii(row.body):
        raise _Broken(seq, f"record {seq} was changed")
    after = key.link(before, row.body)
    if after.mac != row.mac:
        raise _Broken(seq, f"record {seq} was changed, moved or chained with another key")
    said = json.loads(row.body)
    shown = (row.kind, row.subject, row.dataset, row.query_id)
    meant = (
        said["kind"],
        *(storable_text(said[name]) for name in ("subject", "dataset", "query_id")),
    )
    if shown != meant or row.moment != moments.moment_text(said["at"]):
        raise _Broken(seq, f"record {seq} is filed under columns that its text does not say")
    return after


def _require_anchored(position: Position, anchored: Position) -> None:
    if position.mac != anchored.mac:
        raise _Broken(
            position.seq, f"record {position.seq} is not the one that the anchor has seen"
        )


def _is_ascii(body: str | None) -> bool:
    return body is not None and body.isascii()


_RECORDS = select(
    *(column for column in trail_records.c if column is not trail_records.c.at),
    moments.moment_column(trail_records.c.at).label("moment"),
).order_by(trail_records.c.seq)
