"""The ways to log in by name, and the question that long connections ask again and again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from sqlalchemy import Engine

from gateway.events import Emit, silent
from gateway.identity.authenticator import KeyAuthenticator, PasswordLogin
from gateway.identity.holders import Holders, Who, utc_now
from gateway.identity.scram_login import ScramLogin
from gateway.identity.turning_away import TurningAway


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
