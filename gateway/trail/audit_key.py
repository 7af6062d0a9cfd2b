"""Audit key: from the settings, read from a file, or generated once and stored beside the state."""

import os
import secrets
from pathlib import Path

from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.trail.chain import ChainKey

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
