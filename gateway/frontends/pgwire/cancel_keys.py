"""Cancel keys: a client that has a connection's key may cancel its statement.

The keys belong to this process: a cancel request that reaches another one of several gateways has no effect
there.

INVARIANT: a request with a wrong key has no effect and no answer; secrets are compared in constant time.
"""

import hmac
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gateway.frontends.pgwire.framing import frame_message
from gateway.frontends.pgwire.messages import BACKEND_KEY

_LARGEST_PID: Final = 2**31 - 1  # drivers read it as a signed number
_SHORT, _LONG = 4, 32  # bytes of a secret: protocol 3.0 has no room for more
_LONG_SINCE: Final = 2  # the minor version


@dataclass(frozen=True, slots=True)
class CancelKey:
    """The key that a client sends, on another connection, to cancel this one's statement."""

    pid: int
    secret: bytes = field(repr=False)

    @property
    def message(self) -> bytes:
        """The message that gives the key to the client."""
        return frame_message(BACKEND_KEY, self.pid.to_bytes(4) + self.secret)


@dataclass(frozen=True, slots=True)
class _Held:
    secret: bytes = field(repr=False)
    cancel: Callable[[], object]


class CancelRegistry:
    """The keys of all connections; thread-safe."""

    def __init__(self, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}

    def register(self, minor: int, cancel: Callable[[], object]) -> CancelKey:
        """A key for a connection that speaks this minor version; `cancel` is called for a request with the key.

        It is called in the thread of the request and must not wait.
        """
        secret = secrets.token_bytes(_LONG if minor >= _LONG_SINCE else _SHORT)
        with self._lock:
            pid = 1 + self._draw(_LARGEST_PID)
            while pid in self._held:
                pid = 1 + self._draw(_LARGEST_PID)
            self._held[pid] = _Held(secret, cancel)
        return CancelKey(pid, secret)

    def forget(self, key: CancelKey) -> None:
        """The connection has ended; its number may be used again."""
        with self._lock:
            self._held.pop(key.pid, None)

    def cancel(self, pid: int, secret: bytes) -> None:
        """Cancel the connection's statement, if this is its key."""
        with self._lock:
            held = self._held.get(pid)
        if held is not None and hmac.compare_digest(secret, held.secret):
            held.cancel()
