"""SCRAM-SHA-256 verifiers of keys (RFC 5802, RFC 7677), which the state stores to check proofs.

The password is the whole key. Keys are ASCII, so SASLprep would change nothing and is left out. The salt is
sent before the proof arrives, so all keys of a subject share one salt and one iteration count. 4096 iterations
are the standard's minimum and enough: iterations slow down guessing of passwords that people choose, and a key
carries 256 random bits.

INVARIANT: neither `stored_key` nor `server_key` is enough to log in; both stay out of every repr.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from gateway.auth.keys import ApiKey

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
