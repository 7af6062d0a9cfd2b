"""Fuzzing the decoder and the entrance: random bytes, and streams of real messages that were broken up.

`python -m frontends.pgwire.fuzz SECONDS [SEED]` from `tests/`. Anything but messages or Malformed is raised with
its seed, and so is a conversation that lets somebody in.
"""

import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from frontends.pgwire.packets import GSS_REQUEST, SSL_REQUEST, Scram, message, startup

from gateway.auth.scram import Logins
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.framing import Frames, Malformed
from gateway.frontends.pgwire.handshake import LoggedInClient, Look, Read, Step, log_in
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.startup import CancelRequest
from gateway.policy.subjects import Subject

_LONGEST = 4096
_CHUNK = 700
_MESSAGES = (
    Parse(b"s", b"SELECT $1", (23, 0)).write(),
    Bind(b"p", b"s", (1, 0), (b"12", None), (1,)).write(),
    NamedObject(b"S", b"s").write(messages.DESCRIBE),
    NamedObject(b"P", b"p").write(messages.CLOSE),
    ExecutePortal(b"p", 100).write(),
    messages.SYNCING,
    messages.query(b"SELECT count(*) FROM visits"),
    messages.fields_message(messages.ERROR, {"S": "ERROR", "C": "42501", "M": "no"}),
    message("D", b"\0\2\0\0\0\1x\xff\xff\xff\xff"),
    message("t", b"\0\1\0\0\0\x17"),
)
_PACKETS = (
    SSL_REQUEST,
    GSS_REQUEST,
    startup(user="alice", options="-c jit=off", client_encoding="UTF8"),
    Scram("guess").first(),
    message("p", b"c=biws,r=x,p=" + b"A" * 43 + b"="),
)


@dataclass
class Kinds:
    """What came of it."""

    whole: int = 0
    understood: int = 0
    malformed: int = 0
    most_kept: int = 0
    limit: int = _LONGEST + _CHUNK


def fuzz(chance: random.Random, rounds: int) -> Kinds:
    """Break up so many streams, and read each."""
    kinds = Kinds()
    for _ in range(rounds):
        _decode(_broken(chance, _MESSAGES), kinds, chance)
        _come(_broken(chance, _PACKETS), chance)
    return kinds


def _decode(stream: bytes, kinds: Kinds, chance: random.Random) -> None:
    frames = Frames(_LONGEST)
    try:
        while stream:
            cut = chance.randint(1, _CHUNK)
            for frame in frames.feed(stream[:cut]):
                kinds.whole += 1
                kinds.understood += _read(frame.body)
            kinds.most_kept = max(kinds.most_kept, frames.waiting)
            stream = stream[cut:]
    except Malformed:
        kinds.malformed += 1


def _read(body: bytes) -> int:
    """Read a body as every kind of message, whatever its letter; how many understood it."""
    readers: tuple[Callable[[bytes], object], ...] = (
        *(Parse.read, Bind.read, NamedObject.read, ExecutePortal.read, messages.read_query),
        *(messages.read_fields, messages.read_types, messages.read_row),
        *(messages.read_first, messages.read_password),
    )
    understood = 0
    for read in readers:
        with suppress(Malformed):
            read(body)
            understood += 1
    return understood


def _come(stream: bytes, chance: random.Random) -> None:
    """Knock with these bytes; nothing that was broken lets in, and nothing but the end comes of it."""
    logins: Logins[Subject] = None  # type: ignore[assignment]  # whoever gets as far as a look is sent away
    conversation = log_in(logins, address="192.0.2.1", tls=chance.random() < 0.5)
    outcome: LoggedInClient | CancelRequest | None = None
    try:
        step: Step = next(conversation)
        while not isinstance(step, Look):
            given: object = None
            if isinstance(step, Read):
                cut = chance.randint(1, _CHUNK)
                given, stream = stream[:cut], stream[cut:]
            step = conversation.send(given)
        conversation.close()
    except StopIteration as stop:
        outcome = stop.value
    assert not isinstance(outcome, LoggedInClient), "somebody came in"


def _broken(chance: random.Random, parts: tuple[bytes, ...]) -> bytes:
    """Some of the parts one after the other, and then whatever goes wrong with bytes."""
    stream = bytearray(b"".join(chance.choices(parts, k=chance.randint(1, 6))))
    for _ in range(chance.choice((0, 1, 1, 2, 8))):
        at = chance.randrange(len(stream) + 1)
        match chance.randrange(5):
            case 0:
                stream[at : at + 1] = chance.randbytes(1)
            case 1:
                del stream[at : at + chance.randint(1, 9)]
            case 2:
                stream[at:at] = chance.randbytes(chance.randint(1, 9))
            case 3:
                stream[at:at] = chance.choice(parts)
            case _:
                stream[at : at + 4] = chance.choice(
                    (b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\x40\0\0\0", b"\0\0\x10\0")
                )
    return bytes(stream) if chance.random() < 0.9 else chance.randbytes(chance.randint(0, 600))


def main() -> int:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns()
    print(f"seed {seed}")  # noqa: T201
    ends, rounds = time.monotonic() + seconds, 0
    chance = random.Random(seed)  # noqa: S311  # it has to be the same again
    while time.monotonic() < ends:
        kinds = fuzz(chance, 1000)
        rounds += 1000
        if kinds.most_kept > kinds.limit:
            raise AssertionError(f"{kinds.most_kept} bytes were kept")
    print(f"{rounds} streams, and no crash")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
