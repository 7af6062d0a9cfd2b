"""What the state keeps of a key for SCRAM-SHA-256 (RFC 5802, RFC 7677): enough to check a proof.

The password is the whole key. Keys are ASCII, so SASLprep would change nothing and is left out. The
salt is sent before the proof comes, so all keys of a subject share one salt and one iteration count.
4096 iterations are the standard's minimum and enough: iterations slow down the guessing of passwords
that people choose, and a key carries 256 random bits.

INVARIANT: neither `stored_key` nor `server_key` logs anybody in; both stay out of every repr.
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
    """What a client needs to know before it can prove anything."""

    salt: bytes
    iterations: int


@dataclass(frozen=True)
class Verifier:
    """One key, as far as a server knows it."""

    key_id: str
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True)
class Verifiers:
    """Everything that a log-in under one name is checked against."""

    salt: Salt
    keys: tuple[Verifier, ...]


def new_salt() -> Salt:
    return Salt(secrets.token_bytes(_SALT_BYTES), ITERATIONS)


def verifier_of(key: ApiKey, salt: Salt) -> Verifier:
    stored_key, server_key = derive(key.reveal(), salt)
    return Verifier(key.id, stored_key, server_key)


def derive(password: str, salt: Salt) -> tuple[bytes, bytes]:
    """StoredKey and ServerKey of an ASCII password."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt.salt, salt.iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256")


def mock_secret(audit_key: bytes) -> bytes:
    """What `unknown` salts are made of: equal for all processes of a state, and in no database.

    The label keeps it apart from all that the audit key signs, which begins otherwise.
    """
    return hmac.digest(audit_key, b"gateway mock scram salts v1", "sha256")


def unknown(name: str, server_secret: bytes) -> Verifiers:
    """For a name that has no keys: a salt that stays the same, so that nobody learns who exists."""
    said = b"gateway scram salt v1\0" + name.encode("utf-8", "surrogateescape")
    return Verifiers(Salt(hmac.digest(server_secret, said, "sha256")[:_SALT_BYTES], ITERATIONS), ())
