"""A credential in, a subject out, or a refusal that says nothing about why.

`Authenticator` is what front ends know; `KeyAuthenticator` is the one there is, for API keys.

INVARIANT: every path to a refusal does the same: one read, one hash, one comparison in constant time.
"""

import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Engine

from gateway.events import Emit, silent
from gateway.identity.keys import ApiKey, parse_key
from gateway.identity.lookup import read_key, reading_state
from gateway.identity.turning_away import TurningAway
from gateway.identity.uses import note_use

Who = TypeVar("Who")
Who_co = TypeVar("Who_co", covariant=True)

_NOBODYS_HASH = secrets.token_bytes(32)


class Authenticator(Protocol[Who_co]):
    """Tells who is asking; `Who` is what the wiring calls a subject."""

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Who_co: ...


def utc_now() -> datetime:
    return datetime.now(UTC)


class KeyAuthenticator(Generic[Who]):
    """Knows subjects by their API keys. It waits for the state: call it from a thread that may."""

    def __init__(
        self,
        engine: Engine,
        find_subject: Callable[[str], Who | None],
        turning_away: TurningAway,
        *,
        emit: Emit = silent,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._find_subject = find_subject
        self._turning_away = turning_away
        self._emit = emit
        self._now = now

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Who:
        """The subject whose key this is."""
        if not credential:
            raise self._turning_away.without_credential(address=address, front_end=front_end)
        key = parse_key(credential)
        subject = None if key is None else self._holder_of(key)
        if subject is None:
            raise self._turning_away.with_bad_credential(
                address=address, front_end=front_end, claimed=None if key is None else key.id
            )
        return subject

    def _holder_of(self, key: ApiKey) -> Who | None:
        """Whose key this is; there is no cache, so a revoked key is refused at once."""
        now = self._now()
        with reading_state():
            known = read_key(self._engine, key.id)
        expected = _NOBODYS_HASH if known is None else known.secret_hash
        fits = hmac.compare_digest(key.digest(), expected)
        if known is None or not fits or not known.is_active(now):
            return None
        subject = self._find_subject(known.subject)
        if subject is not None:
            note_use(self._engine, known, now, self._emit)
        return subject
