"""SCRAM-SHA-256 as a server, and log-ins with a name and a proof.

The exchange is without I/O: two messages in, two messages out. `challenge` answers the client's first message; the
returned `Challenge` checks the second one and returns a `ClientProof`. The front end frames the messages and
records the outcome.

Channel binding is not offered, so a client says `n` or `y`. The name inside the messages is ignored, as in
PostgreSQL: the name is given when the connection starts.

A log-in reads the state between the messages, and gives the subject at the end. Neither the messages nor the work
reveal whether a name exists, has keys, or has none any more: `begin` makes the same two reads and one HMAC for
every name, `finish` checks one proof and makes one read before it refuses, and every refusal is handled alike. The
remaining differences are whether PostgreSQL found a row by its index, some microseconds within the waiting time
for the state, and that a name with many keys has as many proofs checked.

`Logins` bundles the ways to log in by name, and the check that long connections repeat.

INVARIANT: the work depends on the number of the name's keys alone, never on which of them fits or on whether any
does; a name without keys costs as much as a name with one.
INVARIANT: a proof alone logs nobody in: the key is read again after the proof, and the subject has to exist.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic

from sqlalchemy import Engine

from gateway.auth.authenticator import (
    Holders,
    KeyAuthenticator,
    KeyHolder,
    PasswordLogin,
    Who,
    utc_now,
)
from gateway.auth.key_store import Claim, find_verifiers, translate_state_errors
from gateway.auth.keys import Verifier, Verifiers, decoy_verifiers
from gateway.auth.login_throttle import LoginThrottle
from gateway.errors import Code, SyntaxRefused, Unauthenticated
from gateway.events import Emit, ignore_event

MECHANISM: Final = "SCRAM-SHA-256"
_LONGEST_MESSAGE: Final = 2048
_NONCE_BYTES: Final = 18
_PROOF_BYTES: Final = 32

_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = r"(?:,[A-Za-z]=[^,\0]+)*"
_BASE64 = r"[A-Za-z0-9+/]+={0,2}"
_FIRST = re.compile(
    rf"(?P<gs2>(?P<binding>[ny]|p=[A-Za-z0-9.-]+),(?P<authzid>a=[^,\0]*)?,)"
    rf"(?P<bare>n=[^,\0]*,r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
)
_FINAL = re.compile(
    rf"(?P<unproved>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
    rf",p=(?P<proof>{_BASE64})"
)
_DECOY = Verifier("", secrets.token_bytes(_PROOF_BYTES), secrets.token_bytes(_PROOF_BYTES))


@dataclass(frozen=True)
class ClientProof:
    """The client holds this key; `message` proves to it that the server knows the key too."""

    key_id: str
    message: bytes


@dataclass(frozen=True)
class Challenge:
    """The server's first message, and the values that check the answer to it."""

    message: bytes
    verifiers: Verifiers = field(repr=False)
    nonce: str = field(repr=False)
    gs2_header: str = field(repr=False)
    client_first_bare: str = field(repr=False)

    def verify(self, client_final: bytes) -> ClientProof:
        """The proof in the client's last message, or a refusal."""
        match = _FINAL.fullmatch(_text(client_final))
        if match is None:
            raise _malformed("the final message is malformed")
        proof = _decoded(match["proof"])
        if len(proof) != _PROOF_BYTES or _decoded(match["binding"]) != self.gs2_header.encode():
            raise _malformed("the proof or the channel binding is wrong")
        if match["nonce"] != self.nonce:
            raise _malformed("the nonce belongs to another exchange")
        said = f"{self.client_first_bare},{self.message.decode()},{match['unproved']}".encode()
        proved = [
            verifier
            for verifier in self.verifiers.keys or (_DECOY,)
            if _proves(proof, said, verifier.stored_key)
        ]
        if not proved:
            raise Unauthenticated(Code.BAD_CREDENTIALS)
        signature = hmac.digest(proved[0].server_key, said, "sha256")
        return ClientProof(proved[0].key_id, b"v=" + base64.b64encode(signature))


def random_nonce() -> str:
    return base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()


def challenge(
    client_first: bytes, verifiers: Verifiers, new_nonce: Callable[[], str] = random_nonce
) -> Challenge:
    """Answer the client's first message."""
    match = _FIRST.fullmatch(_text(client_first))
    if match is None:
        raise _malformed("the first message is malformed")
    if match["binding"].startswith("p"):
        raise _malformed("channel binding is not supported")
    if match["authzid"]:
        raise _malformed("an authorization identity is not supported")
    nonce = match["nonce"] + new_nonce()
    salt = verifiers.salt
    message = f"r={nonce},s={base64.b64encode(salt.salt).decode()},i={salt.iterations}"
    return Challenge(message.encode(), verifiers, nonce, match["gs2"], match["bare"])


def _proves(proof: bytes, said: bytes, stored_key: bytes) -> bool:
    signature = hmac.digest(stored_key, said, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), stored_key)


def _text(message: bytes) -> str:
    if len(message) > _LONGEST_MESSAGE:
        raise _malformed(f"the message is longer than {_LONGEST_MESSAGE} bytes")
    try:
        return message.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("the message is not UTF-8") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _malformed("the base64 is not valid") from None


def _malformed(how: str) -> SyntaxRefused:
    return SyntaxRefused(Code.BAD_REQUEST, f"{MECHANISM}: {how}")


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
