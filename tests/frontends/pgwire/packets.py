"""What a client sends while it comes in, and what a server answers, written from PostgreSQL's manual.

None of it is shared with the server's side.
"""

import base64
import hashlib
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

SSL_REQUEST = struct.pack("!IHH", 8, 1234, 5679)
GSS_REQUEST = struct.pack("!IHH", 8, 1234, 5680)
V3, V32 = 3 << 16, 3 << 16 | 2


def startup(version: int = V3, /, **parameters: str) -> bytes:
    return startup_of(version, list(parameters.items()))


def startup_of(version: int, parameters: list[tuple[str, str]]) -> bytes:
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters)
    return packet(struct.pack("!I", version) + pairs + b"\0")


def packet(body: bytes) -> bytes:
    return struct.pack("!I", len(body) + 4) + body


def cancel(pid: int, secret: bytes) -> bytes:
    return packet(struct.pack("!HHi", 1234, 5678, pid) + secret)


def message(kind: str, body: bytes = b"") -> bytes:
    return kind.encode() + struct.pack("!I", len(body) + 4) + body


def told(stream: bytes) -> list[tuple[str, bytes]]:
    """A server's messages: their letters and bodies."""
    return list(_told(stream))


def _told(stream: bytes) -> Iterator[tuple[str, bytes]]:
    while stream:
        (length,) = struct.unpack("!I", stream[1:5])
        assert len(stream) > length, "a message that is not whole"
        yield chr(stream[0]), stream[5 : length + 1]
        stream = stream[length + 1 :]


def error_of(stream: bytes) -> dict[str, str]:
    """The fields of the error that a stream ends with."""
    kind, body = told(stream)[-1]
    assert kind == "E"
    assert body.endswith(b"\0\0")
    return {part[:1].decode(): part[1:].decode() for part in body[:-2].split(b"\0")}


@dataclass
class Scram:
    """A client's side of SCRAM-SHA-256 (RFC 5802)."""

    password: str
    gs2: str = "n,,"
    nonce: str = "rOprNGfwEbeRWgbNEkqO"
    name: str = ""
    challenge: dict[str, str] = field(default_factory=dict)
    signature: bytes = b""

    @property
    def bare(self) -> str:
        return f"n={self.name},r={self.nonce}"

    def first(self) -> bytes:
        data = f"{self.gs2}{self.bare}".encode()
        return initial(b"SCRAM-SHA-256", data)

    def final(self, answer: bytes) -> bytes:
        """The last message, to what the server answered."""
        ((kind, body),) = told(answer)
        assert (kind, body[:4]) == ("R", b"\0\0\0\x0b")
        said = body[4:].decode()
        self.challenge = {part[0]: part[2:] for part in said.split(",")}
        assert self.challenge["r"].startswith(self.nonce)
        return self.proof(said, self.challenge["r"])

    def proof(self, said: str, nonce: str) -> bytes:
        salt, rounds = base64.b64decode(self.challenge["s"]), int(self.challenge["i"])
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), salt, rounds)
        key = hmac.digest(salted, b"Client Key", "sha256")
        unproved = f"c={base64.b64encode(self.gs2.encode()).decode()},r={nonce}"
        whole = f"{self.bare},{said},{unproved}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), whole, "sha256")
        server = hmac.digest(salted, b"Server Key", "sha256")
        self.signature = hmac.digest(server, whole, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return message("p", f"{unproved},p={base64.b64encode(proof).decode()}".encode())


def initial(mechanism: bytes, data: bytes | None) -> bytes:
    shown = b"\xff\xff\xff\xff" if data is None else struct.pack("!I", len(data)) + data
    return message("p", mechanism + b"\0" + shown)
