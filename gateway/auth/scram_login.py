"""A log-in by SCRAM-SHA-256: what the state is asked between the messages, and who is let in at the end.

Whether a name exists, has keys, or has them no more shows neither in what is said nor in what is done: `begin` makes
the same two reads and one HMAC for every name, `finish` checks one proof and makes one read before it refuses, and what
follows a refusal is the same for all. What is left is whether PostgreSQL found a row by its index, some
microseconds under the waiting for the state itself, and that a name with many keys has as many proofs checked.

INVARIANT: a proof alone lets nobody in: the key is read again when it was proved, and the subject has to be there.

The ways to log in by name, and the question that long connections ask again and again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from sqlalchemy import Engine

from gateway.auth.authenticator import (
    Admitted,
    Holders,
    KeyAuthenticator,
    PasswordLogin,
    Who,
    utc_now,
)
from gateway.auth.issue import Claim
from gateway.auth.login_throttle import TurningAway
from gateway.auth.lookup import find_verifiers, reading_state
from gateway.auth.scram import Challenge
from gateway.auth.verifiers import Verifiers, unknown
from gateway.errors import Unauthenticated
from gateway.events import Emit, silent

_NO_KEY = ""  # no key has this id


@dataclass(frozen=True)
class LoggedIn(Generic[Who]):
    """Who was let in, and the message that proves to the client who we are."""

    admitted: Admitted[Who]
    message: bytes


class ScramLogin(Generic[Who]):
    """Checks proofs. It waits for the state: call it from a thread that may."""

    def __init__(
        self,
        engine: Engine,
        holders: Holders[Who],
        turning_away: TurningAway,
        mock_secret: bytes,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._holders = holders
        self._turning_away = turning_away
        self._mock_secret = mock_secret
        self._now = now

    def begin(self, name: str) -> Verifiers:
        """What a log-in under this name is checked against, whether anybody has it or not."""
        nobodys = unknown(name, self._mock_secret)
        with reading_state(), self._engine.connect() as connection:
            return find_verifiers(connection, name, self._now()) or nobodys

    def finish(self, claim: Claim, challenge: Challenge, client_final: bytes) -> LoggedIn[Who]:
        """Let in who proved to have a key of this name's."""
        key_id, message = _NO_KEY, b""
        try:
            proved = challenge.verify(client_final)
            key_id, message = proved.key_id, proved.message
        except Unauthenticated:
            pass  # the read below is made for everybody
        admitted = self._holders.of_proved(key_id, claim.name)
        if admitted is None:
            raise self._turning_away.from_claim(claim)
        return LoggedIn(admitted, message)


@dataclass(frozen=True)
class Logins(Generic[Who]):
    """All of them wait for the state: call them from a thread that may."""

    scram: ScramLogin[Who]
    password: PasswordLogin[Who]  # what is shown as it is, so inside TLS only
    _holders: Holders[Who]

    def still_valid(self, name: str, key_id: str | None) -> Who | None:
        """The subject as the policies have it now; None when the key or the subject is gone."""
        return self._holders.still(key_id, name)


def logins_on(
    engine: Engine,
    find_subject: Callable[[str], Who | None],
    turning_away: TurningAway,
    mock_secret: bytes,
    *,
    emit: Emit = silent,
    now: Callable[[], datetime] = utc_now,
) -> Logins[Who]:
    """Log-ins with the API keys of a state."""
    holders = Holders(engine, find_subject, emit=emit, now=now)
    scram = ScramLogin(engine, holders, turning_away, mock_secret, now)
    keys = KeyAuthenticator(engine, find_subject, turning_away, emit=emit, now=now)
    return Logins(scram, keys, holders)
