"""What a conversation without I/O asks of whoever does the I/O.

A conversation is a generator. It yields a step, and is sent what the step asks for:

- `Send(data)`: write these bytes. Sent back: anything.
- `Read()`: sent back are the next bytes of the client, as many as came, at most 64 KiB; `b""` when it has gone.
- `StartTls(answer, came)`: write `answer`, then shake hands as the server; `came` are bytes of the client's that belong
  to the handshake already. Sent back is the ALPN name that was agreed on, or None. Nothing that was received before,
  `came` apart, may be left over anywhere: whoever has such bytes ends the connection instead.
- `Look(call)`: run `call()` in a thread that may wait. Sent back: anything; what it raises is thrown into the generator.

How long a client may take for all of it is the driver's to say; it ends a conversation by `close()`.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes


@dataclass(frozen=True, slots=True)
class Read:
    pass


@dataclass(frozen=True, slots=True)
class StartTls:
    answer: bytes
    came: bytes = b""


@dataclass(frozen=True, slots=True)
class Look:
    call: Callable[[], object] = field(repr=False)


Step: TypeAlias = Send | Read | StartTls | Look
Conversation: TypeAlias = Generator[Step, object, Found]


def look(call: Callable[[], Found]) -> Conversation[Found]:
    """What the call returns; it keeps its type, whatever the driver sends back."""
    found: list[Found] = []
    yield Look(lambda: found.append(call()))
    return found[0]
