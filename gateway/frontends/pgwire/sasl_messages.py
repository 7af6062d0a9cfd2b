"""SASL messages of a log-in, in both directions."""

from typing import Final

from gateway.auth.scram import MECHANISM
from gateway.frontends.pgwire.framing import Malformed, frame_message
from gateway.frontends.pgwire.messages import AUTHENTICATION, BodyReader

_OK, _CLEARTEXT, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 10, 11, 12


def _request(which: int, data: bytes = b"") -> bytes:
    return frame_message(AUTHENTICATION, which.to_bytes(4) + data)


OK: Final = _request(_OK)
ASK_FOR_PASSWORD: Final = _request(_CLEARTEXT)
OFFER: Final = _request(_SASL, MECHANISM.encode() + b"\0\0")


def continue_message(data: bytes) -> bytes:
    return _request(_SASL_CONTINUE, data)


def final_message(data: bytes) -> bytes:
    return _request(_SASL_FINAL, data)


def read_first(body: bytes) -> bytes:
    """The first message of the offered mechanism; a message without data belongs to no mechanism here."""
    reader = BodyReader(body)
    mechanism, data = reader.string(), reader.value()
    reader.end()
    if mechanism != MECHANISM.encode():
        raise Malformed(f"another mechanism than {MECHANISM}")
    if not data:
        raise Malformed(f"{MECHANISM} without its first message")
    return data


def read_password(body: bytes) -> str:
    """The password of a PasswordMessage."""
    reader = BodyReader(body)
    password = reader.string()
    reader.end()
    try:
        return password.decode()
    except UnicodeDecodeError:
        raise Malformed("a password that is not UTF-8") from None
