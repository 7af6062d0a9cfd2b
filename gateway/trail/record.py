"""Records of the trail: kinds, fields, and how one is written.

The fields of these classes are the complete list.

INVARIANT: nothing here is computed from protected rows: no value, no true count, no number of groups. Everything
recorded was known before the source was asked, or was released.
INVARIANT: if the record cannot be written, nothing else of its step is, and the query is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from gateway.json_form import Json
from gateway.state.draft import Draft
from gateway.state.tables import trail_records
from gateway.trail.chain import ChainKey, canonical_json
from gateway.trail.seal import Seal

WHOLE: Final = "*"  # the cell that is meant where a record of what was taken names none


class RecordKind(StrEnum):
    """The kind of a record; the first five are the outcomes of a query."""

    CHARGED = "charged"
    ANSWERED = "answered"
    REUSED = "reused"
    REFUSED = "refused"
    FAILED = "failed"
    LOGIN_REFUSED = "login_refused"
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    LEDGER_OPENED = "ledger_opened"
    RATE_FIXED = "rate_fixed"
    ACCOUNT_OPENED = "account_opened"
    LIMITS_SET = "limits_set"
    POLICY_LOADED = "policy_loaded"
    POLICY_REJECTED = "policy_rejected"
    RESTORED = "restored"
    DATA_REFRESHED = "data_refreshed"
    SUBJECT_SUSPENDED = "subject_suspended"
    SUBJECT_RESUMED = "subject_resumed"


@dataclass(frozen=True)
class AskedQuestion:
    """A query as it arrived: its subject, dataset, text, purpose and front end."""

    query_id: str
    subject: str
    dataset: str
    sql: str
    front_end: str
    address: str
    purpose: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    copied: tuple[str, ...] = ()  # releases whose draws were copied


@dataclass(frozen=True)
class AccountWithdrawal:
    """The amount that one account was charged, and its balance after that; amounts as `numerator/denominator`.

    `at` is the account's own clock, which decides the period of the rate limit.
    """

    account: str
    at: str
    amount: str
    delta: str
    spent: str
    delta_spent: str


@dataclass(frozen=True)
class WithdrawalSource(AccountWithdrawal):
    """The amount added to one cell of an account, by a charge that was confined to cells."""

    cell: str


@dataclass(frozen=True)
class QuestionRecord:
    """A query and its outcome so far; a stopped one may count towards a suspension of its subject."""

    kind: RecordKind
    asked: AskedQuestion
    code: str | None = None
    because: tuple[str, ...] = ()
    price: str | None = None
    price_taken: str | None = None
    measurements: tuple[Mapping[str, str], ...] = ()
    taken: tuple[AccountWithdrawal, ...] = ()
    duration_us: int | None = None
    counted: bool = False

    def said(self) -> dict[str, Json]:
        other = self.price_taken is not None and self.price_taken != self.price
        return {
            **({"price_taken": self.price_taken} if other else {}),
            **({"counted": True} if self.counted else {}),
            **({"copied": self.asked.copied} if self.asked.copied else {}),
            "subject": self.asked.subject,
            "dataset": self.asked.dataset,
            "query_id": self.asked.query_id,
            "sql": self.asked.sql,
            "front_end": self.asked.front_end,
            "address": self.asked.address,
            "purpose": self.asked.purpose,
            "attributes": self.asked.attributes,
            "code": self.code,
            "because": self.because,
            "price": self.price,
            "measurements": self.measurements,
            "taken": [vars(taken) for taken in self.taken],
            "duration_us": self.duration_us,
        }


@dataclass(frozen=True)
class ActRecord:
    """An act: by an administrator, by a policy reload, or by an unknown party."""

    kind: RecordKind
    actor: str
    about: Mapping[str, str | None] = field(default_factory=dict)
    subject: str | None = None
    dataset: str | None = None
    taken: tuple[AccountWithdrawal, ...] = ()

    def said(self) -> dict[str, Json]:
        return {
            "actor": self.actor,
            "about": self.about,
            "subject": self.subject,
            "dataset": self.dataset,
            "query_id": None,
            "taken": [vars(taken) for taken in self.taken],
        }


Record = QuestionRecord | ActRecord


def storable_text(text: Json) -> str | None:
    """The text for a column: PostgreSQL's text holds neither NUL nor lone surrogates; the body keeps them,
    escaped.
    """
    if text is None:
        return None
    return str(text).replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


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
        events = self.seal.seal_rows(draft)
        wrote = {"events": events} if events else {}
        said = record.said()
        body = canonical_json({"v": 1, "at": at, "kind": record.kind, **said, **wrote})
        after = self._key.link(draft.position, body)
        draft.insert(
            trail_records,
            {
                "seq": after.seq,
                "at": at,
                "kind": record.kind,
                **{name: storable_text(said[name]) for name in ("subject", "dataset", "query_id")},
                "body": body,
                "mac": after.mac,
            },
        )
        draft.move_to(after)
