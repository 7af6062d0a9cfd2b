"""What a client sends before it is let in: packets first, which have no letter, and messages later.

INVARIANT: a length is looked at before what it announces is waited for, so that never more is kept than the longest
packet or message and what came with its end.
"""

from typing import Final

from gateway.frontends.pgwire.frames import HEADER, Malformed
from gateway.frontends.pgwire.steps import Conversation, Read

LONGEST_PACKET: Final = 10_000
TLS_HANDSHAKE: Final = 0x16
_LENGTH_BYTES: Final = 4
_SHORTEST_PACKET: Final = 8


class Dropped(Exception):
    """The connection ends without a word: nobody is there, or nobody who speaks our protocol."""


class Incoming:
    """The client's bytes in order; `rest` is what came and was not read yet."""

    def __init__(self) -> None:
        self.rest = b""

    def begins_with_tls(self) -> Conversation[bool]:
        """Whether the client shakes hands without having asked."""
        yield from self._until(1)
        return self.rest[0] == TLS_HANDSHAKE

    def packet(self) -> Conversation[bytes]:
        """The next packet without its length."""
        yield from self._until(_LENGTH_BYTES)
        length = int.from_bytes(self.rest[:_LENGTH_BYTES])
        if not _SHORTEST_PACKET <= length <= LONGEST_PACKET:
            raise Dropped
        yield from self._until(length)
        return self._take(length)[_LENGTH_BYTES:]

    def message(self, kind: int, longest: int) -> Conversation[bytes]:
        """The body of the next message, which has to be of this kind."""
        yield from self._until(1)
        if self.rest[0] != kind:
            raise Malformed("another message than the one that is waited for")
        yield from self._until(HEADER)
        length = int.from_bytes(self.rest[1:HEADER])
        if not _LENGTH_BYTES <= length <= longest:
            raise Malformed(f"a message of more than {longest} bytes, or of less than none")
        yield from self._until(length + 1)
        return self._take(length + 1)[HEADER:]

    def _until(self, many: int) -> Conversation[None]:
        while len(self.rest) < many:
            came = yield Read()
            if not isinstance(came, bytes) or not came:
                raise Dropped
            self.rest += came

    def _take(self, many: int) -> bytes:
        taken, self.rest = self.rest[:many], self.rest[many:]
        return taken
