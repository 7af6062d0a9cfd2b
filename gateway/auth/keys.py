"""API keys: their text, their expiry, and their SCRAM verifiers.

A key is `gwk_<id>_<secret>`. The id is a name for people and logs. The secret is 256 random bits, which nobody can
guess, so one SHA-256 is a sufficient hash: slow hashes protect secrets that people choose. Durations are written
as `30m`, `12h`, `90d`, `4w`.

The state stores SCRAM-SHA-256 verifiers of keys (RFC 5802, RFC 7677) to check proofs. The password is the whole
key. Keys are ASCII, so SASLprep would change nothing and is left out. The salt is sent before the proof arrives,
so all keys of a subject share one salt and one iteration count. 4096 iterations are the standard's minimum and
enough: iterations slow down guessing of passwords that people choose, and a key carries 256 random bits.

INVARIANT: a key has no text form but `reveal()`; the state stores nothing that a key can be made from.
INVARIANT: neither `stored_key` nor `server_key` is enough to log in; both stay out of every repr.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from pydantic import SecretStr

from gateway.errors import Code, OperatorError

_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 12
_SECRET_BYTES = 32
_ID = re.compile("[a-z2-7]{12}")
_KEY = re.compile("gwk_([a-z2-7]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class ApiKey:
    """A whole key, created here or shown by a client."""

    id: str
    secret: SecretStr

    def reveal(self) -> str:
        """The text of the key, for its owner."""
        return f"gwk_{self.id}_{self.secret.get_secret_value()}"

    def digest(self) -> bytes:
        """The hash of the secret, which the state stores."""
        return hashlib.sha256(self.secret.get_secret_value().encode()).digest()


def new_key() -> ApiKey:
    """A new random key."""
    id_ = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    secret = base64.urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).rstrip(b"=").decode()
    return ApiKey(id_, SecretStr(secret))


def parse_key(text: str) -> ApiKey | None:
    """The key written as `text`, or None if it has another form."""
    match = _KEY.fullmatch(text)
    return None if match is None else ApiKey(match[1], SecretStr(match[2]))


def is_key_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


LONGEST: Final = timedelta(days=3653)  # ten years with their leap days

_DURATION = re.compile("([1-9][0-9]{0,8})([mhdw])")
_UNITS = MappingProxyType(
    {
        "m": timedelta(minutes=1),
        "h": timedelta(hours=1),
        "d": timedelta(days=1),
        "w": timedelta(weeks=1),
    }
)


def parse_duration(text: str) -> timedelta:
    """The time span written as `text`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{text[:40]}` is not a duration",
            "write a whole number and a unit, such as `30m`, `12h`, `90d` or `4w`",
        )
    number, unit = match.groups()
    duration = int(number) * _UNITS[unit]
    if duration > LONGEST:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{text}` is longer than ten years",
            "leave it out for a key that does not expire",
        )
    return duration


ITERATIONS: Final = 4096
_SALT_BYTES: Final = 16


@dataclass(frozen=True)
class Salt:
    """The parameters that a client needs for a proof."""

    salt: bytes
    iterations: int


@dataclass(frozen=True)
class Verifier:
    """One key in the form that the server stores."""

    key_id: str
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True)
class Verifiers:
    """The salt and all verifiers of one name."""

    salt: Salt
    keys: tuple[Verifier, ...]


def new_salt() -> Salt:
    return Salt(secrets.token_bytes(_SALT_BYTES), ITERATIONS)


def verifier_of(key: ApiKey, salt: Salt) -> Verifier:
    stored_key, server_key = derive_keys(key.reveal(), salt)
    return Verifier(key.id, stored_key, server_key)


def derive_keys(password: str, salt: Salt) -> tuple[bytes, bytes]:
    """StoredKey and ServerKey of an ASCII password."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt.salt, salt.iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256")


def mock_secret(audit_key: bytes) -> bytes:
    """The secret behind the salts of unknown names: equal for all processes of a state, and in no database.

    The label separates it from everything that the audit key signs, which begins otherwise.
    """
    return hmac.digest(audit_key, b"gateway mock scram salts v1", "sha256")


def decoy_verifiers(name: str, server_secret: bytes) -> Verifiers:
    """Verifiers of a name without keys: its salt stays the same, so that a client cannot find out which names
    exist.
    """
    said = b"gateway scram salt v1\0" + name.encode("utf-8", "surrogateescape")
    return Verifiers(Salt(hmac.digest(server_secret, said, "sha256")[:_SALT_BYTES], ITERATIONS), ())
