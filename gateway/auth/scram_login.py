"""SCRAM log-in with API keys: the reads of the state between the messages, and the subject at the end.

Neither the messages nor the work reveal whether a name exists, has keys, or has none any more: `begin` makes
the same two reads and one HMAC for every name, `finish` checks one proof and makes one read before it refuses,
and every refusal is handled alike. The remaining differences are whether PostgreSQL found a row by its index,
some microseconds within the waiting time for the state, and that a name with many keys has as many proofs
checked.

`Logins` bundles the ways to log in by name, and the check that long connections repeat.

INVARIANT: a proof alone logs nobody in: the key is read again after the proof, and the subject has to exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from sqlalchemy import Engine

from gateway.auth.authenticator import (
    Holders,
    KeyAuthenticator,
    KeyHolder,
    PasswordLogin,
    Who,
    utc_now,
)
from gateway.auth.issue import Claim
from gateway.auth.login_throttle import LoginThrottle
from gateway.auth.lookup import find_verifiers, translate_state_errors
from gateway.auth.scram import Challenge
from gateway.auth.verifiers import Verifiers, decoy_verifiers
from gateway.errors import Unauthenticated
from gateway.events import Emit, ignore_event

_NO_KEY = ""  # no key has this id


@dataclass(frozen=True)
class LoggedIn(Generic[Who]):
    """The subject that logged in, and the message that authenticates the server to the client."""

    admitted: KeyHolder[Who]
    message: bytes


class ScramLogin(Generic[Who]):
    """Checks proofs. It waits for the state, so call it from a thread that may wait."""

    def __init__(
        self,
        engine: Engine,
        holders: Holders[Who],
        turning_away: LoginThrottle,
        mock_secret: bytes,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._holders = holders
        self._turning_away = turning_away
        self._mock_secret = mock_secret
        self._now = now

    def begin(self, name: str) -> Verifiers:
        """The verifiers for a log-in under this name, whether the name exists or not."""
        nobodys = decoy_verifiers(name, self._mock_secret)
        with translate_state_errors(), self._engine.connect() as connection:
            return find_verifiers(connection, name, self._now()) or nobodys

    def finish(self, claim: Claim, challenge: Challenge, client_final: bytes) -> LoggedIn[Who]:
        """Log in a client that proved to have a key of this name."""
        key_id, message = _NO_KEY, b""
        try:
            proved = challenge.verify(client_final)
            key_id, message = proved.key_id, proved.message
        except Unauthenticated:
            pass  # this read is made for every name
        admitted = self._holders.of_proved(key_id, claim.name)
        if admitted is None:
            raise self._turning_away.from_claim(claim)
        return LoggedIn(admitted, message)


@dataclass(frozen=True)
class Logins(Generic[Who]):
    """The ways to log in. All of them wait for the state, so call them from a thread that may wait."""

    scram: ScramLogin[Who]
    password: PasswordLogin[Who]  # a password in plain text, so inside TLS only
    _holders: Holders[Who]

    def still_valid(self, name: str, key_id: str | None) -> Who | None:
        """The subject as the policies define it now; None if the key or the subject is gone."""
        return self._holders.still(key_id, name)


def scram_logins(
    engine: Engine,
    find_subject: Callable[[str], Who | None],
    turning_away: LoginThrottle,
    mock_secret: bytes,
    *,
    emit: Emit = ignore_event,
    now: Callable[[], datetime] = utc_now,
) -> Logins[Who]:
    """Log-ins with the API keys of a state."""
    holders = Holders(engine, find_subject, emit=emit, now=now)
    scram = ScramLogin(engine, holders, turning_away, mock_secret, now)
    keys = KeyAuthenticator(engine, find_subject, turning_away, emit=emit, now=now)
    return Logins(scram, keys, holders)
