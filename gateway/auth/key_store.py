"""Keys in the state: creation, revocation, lookup and last use, and revocations in the anchor.

Keys are read fresh for each log-in. A revoked key is refused at the next log-in. The last use is noted to the
minute, for lists of keys; no decision depends on it.

INVARIANT: random values are drawn before the step, so a step that runs again writes the same key.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from sqlalchemy import Connection, Engine, bindparam, select, text
from sqlalchemy.dialects.postgresql import insert

from gateway.auth.keys import (
    ApiKey,
    Salt,
    Verifier,
    Verifiers,
    is_key_id,
    new_key,
    new_salt,
    parse_key,
    verifier_of,
)
from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.events import Emit, StateLost
from gateway.state.anchor import Fact
from gateway.state.connections import UNREACHABLE, PreparedRead
from gateway.state.draft import Draft
from gateway.state.tables import api_keys, key_revocations, key_uses, scram_salts


@dataclass(frozen=True)
class KnownKey:
    """The stored facts of a key; the fields are the columns of `_KEYS`, in their order."""

    id: str
    subject: str
    secret_hash: bytes = field(repr=False)
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None

    def is_active(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def find_key(connection: Connection, key_id: str) -> KnownKey | None:
    """The key with this id, active or not."""
    row = connection.execute(_KEYS.where(api_keys.c.id == key_id)).one_or_none()
    return None if row is None else KnownKey(*row)


def read_key(engine: Engine, key_id: str) -> KnownKey | None:
    """The same for every incoming request, in a fraction of the time."""
    row = _KEY.one_or_none(engine, {"id": key_id})
    return None if row is None else KnownKey(*row)


def list_keys(connection: Connection) -> tuple[KnownKey, ...]:
    """Every key ever created, oldest first."""
    rows = connection.execute(_KEYS.order_by(api_keys.c.created_at, api_keys.c.id))
    return tuple(KnownKey(*row) for row in rows)


def find_verifiers(connection: Connection, subject: str, now: datetime) -> Verifiers | None:
    """The verifiers for a SCRAM log-in of this subject; None if it never had a key.

    A subject without an active key keeps its salt, and no proof fits. Both reads are made for every name, so
    that the time they take does not reveal which names exist.
    """
    salt = find_salt(connection, subject)
    columns = select(api_keys.c.id, api_keys.c.stored_key, api_keys.c.server_key)
    rows = connection.execute(
        columns.outerjoin_from(api_keys, key_revocations, api_keys.c.id == key_revocations.c.id)
        .where(api_keys.c.subject == subject, key_revocations.c.id.is_(None))
        .where(api_keys.c.expires_at.is_(None) | (api_keys.c.expires_at > now))
        .order_by(api_keys.c.id)
    )
    verifiers = tuple(Verifier(*row) for row in rows)
    return None if salt is None else Verifiers(salt, verifiers)


def find_salt(connection: Connection, subject: str) -> Salt | None:
    columns = select(scram_salts.c.salt, scram_salts.c.iterations)
    row = connection.execute(columns.where(scram_salts.c.subject == subject)).one_or_none()
    return None if row is None else Salt(row.salt, row.iterations)


@contextmanager
def translate_state_errors() -> Iterator[None]:
    """Map database errors to 503, never to 401."""
    try:
        yield
    except UNREACHABLE as error:
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, hint="try again in a moment") from error


_KEYS = (
    select(
        api_keys.c.id,
        api_keys.c.subject,
        api_keys.c.secret_hash,
        api_keys.c.created_at,
        api_keys.c.created_by,
        api_keys.c.expires_at,
        key_revocations.c.at,
        key_revocations.c.actor,
        key_uses.c.last_used_at,
    )
    .outerjoin_from(api_keys, key_revocations, api_keys.c.id == key_revocations.c.id)
    .outerjoin(key_uses, api_keys.c.id == key_uses.c.id)
)
_KEY = PreparedRead(_KEYS.where(api_keys.c.id == bindparam("id")))


_PRECISION = timedelta(minutes=1)
_PATIENCE = text("SET LOCAL statement_timeout = '500ms'")  # a log-in does not wait for this


def record_key_use(engine: Engine, key: KnownKey, now: datetime, emit: Emit) -> None:
    """Note the use of a key, unless the last note is less than a minute old.

    A failure of the state is reported and does not fail the log-in: the key was checked already, and the
    request that follows needs the state itself and reports its failure.
    """
    if key.last_used_at is not None and now - key.last_used_at < _PRECISION:
        return
    row = insert(key_uses).values(id=key.id, last_used_at=now)
    upsert = row.on_conflict_do_update(
        index_elements=[key_uses.c.id],
        set_={"last_used_at": row.excluded.last_used_at},
        where=key_uses.c.last_used_at <= row.excluded.last_used_at - _PRECISION,
    )
    try:
        with engine.begin() as connection:
            connection.execute(_PATIENCE)
            connection.execute(upsert)
    except UNREACHABLE as error:
        emit(StateLost(f"the use of a key was not noted: {type(error).__name__}"))


@dataclass(frozen=True)
class KeyCreated:
    """A key was created for a subject; `fingerprint` is a hash of everything that the state stores of its
    secret.
    """

    key_id: str
    subject: str
    actor: str
    expires_at: datetime | None
    fingerprint: str


@dataclass(frozen=True)
class KeyRevoked:
    """A key was revoked."""

    key_id: str
    subject: str
    actor: str


@dataclass(frozen=True)
class Claim:
    """The name that a client gives at log-in, before it is verified."""

    name: str
    address: str
    front_end: str


@dataclass(frozen=True)
class LoginFailed:
    """A failed log-in. `claimed` is the key id or the name that the client gave, if any.

    With the code `TOO_MANY_FAILURES` this is the only record of a window: later failures are not recorded.
    """

    front_end: str
    address: str
    claimed: str | None
    code: Code


RecordFailure = Callable[[LoginFailed], None]


REVOKED: Final = "revoked:"  # what the anchor calls the fact, followed by the key's id


@dataclass(frozen=True)
class KeyOrder:
    """A key to be created, and its subject."""

    subject: str
    actor: str
    at: datetime
    expires_at: datetime | None = None
    key: ApiKey = field(default_factory=new_key)
    salt_if_first: Salt = field(default_factory=new_salt, repr=False)


@dataclass(frozen=True)
class _Issued:
    subject: str
    revoked_at: datetime | None


def create(draft: Draft, order: KeyOrder, known: Callable[[str], bool]) -> KeyCreated:
    """Write the key; the caller shows `order.key.reveal()` once, after the commit."""
    if not known(order.subject):
        raise OperatorError(
            Code.SUBJECT_UNKNOWN,
            f"`{order.subject}`",
            "add the subject to subjects.yaml first",
        )
    salt = _salt_of(draft, order.subject)
    if salt is None:
        salt = order.salt_if_first
        draft.insert(
            scram_salts,
            {
                "subject": order.subject,
                "salt": _bytea(salt.salt),
                "iterations": salt.iterations,
            },
        )
        draft.remember(("scram salt", order.subject), salt)
    verifier = verifier_of(order.key, salt)
    draft.insert(
        api_keys,
        {
            "id": order.key.id,
            "subject": order.subject,
            "secret_hash": _bytea(order.key.digest()),
            "stored_key": _bytea(verifier.stored_key),
            "server_key": _bytea(verifier.server_key),
            "created_at": order.at.isoformat(),
            "created_by": order.actor,
            "expires_at": order.expires_at.isoformat() if order.expires_at else None,
        },
    )
    draft.remember(("api key", order.key.id), _Issued(order.subject, None))
    kept = order.key.digest() + verifier.stored_key + verifier.server_key
    fingerprint = hashlib.sha256(kept).hexdigest()
    return KeyCreated(order.key.id, order.subject, order.actor, order.expires_at, fingerprint)


def revoke(draft: Draft, id_or_key: str, *, actor: str, at: datetime) -> KeyRevoked:
    """Revoke a key by its id, or by the key itself, for a key that was found in a wrong place."""
    key_id = _id_from(id_or_key)
    issued = draft.recall(("api key", key_id), lambda connection: _issued(connection, key_id))
    if issued is None:
        raise OperatorError(Code.KEY_UNKNOWN, f"`{key_id}`", "`gateway key list` shows all keys")
    if issued.revoked_at is not None:
        since = issued.revoked_at.isoformat(timespec="seconds")
        raise OperatorError(Code.ARGUMENT_INVALID, f"key `{key_id}` is already revoked: {since}")
    draft.insert(key_revocations, {"id": key_id, "at": at.isoformat(), "actor": actor})
    draft.remember(("api key", key_id), _Issued(issued.subject, at))
    draft.state_fact(f"{REVOKED}{key_id}", {"at": at.isoformat(), "actor": actor})
    return KeyRevoked(key_id, issued.subject, actor)


def _id_from(text: str) -> str:
    """The id. A text that is neither id nor key is not repeated in the message, because it may be most of a
    key.
    """
    key = parse_key(text)
    if key is not None:
        return key.id
    if not is_key_id(text):
        raise OperatorError(
            Code.KEY_UNKNOWN,
            "this is not the id of a key",
            "an id has 12 characters; `gateway key list` shows them",
        )
    return text


def _salt_of(draft: Draft, subject: str) -> Salt | None:
    return draft.recall(("scram salt", subject), lambda connection: find_salt(connection, subject))


def _issued(connection: Connection, key_id: str) -> _Issued | None:
    known = find_key(connection, key_id)
    return None if known is None else _Issued(known.subject, known.revoked_at)


def _bytea(data: bytes) -> str:
    """Rows are sent to the database as JSON: this is PostgreSQL's text for bytes."""
    return rf"\x{data.hex()}"


def load_revocation_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """The revocations that an anchor needs if it begins at `seq`."""
    return {
        f"{REVOKED}{row.id}": Fact(seq, {"at": row.at.isoformat(), "actor": row.actor})
        for row in connection.execute(select(key_revocations))
    }


def revocations_of(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts about revoked keys, including keys that this state does not know."""
    return {name: fact for name, fact in facts.items() if name.startswith(REVOKED)}


def revoke_again(draft: Draft, facts: Mapping[str, Fact]) -> list[KeyRevoked]:
    """Revoke every key that is revoked in the anchor and valid in the state."""
    found = []
    for name, fact in revocations_of(facts).items():
        key_id = name.removeprefix(REVOKED)
        known = draft.recall(("restored key", key_id), partial(find_key, key_id=key_id))
        if known is not None and known.revoked_at is None:
            at = datetime.fromisoformat(str(fact.value["at"]))
            found.append(revoke(draft, key_id, actor=str(fact.value["actor"]), at=at))
    return found
