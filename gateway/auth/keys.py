"""API keys, `gwk_<id>_<secret>`, their hashes, and the durations for which they are valid.

The id is a name for people and logs. The secret is 256 random bits, which nobody can guess, so one SHA-256 is a
sufficient hash: slow hashes protect secrets that people choose. Durations are written as `30m`, `12h`, `90d`,
`4w`.

INVARIANT: a key has no text form but `reveal()`; the state stores nothing that a key can be made from.
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
