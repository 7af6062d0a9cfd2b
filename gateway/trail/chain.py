"""Chain of trail records: each record's MAC covers its number, its text and the MAC before it.

The MAC is HMAC-SHA256 under the audit key. Without the key nobody can change, remove, insert, double or reorder
records without breaking the chain at the first record that differs. The anchor detects a cut-off end, and a
rewrite with a stolen key.

A record has one canonical text. Keys are sorted and everything outside printable ASCII is escaped, so a record
is one line whatever an analyst wrote: no newline, escape sequence, control or direction character remains as
itself. Floats are refused, because two programs may print one float in two ways; so are keys that are not text,
because `1` and `"1"` would read alike.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.json_form import Json
from gateway.state.anchor import Position


@dataclass(frozen=True)
class ChainKey:
    """The audit key in the form that the chain uses; it has no text form."""

    secret: bytes = field(repr=False)

    def link(self, before: Position, body: str) -> Position:
        """The position after a record with this body."""
        seq = before.seq + 1
        text = body.encode("ascii")
        message = b"|".join((b"gateway trail v1", b"%d" % seq, before.mac.encode(), text))
        return Position(seq, hmac.digest(self.secret, message, hashlib.sha256).hex())


_ENCODE = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode
_DELETE = "\x7f"  # the one unprintable ASCII character that json leaves alone


def canonical_json(value: Json) -> str:
    return _ENCODE(_plain(value)).replace(_DELETE, "\\u007f")


def _plain(value: object) -> object:
    """The same value, made of types that json writes in one way only.

    The exact types come first: nearly every value has one of them, and every query pays for this.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict and all(type(key) is str for key in value):  # type: ignore[attr-defined]  # a dict
        return {key: _plain(member) for key, member in value.items()}  # type: ignore[attr-defined]  # a dict
    if kind is tuple or kind is list:
        return [_plain(member) for member in value]  # type: ignore[attr-defined]  # a sequence
    return _plain_of_a_kind(value)


def _plain_of_a_kind(value: object) -> object:
    if isinstance(value, str | int):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(member) for member in value]
    raise TypeError(f"a {type(value).__name__} has no canonical form")
