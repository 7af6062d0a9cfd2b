"""Authenticator: from a credential to a subject, or to a refusal that does not say why.

Front ends use the protocol `Authenticator`; `KeyAuthenticator` implements it for API keys. `Holders` answers
for all front ends who holds a key, and whether it is valid now.

INVARIANT: every path to a refusal does the same work: one read, one hash, one comparison in constant time.
INVARIANT: nothing is cached: each answer is read from the state, so a revoked key is refused at once.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Engine

from gateway.auth.key_store import Claim, KnownKey, read_key, record_key_use, translate_state_errors
from gateway.auth.keys import ApiKey, parse_key
from gateway.auth.login_throttle import LoginThrottle
from gateway.events import Emit, ignore_event

Who = TypeVar("Who")
Who_co = TypeVar("Who_co", covariant=True)

_NOBODYS_HASH = secrets.token_bytes(32)


@dataclass(frozen=True)
class KeyHolder(Generic[Who_co]):
    """An authenticated subject and its key; None if the credential was no API key."""

    who: Who_co
    key_id: str | None


def utc_now() -> datetime:
    return datetime.now(UTC)


class Holders(Generic[Who]):
    """Finds the holder of a key. It waits for the state, so call it from a thread that may wait."""

    def __init__(
        self,
        engine: Engine,
        find_subject: Callable[[str], Who | None],
        *,
        emit: Emit = ignore_event,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._find_subject = find_subject
        self._emit = emit
        self._now = now

    def of_key(self, key: ApiKey, name: str | None = None) -> KeyHolder[Who] | None:
        """The holder of this key; with a name, the key must belong to that name."""
        now = self._now()
        known = self._read(key.id)
        expected = _NOBODYS_HASH if known is None else known.secret_hash
        fits = hmac.compare_digest(key.digest(), expected)
        return self._admitted(known, name, now) if fits else None

    def of_proved(self, key_id: str, name: str) -> KeyHolder[Who] | None:
        """The same for a key that the client proved to have without showing it."""
        now = self._now()
        return self._admitted(self._read(key_id), name, now)

    def still(self, key_id: str | None, name: str) -> Who | None:
        """The subject that logged in with this key, as the policies define it now; None if it may no longer."""
        if key_id is not None:
            known = self._read(key_id)
            if known is None or known.subject != name or not known.is_active(self._now()):
                return None
        return self._find_subject(name)

    def _read(self, key_id: str) -> KnownKey | None:
        with translate_state_errors():
            return read_key(self._engine, key_id)

    def _admitted(
        self, known: KnownKey | None, name: str | None, now: datetime
    ) -> KeyHolder[Who] | None:
        if known is None or not known.is_active(now) or name not in {None, known.subject}:
            return None
        subject = self._find_subject(known.subject)
        if subject is None:
            return None
        record_key_use(self._engine, known, now, self._emit)
        return KeyHolder(subject, known.id)


class Authenticator(Protocol[Who_co]):
    """Authenticates a client; `Who` is the type of a subject."""

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Who_co: ...


class PasswordLogin(Protocol[Who_co]):
    """Authenticates a client by a name and a password in plain text: a key, or a token."""

    def log_in(self, claim: Claim, password: str) -> KeyHolder[Who_co]: ...


class KeyAuthenticator(Generic[Who]):
    """Authenticates subjects by their API keys. It waits for the state, so call it from a thread that may wait."""

    def __init__(
        self,
        engine: Engine,
        find_subject: Callable[[str], Who | None],
        turning_away: LoginThrottle,
        *,
        emit: Emit = ignore_event,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._holders = Holders(engine, find_subject, emit=emit, now=now)
        self._turning_away = turning_away

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Who:
        """The subject whose key this is."""
        if not credential:
            raise self._turning_away.without_credential(address=address, front_end=front_end)
        key = parse_key(credential)
        admitted = None if key is None else self._holders.of_key(key)
        if admitted is None:
            raise self._turning_away.with_bad_credential(
                address=address, front_end=front_end, claimed=None if key is None else key.id
            )
        return admitted.who

    def log_in(self, claim: Claim, password: str) -> KeyHolder[Who]:
        """The same for a client that gives a name; the key must belong to it."""
        key = parse_key(password)
        admitted = None if key is None else self._holders.of_key(key, claim.name)
        if admitted is None:
            raise self._turning_away.from_claim(claim)
        return admitted
