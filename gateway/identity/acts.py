"""What happens to keys and at the door, as values; whoever wires the gateway records them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gateway.errors import Code


@dataclass(frozen=True)
class KeyCreated:
    """A subject was given a key; `fingerprint` is a hash of all that the state keeps of its secret."""

    key_id: str
    subject: str
    actor: str
    expires_at: datetime | None
    fingerprint: str


@dataclass(frozen=True)
class KeyRevoked:
    """A key stopped working."""

    key_id: str
    subject: str
    actor: str


@dataclass(frozen=True)
class Claim:
    """Somebody at a door who says who he is, before it is known to be true."""

    name: str
    address: str
    front_end: str


@dataclass(frozen=True)
class LoginFailed:
    """Somebody was turned away. `claimed` is the key id or the name they came with, if any.

    With the code `TOO_MANY_FAILURES` this is the one notice of a window: what follows is not recorded.
    """

    front_end: str
    address: str
    claimed: str | None
    code: Code


RecordFailure = Callable[[LoginFailed], None]
