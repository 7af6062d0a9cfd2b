"""The chain: each record's MAC covers its number, its text and the MAC before it.

HMAC-SHA256 under the audit key. Whoever lacks the key can neither change a record, nor take one out,
put one in, double or reorder them without breaking the chain at the first record that differs.
Cutting off the end, or rewriting everything with a stolen key, is what the anchor is for.
"""

import hashlib
import hmac
from dataclasses import dataclass, field

from gateway.store.position import Position


@dataclass(frozen=True)
class ChainKey:
    """The audit key as the chain uses it; it has no text form."""

    secret: bytes = field(repr=False)

    def link(self, before: Position, body: str) -> Position:
        """The position after a record with this body."""
        seq = before.seq + 1
        text = body.encode("ascii")
        message = b"|".join((b"gateway trail v1", b"%d" % seq, before.mac.encode(), text))
        return Position(seq, hmac.digest(self.secret, message, hashlib.sha256).hex())
