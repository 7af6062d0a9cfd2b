"""API keys: `gwk_<id>_<secret>`, made here once and afterwards known by their hashes alone.

The id is a name for people and logs. The secret is 256 random bits, so nobody guesses one, and one
SHA-256 is a sufficient hash: slow hashes protect secrets that people choose.

INVARIANT: a key has no text form but `reveal()`; the state holds nothing a key can be made from.

How long a key lasts, as people type it: `30m`, `12h`, `90d`, `4w`.
"""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass
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
    """The time span `text` names."""
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
