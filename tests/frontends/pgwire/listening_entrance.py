"""An entrance that listens on loopback, for real clients: who was let in is told who he is, and no more.

It stands where the server stands, so that clients can be tried without a twin: one thread for each connection.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from frontends.pgwire.packets import message

from gateway.auth.scram import Logins
from gateway.errors import Refusal
from gateway.frontends.pgwire.framing import Frames
from gateway.frontends.pgwire.handshake import (
    LoggedInClient,
    Look,
    Read,
    Send,
    StartTls,
    Step,
    log_in,
)
from gateway.frontends.pgwire.startup import CancelRegistry, CancelRequest
from gateway.policy.subjects import Subject

_PATIENCE_S = 20
_READY = message("Z", b"I")
_STOPPED = message("E", b"SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0")


class Line:
    """A socket, in the clear at first and inside TLS later."""

    def __init__(self, raw: socket.socket, context: ssl.SSLContext | None) -> None:
        self._raw, self._context = raw, context
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None

    def read(self) -> bytes:
        while self._tls is not None:
            try:
                return self._tls.read(65_536)
            except ssl.SSLWantReadError:
                self._more()
            except ssl.SSLError:
                return b""
        return self._raw.recv(65_536)

    def write(self, data: bytes) -> None:
        if self._tls is None:
            self._raw.sendall(data)
            return
        self._tls.write(data)
        self._raw.sendall(self._out.read())

    def start_tls(self, came: bytes) -> str | None:
        assert self._context is not None
        self._in.write(came)
        self._tls = self._context.wrap_bio(self._in, self._out, server_side=True)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._raw.sendall(self._out.read())
                self._more()
        self._raw.sendall(self._out.read())
        return self._tls.selected_alpn_protocol()

    def close(self) -> None:
        """Say that nothing more comes: a client that only cancelled waits for it."""
        if self._tls is not None:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._raw.sendall(self._out.read())

    def _more(self) -> None:
        came = self._raw.recv(65_536)
        if came:
            self._in.write(came)
        else:
            self._in.write_eof()


@dataclass
class Host:
    """What listens, and who came."""

    logins: Logins[Subject]
    context: ssl.SSLContext | None
    listener: socket.socket
    cancelling: CancelRegistry = field(default_factory=CancelRegistry)
    entered: list[LoggedInClient] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    def accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                raw, _ = self.listener.accept()
                thread = threading.Thread(target=self._serve, args=(raw,))
                self.threads.append(thread)
                thread.start()

    def _serve(self, raw: socket.socket) -> None:
        with raw, suppress(OSError):
            raw.settimeout(_PATIENCE_S)
            line = Line(raw, self.context)
            outcome = self._come_in(line, raw.getpeername()[0])
            if isinstance(outcome, CancelRequest):
                self.cancelling.cancel(outcome.pid, outcome.secret)
            elif outcome is not None:
                self.entered.append(outcome)
                self._talk(line, outcome)
            line.close()

    def _come_in(self, line: Line, address: str) -> LoggedInClient | CancelRequest | None:
        tls = self.context is not None
        conversation = log_in(self.logins, address=address, tls=tls)
        try:
            step = next(conversation)
            while True:
                try:
                    given = self._do(line, step)
                except Refusal as refusal:
                    step = conversation.throw(refusal)
                else:
                    step = conversation.send(given)
        except StopIteration as stop:
            outcome: LoggedInClient | CancelRequest | None = stop.value
            return outcome

    def _do(self, line: Line, step: Step) -> bytes | str | None:
        match step:
            case Send(data):
                line.write(data)
            case Read():
                return line.read()
            case StartTls(answer, came):
                if answer:
                    line.write(answer)
                return line.start_tls(came)
            case Look(call):
                call()
        return None

    def _talk(self, line: Line, one: LoggedInClient) -> None:
        stopped = threading.Event()
        key = self.cancelling.register(one.minor, stopped.set)
        status = message("S", b"client_encoding\0UTF8\0") + message(
            "S", b"server_version\x0018.0\0"
        )
        line.write(status + key.message + _READY)
        frames, data = Frames(1 << 20), one.rest
        while True:
            for frame in frames.feed(data):
                if frame.kind == ord("X"):
                    return
                asleep = b"sleep" in frame.body
                answer = _STOPPED if asleep and stopped.wait(_PATIENCE_S) else _row(one)
                line.write(answer + _READY)
            data = line.read()
            if not data:
                return


def _row(one: LoggedInClient) -> bytes:
    """Who it is, as one row of one column of text."""
    told = f"{one.name}|{one.database}|3.{one.minor}|{one.secure}".encode()
    described = (
        struct.pack("!H", 1) + b"who\0" + struct.pack("!IHIhIH", 0, 0, 25, -1, 0xFFFFFFFF, 0)
    )
    row = struct.pack("!HI", 1, len(told)) + told
    return message("T", described) + message("D", row) + message("C", b"SELECT 1\0")


@contextmanager
def listening(logins: Logins[Subject], context: ssl.SSLContext | None = None) -> Iterator[Host]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = Host(logins, context, listener)
        accepting = threading.Thread(target=host.accept)
        accepting.start()
        try:
            yield host
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in host.threads:
                thread.join()
