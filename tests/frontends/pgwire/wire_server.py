"""The wire's server over a real twin, with a stub for the pipeline: what sockets, threads and sessions do is real."""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg
from binding.clinic import CLINIC
from fix_auth import Door
from fix_twin import as_gateway
from frontends.pgwire.conversations import TABLES
from frontends.pgwire.entrance import logins_of
from frontends.pgwire.packets import message

from gateway.binding.bound import Sql
from gateway.datasets.registry import WireSession
from gateway.errors import Code, Refusal, SourceStopped
from gateway.frontends.pgwire.connection import WireApi
from gateway.frontends.pgwire.server import WireServer
from gateway.frontends.workers import Workers
from gateway.policy.subjects import Subject
from gateway.requests.request import Estimate, Notice, Request
from gateway.stages.finish import DeferredSql, DeferredStatement
from gateway.twin import Twin

HOST: Final = "127.0.0.1"
QUESTION: Final = "SELECT count(*) AS n FROM patients"
_PATIENCE_S: Final = 20.0
_READY: Final = b"Z\0\0\0\5"


@dataclass
class Pipeline:
    """Answers each question with 7, at once or when it is let; or with what it is given to say."""

    notices: tuple[Notice, ...] = ()
    refusal: Refusal | None = None
    estimated: Estimate | None = None
    asked: list[Request] = field(default_factory=list)
    entries: list[Request] = field(default_factory=list)
    let: threading.Event = field(default_factory=threading.Event)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    cancelled: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def release(
        self, subject: Subject, request: Request, cancelled: threading.Event
    ) -> DeferredStatement:
        del subject
        self.asked.append(request)
        if self.refusal is not None:
            raise self.refusal
        self.begun.release()
        until = time.monotonic() + _PATIENCE_S
        while not self.let.wait(0.01) and time.monotonic() < until:
            if cancelled.is_set():
                self.cancelled.release()
                raise SourceStopped(Code.SOURCE_CANCELLED)
        return DeferredStatement(DeferredSql(Sql("", "SELECT bigint '7' AS n"), {}), self.notices)

    def estimate(self, subject: Subject, request: Request) -> Estimate:
        self.asked.append(request)
        if self.refusal is not None:
            raise self.refusal
        if self.estimated is None:
            raise AssertionError(f"{subject} asks for {request}")
        return self.estimated


@dataclass(frozen=True)
class Wired:
    port: int
    key: str
    server: WireServer
    pipeline: Pipeline
    twin: Twin
    sessions_before: int  # others' connections, which the twin keeps for them

    def connect(self, options: str = "", application_name: str = "") -> psycopg.Connection:
        return psycopg.connect(
            options=options,
            application_name=application_name,
            host=HOST,
            port=self.port,
            user="alice",
            password=self.key,
            dbname="clinic",
            sslmode="disable",
            autocommit=True,
            connect_timeout=20,
        )

    @contextmanager
    def raw(self) -> Iterator[socket.socket]:
        """A socket on which alice was let in; closing it says nothing before."""
        connection = self.connect()
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            os.close(connection.fileno())
            os.dup2(line.fileno(), connection.fileno())
            line.settimeout(_PATIENCE_S)
            yield line
            line.shutdown(socket.SHUT_RDWR)
        connection.close()

    def sessions(self) -> int:
        """How many sessions of clients the twin has beyond those that were there before the server."""
        return _sessions(self.twin) - self.sessions_before


def _sessions(twin: Twin) -> int:
    with as_gateway(twin) as gateway:
        row = gateway.execute(
            "SELECT count(*) FROM pg_stat_get_activity(NULL) a JOIN pg_roles r ON r.oid = a.usesysid"
            " WHERE r.rolname LIKE 'analyst_%'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def read_to_ready(line: socket.socket) -> bytes:
    """All messages up to the server's being ready."""
    said = b""
    while said[-6:-1] != _READY:
        came = line.recv(65_536)
        if not came:
            raise ConnectionError(said[-300:])
        said += came
    return said


def read_to_end(line: socket.socket) -> bytes:
    """All that comes before the other side hangs up, in whichever way."""
    said = b""
    try:
        while came := line.recv(65_536):
            said += came
    except ConnectionResetError:
        pass
    return said


def query(text: str) -> bytes:
    return message("Q", text.encode() + b"\0")


def announced(kind: str, length: int) -> bytes:
    """The head of a message."""
    return kind.encode() + struct.pack("!I", length)


def eventually(so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    until = time.monotonic() + _PATIENCE_S
    while not so():
        assert time.monotonic() < until, "it never came to be so"
        time.sleep(0.02)


@contextmanager
def wired(twin: Twin, door: Door, limit_s: float = 20.0) -> Iterator[Wired]:
    pipeline = Pipeline()

    def enter(
        subject: Subject, entry: Request, settings: Mapping[str, str], process: int
    ) -> WireSession:
        del process
        pipeline.entries.append(entry)
        return WireSession(
            subject, entry, TABLES, CLINIC, twin.line(subject.name, TABLES, settings)
        )

    doors = WireApi(
        enter, lambda *_: None, pipeline.release, pipeline.estimate, door.told.append, limit_s
    )  # fmt: skip
    before = _sessions(twin)
    listener = socket.create_server((HOST, 0))
    server = WireServer(doors, logins_of(door), None, Workers(8))
    server.start(listener)
    try:
        key = door.create().key.reveal()
        yield Wired(listener.getsockname()[1], key, server, pipeline, twin, before)
    finally:
        pipeline.let.set()
        server.stop()
