"""DuckDB processes from the gateway's side: the launcher that controls the zygote, and one process.

A process opens a file, and runs one statement at a time until a deadline.

The launcher is the gateway's end of the control socket: it starts the zygote, and asks it to fork, slow and kill
processes. No command is answered, so whoever asks never waits. A zygote that is gone, or does not take a command,
is replaced: its processes end with it, and whoever reads from one sees the end of its line.

INVARIANT: a call returns or raises by its deadline, whatever the process does. A process that is not idle may
still be computing and has to be killed, and so has one that was slowed down, because its low priority is
permanent.
INVARIANT: the zygote and its processes have none of the gateway's file descriptors but their own lines, none of
its environment that could hold a secret, and nothing on their command line.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from gateway.engines.duckdb_process.frames import (
    HEADER,
    BrokenFrame,
    FrameKind,
    Row,
    decode,
    decode_rows,
    encode,
    encode_parameters,
    read_header,
)
from gateway.engines.duckdb_process.zygote import COMMAND, FORK, KILL, SLOW

_PROGRAM: Final = "gateway.engines.duckdb_process.zygote"
_ENVIRONMENT: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ")
_END_S: Final = 1.0


class LauncherClosed(Exception):
    """The gateway stops, so no process can be started."""


class Launcher:
    """Starts one zygote when it is first needed, for the processes of all files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._zygote: subprocess.Popen[bytes] | None = None
        self._last = 0
        self._closed = False

    def fork(self) -> tuple[int, socket.socket]:
        """The number and the line of a new process."""
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    self._last += 1
                    number = self._last
                    if not self._sent(FORK, number, theirs):
                        self._end()
                        self._require_sent(FORK, number, theirs)
            except BaseException:
                mine.close()
                raise
        return number, mine

    def kill(self, number: int) -> None:
        """Kill a process; nothing happens if it or its zygote has ended."""
        self._tell(KILL, number)

    def slow(self, number: int) -> None:
        """Give this process the lowest priority for the rest of its life."""
        self._tell(SLOW, number)

    def close(self) -> None:
        """End the zygote and every process; later calls fail."""
        with self._lock:
            self._closed = True
            self._end()

    def _tell(self, verb: bytes, number: int) -> None:
        with self._lock:
            if self._control is not None and not self._sent(verb, number):
                self._end()

    def _require_sent(self, verb: bytes, number: int, line: socket.socket) -> None:
        if not self._sent(verb, number, line):
            raise OSError("no process can be started")

    def _sent(self, verb: bytes, number: int, line: socket.socket | None = None) -> bool:
        if self._closed:
            raise LauncherClosed
        if self._control is None:
            self._start()
        command, control = COMMAND.pack(verb, number), self._control
        if control is None:
            return False
        lines = [] if line is None else [line.fileno()]
        try:
            return socket.send_fds(control, [command], lines) == len(command)
        except OSError:  # it is gone, or takes nothing any more
            return False

    def _start(self) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                self._zygote = subprocess.Popen(
                    [sys.executable, "-I", "-m", _PROGRAM, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                )
            except BaseException:
                mine.close()
                raise
        mine.setblocking(False)
        self._control = mine

    def _end(self) -> None:
        control, zygote = self._control, self._zygote
        self._control = self._zygote = None
        if control is not None:
            control.close()
        if zygote is not None:
            with suppress(subprocess.TimeoutExpired):
                zygote.wait(_END_S)  # it kills its processes first
            zygote.kill()
            zygote.wait()


SHORT_S: Final = 1.0
"""A statement that takes longer gives way to shorter ones."""
_LONGEST_NAME: Final = 60
_BLOCK: Final = 1 << 16


class ProcessLost(Exception):
    """The process ended: it was killed, or had no memory left."""


class ProcessLate(Exception):
    """The deadline passed."""


class StatementFailed(Exception):
    """DuckDB raised an error; `kind` is its class."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True)
class ProcessSettings:
    """What a process opens. `config` is DuckDB's own; without a `memory_limit` all `places` share the memory."""

    path: str
    config: Mapping[str, str]
    places: int
    search_path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Identity:
    """The process and the file that it opened: facts that were read there hold for no other."""

    number: int
    device: int
    inode: int
    modified_ns: int
    size: int


class DuckdbProcess:
    """One DuckDB process. It opens its file in the background; `identity` waits for that."""

    def __init__(self, launcher: Launcher, settings: ProcessSettings) -> None:
        self.number, self._line = launcher.fork()
        self._is_at_rest = True
        self._is_slow = False
        self._launcher = launcher
        self._identity: Identity | None = None
        document = {
            "path": settings.path,
            "config": dict(settings.config),
            "places": settings.places,
            "search_path": list(settings.search_path),
        }
        with suppress(OSError):  # the caller that waits for it gets the error
            self._line.sendall(encode(FrameKind.OPEN, document))

    @property
    def is_usable(self) -> bool:
        """Whether it may run another statement."""
        return self._is_at_rest and not self._is_slow

    def identity(self, deadline: float) -> Identity:
        """The identity of the process and its open file."""
        if self._identity is None:
            kind, payload = self._receive(deadline)
            match kind, decode(payload):
                case FrameKind.READY, [int(), int(), int(), int()] as numbers:
                    self._identity = Identity(self.number, *numbers)
                case FrameKind.FAILED, str(name):
                    raise StatementFailed(_class_name(name))
                case _:
                    raise BrokenFrame("a process that is not ready")
        return self._identity

    def run(self, sql: str, parameters: Sequence[object], deadline: float) -> Iterator[list[Row]]:
        """The rows, in batches. The caller reads them to the end."""
        self._send(
            FrameKind.RUN, {"sql": sql, "parameters": encode_parameters(parameters)}, deadline
        )
        while True:
            kind, payload = self._receive(deadline)
            if kind is not FrameKind.ROWS:
                self._require_end(kind, payload)
                return
            yield decode_rows(payload)

    def is_there(self) -> bool:
        """Whether the process is alive, as far as that is known."""
        self._line.settimeout(0)
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK))  # it may just have become ready
        except BlockingIOError:
            return True
        except OSError:
            return False

    def abandon(self) -> None:
        """Close the line, so that a thread that waits for it gets an error at once."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Kill the process."""
        self.begin_to_end()
        self._line.close()

    def begin_to_end(self) -> None:
        """Kill the process, and keep its line until it has ended."""
        self._launcher.kill(self.number)

    def wait_until_gone(self, until: float) -> None:
        """Wait until a killed process has ended, so that its memory and its file are free."""
        with suppress(OSError):
            while monotonic() < until:
                self._line.settimeout(_left(until))
                if not self._line.recv(_BLOCK):
                    break
        self._line.close()

    def _send(self, kind: FrameKind, document: object, deadline: float) -> None:
        frame = encode(kind, document)
        self._is_at_rest = False
        try:
            self._line.settimeout(_left(deadline))
            self._line.sendall(frame)
        except TimeoutError:
            raise ProcessLate from None
        except OSError:
            raise ProcessLost from None

    def _require_end(self, kind: FrameKind, payload: bytes) -> None:
        match kind, decode(payload):
            case FrameKind.END, None:
                self._is_at_rest = True
            case FrameKind.FAILED, str(name):
                # what has no memory left may have no memory for the next statement either
                self._is_at_rest = "Memory" not in name
                raise StatementFailed(_class_name(name))
            case _:
                raise BrokenFrame("an answer that is none")

    def _receive(self, deadline: float) -> tuple[FrameKind, bytes]:
        length, kind = read_header(self._exactly(HEADER.size, deadline))
        return kind, self._exactly(length, deadline)

    def _exactly(self, size: int, deadline: float) -> bytes:
        there = bytearray(size)
        view: Any = memoryview(there)
        short_until, done = monotonic() + SHORT_S, 0
        while done < size:
            until = deadline if self._is_slow else min(deadline, short_until)
            try:
                self._line.settimeout(_left(until))
                got = self._line.recv_into(view[done:])
            except TimeoutError:
                if until == deadline:
                    raise ProcessLate from None
                self._launcher.slow(self.number)
                self._is_slow = True
                continue
            except OSError:
                raise ProcessLost from None
            if not got:
                raise ProcessLost
            done += got
        return bytes(there)


def _left(until: float) -> float:
    """The time that is left, at least a moment: with 0, data that has arrived already would not be read."""
    return max(0.001, until - monotonic())


def _class_name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and len(name) <= _LONGEST_NAME else "?"
