"""A client that does as little as a client can: libpq lets it in, then it sends messages and reads to their end."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self

from psycopg import pq

SERIES: Final = (
    "SELECT i, i * 7 AS seventh, 'row ' || i AS name, i / 3.0 AS third"
    " FROM generate_series(1, 100000) s(i)"
)
COPY: Final = f"COPY ({SERIES}) TO STDOUT"
_READY: Final = b"Z\0\0\0\5I"
_AT_ONCE: Final = 256 * 1024


@dataclass(frozen=True)
class Reader:
    line: socket.socket

    @classmethod
    @contextmanager
    def to(cls, conninfo: str) -> Iterator[Self]:
        connection = pq.PGconn.connect(conninfo.encode())
        if connection.status != pq.ConnStatus.OK:
            raise ConnectionError(connection.get_error_message())
        with socket.socket(fileno=os.dup(connection.socket)) as line:
            line.setblocking(True)
            yield cls(line)
        connection.finish()

    def ask(self, message: bytes) -> int:
        """How many bytes came, up to the server's being ready again."""
        self.line.sendall(message)
        buffer, many, end = bytearray(_AT_ONCE), 0, b""
        while end != _READY:
            came = self.line.recv_into(buffer)
            if not came:
                raise ConnectionError("the server hung up")
            many += came
            end = (end + buffer[max(0, came - len(_READY)) : came])[-len(_READY) :]
        return many


def as_text(sql: str) -> bytes:
    return _message(b"Q", sql.encode() + b"\0")


def as_binary(sql: str) -> bytes:
    parse = _message(b"P", b"\0" + sql.encode() + b"\0\0\0")
    bind = _message(b"B", b"\0\0" + struct.pack("!HHHH", 0, 0, 1, 1))
    return parse + bind + _message(b"E", b"\0" + struct.pack("!i", 0)) + _message(b"S", b"")


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body
