"""The HMAC chain of the trail, its key, and the canonical text of records.

Each record's MAC covers its number, its text and the MAC before it. The MAC is HMAC-SHA256 under the audit key.
Without the key nobody can change, remove, insert, double or reorder records without breaking the chain at the
first record that differs. The anchor detects a cut-off end, and a rewrite with a stolen key.

A record has one canonical text. Keys are sorted and everything outside printable ASCII is escaped, so a record is
one line whatever an analyst wrote: no newline, escape sequence, control or direction character remains as itself.
Floats are refused, because two programs may print one float in two ways; so are keys that are not text, because
`1` and `"1"` would read alike.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gateway.config import Settings
from gateway.errors import Code, OperatorError
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


_SHORTEST = 16
_GENERATED_BYTES = 32


def load_audit_key(settings: Settings) -> ChainKey:
    """The key that the settings name. A key is generated only if none was ever used: see `audit.key`."""
    if settings.audit_key is not None:
        return _checked(os.fsencode(settings.audit_key.get_secret_value()), "GATEWAY_AUDIT_KEY")
    if settings.audit_key_file is not None:
        return _read(settings.audit_key_file)
    generated = settings.home / "audit.key"
    if not generated.exists():
        _generate(generated)
    return _read(generated)


def _read(path: Path) -> ChainKey:
    try:
        return _checked(path.read_bytes().strip(), str(path))
    except OSError as error:
        raise OperatorError(
            Code.SETTING_INVALID,
            f"the audit key `{path}` cannot be read: {error.strerror}",
            "GATEWAY_AUDIT_KEY_FILE must name a file that the gateway may read",
        ) from None


def _checked(key: bytes, where: str) -> ChainKey:
    if len(key) < _SHORTEST:
        raise OperatorError(
            Code.SETTING_INVALID,
            f"the audit key from `{where}` is shorter than {_SHORTEST} bytes",
            "make one with `openssl rand -hex 32`",
        )
    return ChainKey(key)


def _generate(path: Path) -> None:
    """Write a new key so that a crash leaves a whole key or none, and two starting gateways agree."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as handle:
            handle.write(secrets.token_hex(_GENERATED_BYTES).encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            return
        finally:
            fresh.unlink()
    except OSError as error:
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"the audit key cannot be written to `{path.parent}`: {error.strerror}",
        ) from None
