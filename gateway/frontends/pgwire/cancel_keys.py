"""Who may stop what a connection does: whoever has the key that it was given when it came in.

The keys are those of this process: a cancel request that comes to another one of several gateways stops nothing there.

INVARIANT: a request with a wrong key does nothing and says nothing; secrets are compared in constant time.
"""

import hmac
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gateway.frontends.pgwire.framing import framed
from gateway.frontends.pgwire.messages import BACKEND_KEY

_LARGEST_PID: Final = 2**31 - 1  # drivers read it as a signed number
_SHORT, _LONG = 4, 32  # bytes of a secret: protocol 3.0 has no room for more
_LONG_SINCE: Final = 2  # the minor version


@dataclass(frozen=True, slots=True)
class CancelKey:
    """What a client sends, on another connection, to have this one's statement stopped."""

    pid: int
    secret: bytes = field(repr=False)

    @property
    def message(self) -> bytes:
        """It as the server tells it to the client."""
        return framed(BACKEND_KEY, self.pid.to_bytes(4) + self.secret)


@dataclass(frozen=True, slots=True)
class _Held:
    secret: bytes = field(repr=False)
    cancel: Callable[[], object]


class Cancelling:
    """The keys of all connections; any thread may ask."""

    def __init__(self, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}

    def register(self, minor: int, cancel: Callable[[], object]) -> CancelKey:
        """A key for a connection that speaks this minor version; `cancel` is called by who has it.

        It is called from wherever `cancel` of this class is, and must not wait.
        """
        secret = secrets.token_bytes(_LONG if minor >= _LONG_SINCE else _SHORT)
        with self._lock:
            pid = 1 + self._draw(_LARGEST_PID)
            while pid in self._held:
                pid = 1 + self._draw(_LARGEST_PID)
            self._held[pid] = _Held(secret, cancel)
        return CancelKey(pid, secret)

    def forget(self, key: CancelKey) -> None:
        """The connection has ended; its number may be given again."""
        with self._lock:
            self._held.pop(key.pid, None)

    def cancel(self, pid: int, secret: bytes) -> None:
        """Stop what the connection does, if this is its key."""
        with self._lock:
            held = self._held.get(pid)
        if held is not None and hmac.compare_digest(secret, held.secret):
            held.cancel()
