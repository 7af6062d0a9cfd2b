"""Keys in the state, read fresh for each log-in, and the time of their last use.

A revoked key is refused at the next log-in. The last use is noted to the minute, for lists of keys; no decision
depends on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, bindparam, select, text
from sqlalchemy.dialects.postgresql import insert

from gateway.auth.keys import Salt, Verifier, Verifiers
from gateway.errors import BackendUnavailable, Code
from gateway.events import Emit, StateLost
from gateway.state.connections import UNREACHABLE, PreparedRead
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
