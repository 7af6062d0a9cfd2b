"""A credential in, a subject out, or a refusal that says nothing about why.

`Authenticator` is what front ends know; `KeyAuthenticator` is the one there is, for API keys.

INVARIANT: every path to a refusal does the same: one read, one hash, one comparison in constant time.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Generic, Protocol

from sqlalchemy import Engine

from gateway.events import Emit, silent
from gateway.identity.acts import Claim
from gateway.identity.holders import Admitted, Holders, Who, Who_co, utc_now
from gateway.identity.keys import parse_key
from gateway.identity.turning_away import TurningAway


class Authenticator(Protocol[Who_co]):
    """Tells who is asking; `Who` is what the wiring calls a subject."""

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Who_co: ...


class PasswordLogin(Protocol[Who_co]):
    """Lets somebody in who names himself and shows a password as it is: a key, or a token."""

    def log_in(self, claim: Claim, password: str) -> Admitted[Who_co]: ...


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

    def log_in(self, claim: Claim, password: str) -> Admitted[Who]:
        """The same for somebody who says who he is; the key has to be his own."""
        key = parse_key(password)
        admitted = None if key is None else self._holders.of_key(key, claim.name)
        if admitted is None:
            raise self._turning_away.from_claim(claim)
        return admitted
