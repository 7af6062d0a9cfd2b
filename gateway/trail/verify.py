"""`verify()`: finds the first changed record; compares limits, keys and suspensions with the trail.

Is the trail as it was written, and if not, which record is the first that is not? The whole trail is read in order
and chained again. Then its end is compared with the anchor, which shows truncation and a rewrite of everything,
and its content with the tables, which shows an altered balance, a raised cap, a key that nobody created, or an
answer that was never given.

Ledgers, accounts and their limits, keys and revocations are compared with the trail. A cap that was raised in its
table, an account that was moved below another, a key that nobody created or that got another secret, and a missing
revocation are all found, because every such act has its record.

So are counted stops, and acts that suspend and resume, in their order. A missing, changed or inserted line is
found, because each has its record, and both were written in one transaction.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Text, cast, func, select

from gateway.state.anchor import GENESIS, AnchorContent, Position
from gateway.state.tables import (
    account_limits,
    accounts,
    api_keys,
    key_revocations,
    ledger_rates,
    ledgers,
    suspensions,
    trail_records,
)
from gateway.trail import seal
from gateway.trail.chain import ChainKey
from gateway.trail.record import RecordKind, storable_text
from gateway.trail.seal import Seal, SealedRows
from gateway.trail.verify_spending import SpendingCheck

Line = tuple[str | None, ...]


class AllowedAmounts:
    """Reads the records in order, and finds a row that no act explains, or a missing one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: dict[str, set[Line]] = {what: set() for what in _THERE}
        self._changes: dict[str, int] = {}

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        del seq
        about = said.get("about", {})
        match said["kind"]:
            case RecordKind.LEDGER_OPENED:
                self._add("ledger", about, "ledger", "source", "unit", "currency")
                self._rate(about, said["actor"])
            case RecordKind.RATE_FIXED:
                self._rate(about, said["actor"])
            case RecordKind.ACCOUNT_OPENED:
                self._add("account", about, "account", "ledger", "parent")
                self._limit(about, "", said["actor"])
            case RecordKind.LIMITS_SET:
                self._limit(about, "after_", said["actor"])
            case RecordKind.KEY_CREATED:
                expires = about["expires_at"]
                until = None if expires is None else seal.moment_text(expires)
                self._said["key"].add(
                    (about["key"], said["subject"], said["actor"], until, about["fingerprint"])
                )
            case RecordKind.KEY_REVOKED:
                self._said["revocation"].add((about["key"], said["actor"]))

    def difference(self) -> str | None:
        """The first difference, in words."""
        for what, query in _THERE.items():
            there = {tuple(row) for row in self._connection.execute(query)}
            unexplained, gone = there - self._said[what], self._said[what] - there
            if unexplained:
                return f"the {what} of `{_first(unexplained)}` is not what the trail says"
            if gone:
                return f"the {what} of `{_first(gone)}` is gone, which the trail does not say"
        return None

    def _add(self, what: str, about: Mapping[str, str | None], *names: str) -> None:
        self._said[what].add(tuple(about[name] for name in names))

    def _rate(self, about: Mapping[str, str | None], actor: str) -> None:
        # a record of an older version, or of a ledger without a cap, has none
        if about.get("rate") is not None:
            self._said["rate"].add((about["ledger"], actor, about["rate"]))

    def _limit(self, about: Mapping[str, str | None], prefix: str, actor: str) -> None:
        account = str(about["account"])
        self._changes[account] = self._changes.get(account, 0) + 1
        limits = (about[f"{prefix}{name}"] for name in ("epsilon", "delta", "window"))
        self._said["limit"].add((account, str(self._changes[account]), actor, *limits))


def _first(lines: set[Line]) -> str:
    return min(str(line[0]) for line in lines)


_KEPT = api_keys.c.secret_hash.op("||")(api_keys.c.stored_key).op("||")(api_keys.c.server_key)
_THERE = {
    "ledger": select(ledgers.c.name, ledgers.c.source, ledgers.c.unit, ledgers.c.currency),
    "rate": select(ledger_rates.c.ledger, ledger_rates.c.actor, ledger_rates.c.rate),
    "account": select(accounts.c.name, accounts.c.ledger, accounts.c.parent),
    "limit": select(
        account_limits.c.account,
        cast(account_limits.c.ordinal, Text),
        account_limits.c.actor,
        account_limits.c.epsilon,
        account_limits.c.delta,
        account_limits.c.window_every + ":" + account_limits.c.window_epsilon,
    ),
    "key": select(
        api_keys.c.id,
        api_keys.c.subject,
        api_keys.c.created_by,
        seal.moment_column(api_keys.c.expires_at),
        func.encode(
            func.sha256(_KEPT),
            "hex",
        ),
    ),
    "revocation": select(key_revocations.c.id, key_revocations.c.actor),
}


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
    if shown != meant or row.moment != seal.moment_text(said["at"]):
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
    seal.moment_column(trail_records.c.at).label("moment"),
).order_by(trail_records.c.seq)
