"""The gateway's end of the control socket: starts the zygote, and asks it to fork, slow and kill processes.

No command is answered, so whoever asks never waits. A zygote that is gone, or does not take a command, is replaced:
its processes end with it, and whoever reads from one sees the end of its line.

INVARIANT: the zygote and its processes have none of the gateway's file descriptors but their own lines, none of its
environment that could hold a secret, and nothing on their command line.
"""

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

from gateway.engines.duckdb_process.zygote import COMMAND, FORK, KILL, SLOW

_PROGRAM: Final = "gateway.engines.duckdb_process.zygote"
_ENVIRONMENT: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ")
_END_S: Final = 1.0


class LauncherClosed(Exception):
    """The gateway stops: no process is started any more."""


class Launcher:
    """One zygote, started when it is first needed, for the processes of any number of files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._zygote: subprocess.Popen[bytes] | None = None
        self._last = 0
        self._closed = False

    def fork(self) -> tuple[int, socket.socket]:
        """The number and the line of a process that is being made."""
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
        """End a process now; one that has ended already, or whose zygote has, is nothing to do."""
        self._tell(KILL, number)

    def slow(self, number: int) -> None:
        """Let all others go before this process, for good."""
        self._tell(SLOW, number)

    def close(self) -> None:
        """End the zygote and every process, and start none any more."""
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
