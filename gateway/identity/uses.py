"""When a key was last used: to the minute, for whoever lists keys; nothing is decided by it."""

from datetime import datetime, timedelta

from sqlalchemy import Engine, text
from sqlalchemy.dialects.postgresql import insert

from gateway.events import Emit, StateLost
from gateway.identity.lookup import KnownKey
from gateway.store.prepared import UNREACHABLE
from gateway.store.tables import key_uses

_PRECISION = timedelta(minutes=1)
_PATIENCE = text("SET LOCAL statement_timeout = '500ms'")  # a log-in does not wait for this


def note_use(engine: Engine, key: KnownKey, now: datetime, emit: Emit) -> None:
    """Write it down unless that was done within the minute.

    A state that fails just now is reported and does not fail the log-in: the key was checked already,
    and what the subject came for needs the state itself and will say so.
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
