"""Malformed messages of every kind that a client may send, made from valid ones.

A message keeps its letter and has the right length; its body is cut, lengthened, has other counts and lengths
inside, or lacks the end of a string.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from frontends.pgwire.conversations import COUNT, OF_REGION
from frontends.pgwire.packets import message

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse

_COUNTS: Final = (b"\xff\xff", b"\x20\0", b"\0\2")
_LENGTHS: Final = (b"\xff\xff\xff\xfe", b"\0\0\0\x64", b"\x7f\xff\xff\xff")
_SURPLUS: Final = (b"\0", b"x", b"\0\0\0\1")
_HEADER: Final = 5


@dataclass(frozen=True)
class Valid:
    """A valid message; a mutant keeps `text` whole or ends within it."""

    whole: bytes
    text: bytes = b""

    @property
    def letter(self) -> str:
        return chr(self.whole[0])


QUESTION: Final = Parse(b"", OF_REGION.encode(), (25,)).write()
BIND: Final = Bind(b"", b"", (0,), (b"north",), (0,)).write()
EXECUTE: Final = ExecutePortal(b"", 0).write()

VALID: Final = (
    Valid(QUESTION, OF_REGION.encode()),
    Valid(Parse(b"a", b"SELECT $1", (23, 0)).write(), b"SELECT $1"),
    Valid(BIND),
    Valid(Bind(b"p", b"", (), (b"north",), ()).write()),
    Valid(NamedObject(b"S", b"").write(messages.DESCRIBE)),
    Valid(NamedObject(b"P", b"").write(messages.DESCRIBE)),
    Valid(EXECUTE),
    Valid(NamedObject(b"S", b"a").write(messages.CLOSE)),
    Valid(messages.FLUSHING),
    Valid(messages.SYNCING),
    Valid(messages.query(COUNT.encode()), COUNT.encode()),
    Valid(messages.query(b"SELECT 1"), b"SELECT 1"),
)


def mutants(valid: Valid, draw: random.Random, most: int) -> list[bytes]:
    """At most so many mutants of a message, framed with the right length."""
    body = valid.whole[_HEADER:]
    found = [
        one for one in dict.fromkeys(bodies(body)) if valid.text in one or body.startswith(one)
    ]
    return [message(valid.letter, one) for one in draw.sample(found, min(most, len(found)))]


def bodies(body: bytes) -> Iterator[bytes]:
    """The body cut, lengthened, with other numbers inside, and without each of its zero bytes."""
    for place in range(len(body)):
        yield body[:place]
        if body[place : place + 1] == b"\0":
            yield body[:place] + body[place + 1 :]
        for other in (*_COUNTS, *_LENGTHS):
            if place + len(other) <= len(body):
                yield body[:place] + other + body[place + len(other) :]
    for more in _SURPLUS:
        yield body + more
