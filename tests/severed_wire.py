"""A wire to PostgreSQL that can be cut at the worst moment: a proxy between two Unix sockets.

It reads just enough of the protocol to know when a gateway writes, when it commits, and when the
server has answered. What is to happen is given as a list of cuts; each waits for its moment.
"""

import selectors
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL

WRITE = b'"trail_records":['  # what only a batch of the journal says
COMMIT = b"COMMIT"
_BLOCK = 1 << 20
_SOCKET = ".s.PGSQL.5432"
_READY = tuple(b"Z\0\0\0\5" + state for state in (b"I", b"T", b"E"))


@dataclass
class Cut:
    """Break the connection that sends `at`.

    With `arrives` the server gets and carries out what was sent, and only its answer is lost. With
    `late` it gets it only when the gateway, on its next connection, has sent that many messages.
    """

    at: bytes
    arrives: bool = False
    late: int | None = None


@dataclass
class Wire:
    """The proxy; `url` leads through it."""

    url: URL
    cuts: list[Cut] = field(default_factory=list)
    made: int = 0
    _held: list[tuple[socket.socket, bytes, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry(self, client: socket.socket, server: socket.socket) -> None:
        """Carry bytes both ways until one side ends or a cut is due."""
        with client, selectors.DefaultSelector() as either:
            either.register(client, selectors.EVENT_READ)
            either.register(server, selectors.EVENT_READ)
            while True:
                for key, _ in either.select():
                    source = key.fileobj
                    data = _received(source)
                    if source is server:
                        if not data:
                            return
                        client.sendall(data)
                    elif not data or not self._upstream(server, data):
                        return

    def _upstream(self, server: socket.socket, data: bytes) -> bool:
        """Pass on what the gateway said; False when that was its last word on this connection."""
        with self._lock:
            self._release()
            cut = self.cuts[0] if self.cuts and self.cuts[0].at in data else None
            if cut is None:
                server.sendall(data)
                return True
            self.cuts.pop(0)
            self.made += 1
            if cut.late is not None:
                self._held.append((server, data, cut.late))
                return False
            if cut.arrives:
                _send_and_wait(server, data)
            server.close()
            return False

    def _release(self) -> None:
        """Let what was held arrive when its time has come."""
        waiting = []
        for server, data, after in self._held:
            if after > 0:
                waiting.append((server, data, after - 1))
            else:
                _send_and_wait(server, data)
                server.close()
        self._held = waiting

    def close(self) -> None:
        with self._lock:
            for server, _, _ in self._held:
                server.close()


def _received(source: object) -> bytes:
    assert isinstance(source, socket.socket)
    try:
        return source.recv(_BLOCK)
    except OSError:
        return b""


def _send_and_wait(server: socket.socket, data: bytes) -> None:
    """Until the server has answered, or waits for something that we hold up ourselves."""
    server.settimeout(0.5)
    answer = b""
    with suppress(OSError):  # a time-out, or a server that hung up meanwhile
        server.sendall(data)
        while not answer.endswith(_READY):
            block = server.recv(_BLOCK)
            if not block:
                return
            answer += block


@contextmanager
def severed_wire(url: URL) -> Iterator[Wire]:
    """A wire to the server of `url`, which is reached through a Unix socket."""
    place = Path(tempfile.mkdtemp(prefix="wire-"))
    real = Path(str(url.query["host"])) / _SOCKET
    wire = Wire(url.update_query_dict({"host": str(place)}))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / _SOCKET))
    listener.listen()
    carriers: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(real))
            carriers.append(threading.Thread(target=_carry, args=(wire, client, server)))
            carriers[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield wire
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for carrier in carriers:
            carrier.join()
        wire.close()
        shutil.rmtree(place)


def _carry(wire: Wire, client: socket.socket, server: socket.socket) -> None:
    wire.carry(client, server)
    if not any(held is server for held, _, _ in wire._held):
        server.close()
