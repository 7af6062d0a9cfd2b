"""API keys: `gwk_<id>_<secret>`, made here once and afterwards known by their hashes alone.

The id is a name for people and logs. The secret is 256 random bits, so nobody guesses one, and one
SHA-256 is a sufficient hash: slow hashes protect secrets that people choose.

INVARIANT: a key has no text form but `reveal()`; the state holds nothing a key can be made from.
"""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass

from pydantic import SecretStr

_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 12
_SECRET_BYTES = 32
_ID = re.compile("[a-z2-7]{12}")
_KEY = re.compile("gwk_([a-z2-7]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class ApiKey:
    """A whole key: what was made or what somebody shows us."""

    id: str
    secret: SecretStr

    def reveal(self) -> str:
        """The key as its owner keeps it."""
        return f"gwk_{self.id}_{self.secret.get_secret_value()}"

    def digest(self) -> bytes:
        """What the state keeps of the secret."""
        return hashlib.sha256(self.secret.get_secret_value().encode()).digest()


def new_key() -> ApiKey:
    """A key nobody has."""
    id_ = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    secret = base64.urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).rstrip(b"=").decode()
    return ApiKey(id_, SecretStr(secret))


def parse_key(text: str) -> ApiKey | None:
    """The key that `text` is, or None when it is not of their form."""
    match = _KEY.fullmatch(text)
    return None if match is None else ApiKey(match[1], SecretStr(match[2]))


def is_key_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None
